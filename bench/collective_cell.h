// SPDX-License-Identifier: BSD-3-Clause
// The words COLLECTIVE:BYTES of the MPI programs beside this: what each collective moves, how long
// the blocks of its buffers are, and the call.
//
// BYTES, a multiple of 8, are those of the vector of bcast, reduce, allreduce, scan and exscan; of
// one rank's block in the others. The blocks of vector forms are about so long, see block_words().
// allgatherv_skewed is an allgatherv in which one rank has nearly all: BYTES, and each other
// rank 8.
#pragma once

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum collective {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    REDUCE_SCATTER_BLOCK,
    ALLTOALL,
    SCAN,
    EXSCAN,
    GATHERV,
    SCATTERV,
    ALLGATHERV,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE_SCATTER,
    ALLGATHERV_SKEWED,
    COLLECTIVES
};

// What a buffer of a rank has: one vector or block, or a block of every rank, one after the other
// in the order of ranks.
enum holds { NONE, ONE, ALL };
// Whose data a block that is received is made of.
enum from {
    NOBODY,
    ROOT,
    IN_TURN,    // block i: rank i's
    EVERYBODY,  // all ranks', summed
    UP_TO_OWN,  // those of the ranks up to the own one, summed
    BELOW_OWN   // of those before it
};
enum lengths { EVEN, NEARLY_EVEN, SKEWED };

struct collective_facts {
    const char* name;
    enum holds send, recv;
    enum from from;
    int is_root_s;  // the root alone has a result
    enum lengths lengths;
};

static const struct collective_facts kFacts[COLLECTIVES] = {
    {"barrier", NONE, NONE, NOBODY, 0, EVEN},
    {"bcast", NONE, ONE, ROOT, 0, EVEN},  // its one buffer is the received one
    {"reduce", ONE, ONE, EVERYBODY, 1, EVEN},
    {"allreduce", ONE, ONE, EVERYBODY, 0, EVEN},
    {"gather", ONE, ALL, IN_TURN, 1, EVEN},
    {"scatter", ALL, ONE, ROOT, 0, EVEN},
    {"allgather", ONE, ALL, IN_TURN, 0, EVEN},
    {"reduce_scatter_block", ALL, ONE, EVERYBODY, 0, EVEN},
    {"alltoall", ALL, ALL, IN_TURN, 0, EVEN},
    {"scan", ONE, ONE, UP_TO_OWN, 0, EVEN},
    {"exscan", ONE, ONE, BELOW_OWN, 0, EVEN},
    {"gatherv", ONE, ALL, IN_TURN, 1, NEARLY_EVEN},
    {"scatterv", ALL, ONE, ROOT, 0, NEARLY_EVEN},
    {"allgatherv", ONE, ALL, IN_TURN, 0, NEARLY_EVEN},
    {"alltoallv", ALL, ALL, IN_TURN, 0, NEARLY_EVEN},
    {"alltoallw", ALL, ALL, IN_TURN, 0, NEARLY_EVEN},
    {"reduce_scatter", ALL, ONE, EVERYBODY, 0, NEARLY_EVEN},
    {"allgatherv_skewed", ONE, ALL, IN_TURN, 0, SKEWED},
};

// words: of 8 bytes. False where the text is none, or its bytes are no multiple of 8 up to 256 MiB.
static inline int parse_cell(const char* text, enum collective* collective, int* words) {
    const char* colon = strchr(text, ':');
    if (!colon) return 0;
    for (int i = 0; i < COLLECTIVES; ++i) {
        const char* name = kFacts[i].name;
        if (strlen(name) != (size_t)(colon - text)) continue;
        if (strncmp(text, name, strlen(name)) != 0) continue;
        char* end = NULL;
        const long bytes = strtol(colon + 1, &end, 10);
        *collective = (enum collective)i;
        *words = (int)(bytes / 8);
        return end != colon + 1 && !*end && bytes >= 0 && bytes % 8 == 0 && bytes <= 1 << 28;
    }
    return 0;
}

// Of the block that `giver` has for `taker`. Of nearly even lengths an odd block is an eighth
// longer than `words` and an even one as much shorter: so an even number of them has `words` in the
// mean. A block is odd as its giver and its taker together are, as far as it depends on either. Of
// skewed ones the block of the middle rank, ranks / 2, is the long one.
static int block_words(enum collective what, int words, int giver, int taker, int ranks) {
    const struct collective_facts* facts = &kFacts[what];
    if (facts->lengths == SKEWED) return giver == ranks / 2 || words == 0 ? words : 1;
    if (facts->lengths == EVEN) return words;
    const int odd = (facts->recv == ALL ? giver : 0) + (facts->send == ALL ? taker : 0);
    return odd % 2 ? words + words / 8 : words - words / 8;
}

// The blocks of a buffer by the other rank, or its one block: how long each is and where it begins.
struct blocks {
    int count;
    int *words, *at;
    size_t total;
};

// Both buffers of a rank, whether or not it needs both in a call. A root has what every rank has.
struct layout {
    enum collective what;
    int rank, ranks;
    struct blocks send, recv;
    int *send_at_bytes, *recv_at_bytes;  // alltoallw
    MPI_Datatype* types;                 // likewise
};

static int* ints_of(int count) { return malloc(((size_t)count + 1) * sizeof(int)); }

// False without memory, or where it is too long for MPI's int.
static int open_blocks(struct blocks* blocks, const struct layout* layout, int words,
                       enum holds holds, int is_sent, int is_uneven) {
    blocks->count = holds == NONE ? 0 : holds == ONE ? 1 : layout->ranks;
    blocks->words = ints_of(blocks->count);
    blocks->at = ints_of(blocks->count);
    blocks->total = 0;
    if (!blocks->words || !blocks->at) return 0;
    for (int i = 0; i < blocks->count; ++i) {
        const int other = holds == ONE ? layout->rank : i;
        const int giver = is_sent ? layout->rank : other, taker = is_sent ? other : layout->rank;
        blocks->words[i] =
            is_uneven ? block_words(layout->what, words, giver, taker, layout->ranks) : words;
        blocks->at[i] = (int)blocks->total;
        blocks->total += (size_t)blocks->words[i];
        if (blocks->total > INT_MAX / (layout->what == ALLTOALLW ? 8 : 1)) return 0;
    }
    return 1;
}

static int* in_bytes(const struct blocks* blocks) {
    int* at = ints_of(blocks->count);
    for (int i = 0; at && i < blocks->count; ++i) at[i] = 8 * blocks->at[i];
    return at;
}

static inline void close_layout(struct layout* layout) {
    free(layout->send.words);
    free(layout->send.at);
    free(layout->recv.words);
    free(layout->recv.at);
    free(layout->send_at_bytes);
    free(layout->recv_at_bytes);
    free(layout->types);
}

// is_uneven: the blocks of vector forms differ in length, see block_words(); else all have `words`.
// False, with nothing to close, where there is no memory, or blocks together are too long.
static inline int open_layout(struct layout* layout, enum collective what, int words, int rank,
                              int ranks, int is_uneven) {
    const struct collective_facts* facts = &kFacts[what];
    memset(layout, 0, sizeof *layout);
    layout->what = what;
    layout->rank = rank;
    layout->ranks = ranks;
    int is_open = open_blocks(&layout->send, layout, words, facts->send, 1, is_uneven) &&
                  open_blocks(&layout->recv, layout, words, facts->recv, 0, is_uneven);
    if (is_open && what == ALLTOALLW) {
        layout->send_at_bytes = in_bytes(&layout->send);
        layout->recv_at_bytes = in_bytes(&layout->recv);
        layout->types = malloc((size_t)ranks * sizeof(MPI_Datatype));
        for (int i = 0; layout->types && i < ranks; ++i) layout->types[i] = MPI_DOUBLE;
        is_open = layout->send_at_bytes && layout->recv_at_bytes && layout->types;
    }
    if (!is_open) close_layout(layout);
    return is_open;
}

static void call_vector_form(const struct layout* layout, void* send, void* recv, MPI_Op op,
                             int root) {
    const MPI_Comm world = MPI_COMM_WORLD;
    const struct blocks *from = &layout->send, *to = &layout->recv;
    switch (layout->what) {
        case GATHERV:
            MPI_Gatherv(send, from->words[0], MPI_DOUBLE, recv, to->words, to->at, MPI_DOUBLE, root,
                        world);
            break;
        case SCATTERV:
            MPI_Scatterv(send, from->words, from->at, MPI_DOUBLE, recv, to->words[0], MPI_DOUBLE,
                         root, world);
            break;
        case ALLGATHERV:
        case ALLGATHERV_SKEWED:
            MPI_Allgatherv(send, from->words[0], MPI_DOUBLE, recv, to->words, to->at, MPI_DOUBLE,
                           world);
            break;
        case ALLTOALLV:
            MPI_Alltoallv(send, from->words, from->at, MPI_DOUBLE, recv, to->words, to->at,
                          MPI_DOUBLE, world);
            break;
        case ALLTOALLW:
            MPI_Alltoallw(send, from->words, layout->send_at_bytes, layout->types, recv, to->words,
                          layout->recv_at_bytes, layout->types, world);
            break;
        case REDUCE_SCATTER:
            MPI_Reduce_scatter(send, recv, from->words, MPI_DOUBLE, op, world);
            break;
        default:
            break;
    }
}

// Of doubles. A broadcast is of recv.
static inline void call_collective(const struct layout* layout, void* send, void* recv, MPI_Op op,
                                   int root) {
    const MPI_Comm world = MPI_COMM_WORLD;
    const int words = layout->recv.count > 0 ? layout->recv.words[0] : 0;  // of every block
    switch (layout->what) {
        case BARRIER:
            MPI_Barrier(world);
            break;
        case BCAST:
            MPI_Bcast(recv, words, MPI_DOUBLE, root, world);
            break;
        case REDUCE:
            MPI_Reduce(send, recv, words, MPI_DOUBLE, op, root, world);
            break;
        case ALLREDUCE:
            MPI_Allreduce(send, recv, words, MPI_DOUBLE, op, world);
            break;
        case GATHER:
            MPI_Gather(send, words, MPI_DOUBLE, recv, words, MPI_DOUBLE, root, world);
            break;
        case SCATTER:
            MPI_Scatter(send, words, MPI_DOUBLE, recv, words, MPI_DOUBLE, root, world);
            break;
        case ALLGATHER:
            MPI_Allgather(send, words, MPI_DOUBLE, recv, words, MPI_DOUBLE, world);
            break;
        case REDUCE_SCATTER_BLOCK:
            MPI_Reduce_scatter_block(send, recv, words, MPI_DOUBLE, op, world);
            break;
        case ALLTOALL:
            MPI_Alltoall(send, words, MPI_DOUBLE, recv, words, MPI_DOUBLE, world);
            break;
        case SCAN:
            MPI_Scan(send, recv, words, MPI_DOUBLE, op, world);
            break;
        case EXSCAN:
            MPI_Exscan(send, recv, words, MPI_DOUBLE, op, world);
            break;
        default:
            call_vector_form(layout, send, recv, op, root);
    }
}
