// SPDX-License-Identifier: BSD-3-Clause
// The vector forms that move blocks: gatherv, scatterv, allgatherv, alltoallv and alltoallw. Every
// int of every block, by all of their names, with lengths drawn at random and many of no bytes; in
// place and not; blocks in any order, with gaps between them; datatypes with gaps, with lower
// bounds, of unlike extents on the two sides, and of absolute addresses from MPI_BOTTOM; blocks
// that overlap where they are sent. What is not significant on a rank holds what nobody may read.
//
//   vectors [threads|few|large]    few: a host may run them
#include "support.h"

enum { kGatherv, kScatterv, kAllgatherv, kAlltoallv, kAlltoallw, kKinds };
enum { kRanksMax = 16, kLayouts = 6, kGapMax = 3 };

static const char* const kNames[kKinds] = {"gatherv", "scatterv", "allgatherv", "alltoallv",
                                           "alltoallw"};
#define UNREADABLE ((void*)64)

// How long blocks are, and what else a call is. The same on all ranks.
typedef struct Case {
    int kind, root, in_place, overlaps;
    uint64_t key;
    int mode;        // of lengths
    int is_by_host;  // or may be
    const Group* group;
} Case;

// ---- lengths and data --------------------------------------------------------------------------

// In ints, always even. Of a gatherv, scatterv and allgatherv it is `one` rank's block.
static int drawn_length(const Case* c, uint64_t which) {
    const uint64_t random = mix(c->key * 31 + which);
    switch (c->mode) {
        case 0:
            return 0;
        case 1:  // short, some of none
            return random % 3 ? (int)(random / 3 % 8) * 2 : 0;
        case 2:  // at the edges of slots
            return (int)(random % 300) * 2;
        case 3:  // one holds nearly all
            return which % 7 == c->key % 3 ? 60000 : (int)(random % 3) * 2;
        case 4:  // long and short
            return random % 2 ? (int)(random / 2 % 20000) * 2 : (int)(random / 2 % 6) * 2;
        default:  // large
            return (int)(random % 400000) * 2;
    }
}
static int length_of(const Case* c, int from, int to) {
    if (c->kind == kGatherv || c->kind == kAllgatherv) return drawn_length(c, (uint64_t)from);
    if (c->kind == kScatterv) return drawn_length(c, (uint64_t)to);
    const int low = from < to ? from : to, high = from < to ? to : from;
    // In place a rank sends as much as it gets.
    if (c->in_place) return drawn_length(c, (uint64_t)(low * kRanksMax + high));
    return drawn_length(c, (uint64_t)(from * kRanksMax + to));
}

static int value_of(const Case* c, int from, int to, int i) {
    const int reader = c->overlaps || c->kind == kGatherv || c->kind == kAllgatherv ? 0 : to;
    return (int)(mix(c->key) % 1000000) + from * 100003 + reader * 1009 + i;
}

// ---- layouts -----------------------------------------------------------------------------------

// Where the ints of an element stand, and its extent.
typedef struct Layout {
    MPI_Datatype type;
    int ints;  // of an element
    int first, next;
    int extent;
} Layout;

static const Layout kTable[kLayouts] = {
    {MPI_DATATYPE_NULL, 1, 0, 0, 4},    // MPI_INT
    {MPI_DATATYPE_NULL, 2, 0, 4, 8},    // two in a row
    {MPI_DATATYPE_NULL, 1, 0, 0, 12},   // gaps between elements
    {MPI_DATATYPE_NULL, 2, 4, 12, 20},  // and within, and a lower bound
    {MPI_DATATYPE_NULL, 2, 12, 4, 16},  // backwards
    {MPI_DATATYPE_NULL, 1, 0, 0, 4},    // MPI_INT at an absolute address
};

static Layout make_layout(int number, const void* base) {
    Layout l = kTable[number];
    l.type = MPI_INT;
    if (number == 0) return l;
    const MPI_Aint at = number == 5 ? (MPI_Aint)(intptr_t)base : 0;
    const MPI_Aint places[2] = {at + l.first, at + l.next};
    const int ones[2] = {1, 1};
    MPI_Datatype bare;
    MPI_Type_create_hindexed(l.ints, ones, places, MPI_INT, &bare);
    MPI_Type_create_resized(bare, 0, l.extent, &l.type);
    MPI_Type_commit(&l.type);
    MPI_Type_free(&bare);
    return l;
}
static void drop_layout(Layout* l) {
    if (l->type != MPI_INT) MPI_Type_free(&l->type);
}

// ---- sides -------------------------------------------------------------------------------------

// One side of a call: memory, and a block for each rank or one for all.
typedef struct Side {
    Buffer memory;
    void* given;  // to MPI
    int blocks;
    Layout layout[kRanksMax];  // alltoallw: of each, else the first
    int lengths[kRanksMax];    // ints
    int counts[kRanksMax], offsets[kRanksMax];
    MPI_Count large_counts[kRanksMax];
    MPI_Aint large_offsets[kRanksMax];
    MPI_Datatype types[kRanksMax];
    size_t begins[kRanksMax];  // bytes in memory
} Side;

static size_t place_of(const Side* s, int block, int i) {
    const Layout* l = &s->layout[block];
    return s->begins[block] + (size_t)(i / l->ints) * (size_t)l->extent +
           (size_t)(i % l->ints ? l->next : l->first);
}

// MPIs choose their allgatherv by the local datatype, and then ranks wait in vain: where a host may
// run it all ranks have one.
static int draw_layout(const Case* c, uint64_t* own) {
    const uint64_t random = draw(own);
    const int is_alike = c->kind == kAllgatherv && c->is_by_host;
    return (int)((is_alike ? mix(c->key) : random) % kLayouts);
}

// own: draws what only this rank knows: layouts, the order of blocks, gaps.
static void make_side(Side* s, const Case* c, int blocks, const int* lengths, int overlaps,
                      uint64_t own) {
    s->blocks = blocks;
    const int each = c->kind == kAlltoallw;
    int numbers[kRanksMax];
    size_t end = 0;
    for (int i = 0; i < blocks; ++i) {
        // One layout where blocks overlap: each int is that of all.
        const int is_alike = i > 0 && (!each || overlaps);
        numbers[i] = is_alike ? numbers[0] : draw_layout(c, &own);
        // An address of all, or of none.
        if (each && (numbers[i] == 5 || numbers[0] == 5)) numbers[i] = numbers[0];
    }
    const int turned = blocks > 1 ? (int)(draw(&own) % (uint64_t)blocks) : 0;
    for (int k = 0; k < blocks; ++k) {
        const int i = (k + turned) % blocks;
        const Layout* l = &kTable[numbers[i]];
        const size_t unit = (size_t)l->extent;
        s->lengths[i] = lengths[i];
        s->counts[i] = lengths[i] / l->ints;
        if (overlaps && k > 0) end = 0;
        const size_t gap = blocks > 1 ? draw(&own) % kGapMax : 0;
        const size_t at = overlaps ? 0 : (end + unit - 1) / unit + gap;
        s->offsets[i] = (int)(each ? at * unit : at);
        s->begins[i] = at * unit;
        end = s->begins[i] + (size_t)s->counts[i] * unit;
        s->large_counts[i] = s->counts[i];
        s->large_offsets[i] = s->offsets[i];
        // What does not move may stand anywhere.
        if (s->counts[i] == 0 && own % 3 == 0) s->large_offsets[i] = s->offsets[i] = 1 << 28;
    }
    size_t bytes = 0;
    for (int i = 0; i < blocks; ++i) {
        const size_t needs =
            s->begins[i] + (size_t)s->counts[i] * (size_t)kTable[numbers[i]].extent;
        bytes = needs > bytes ? needs : bytes;
    }
    s->memory = make_buffer(bytes, 4 * (own % 3));
    s->given = numbers[0] == 5 ? MPI_BOTTOM : (void*)s->memory.data;
    for (int i = 0; i < blocks; ++i) {
        if (i == 0 || each) s->layout[i] = make_layout(numbers[i], s->memory.data);
        if (i > 0 && !each) s->layout[i] = s->layout[0];
        s->types[i] = s->layout[i].type;
    }
}

static void drop_side(Side* s, const Case* c) {
    for (int i = 0; i < s->blocks; ++i) {
        if (i == 0 || c->kind == kAlltoallw) drop_layout(&s->layout[i]);
    }
    drop_buffer(&s->memory, kNames[c->kind]);
}

static void set_int(Side* s, int block, int i, int value) {
    memcpy(s->memory.data + place_of(s, block, i), &value, sizeof value);
}

// All that a side should hold, and nothing else.
static void check_side(Side* s, const Case* c, const unsigned char* image, const char* what) {
    if (memcmp(s->memory.data, image, s->memory.bytes) == 0) {
        expect(1, "right");
        return;
    }
    size_t at = 0;
    while (s->memory.data[at] == image[at]) ++at;
    expect(0, "%s on %s, root %d, in place %d, mode %d, overlaps %d: %s, byte %zu of %zu",
           kNames[c->kind], c->group->name, c->root, c->in_place, c->mode, c->overlaps, what, at,
           s->memory.bytes);
}

// ---- calls -------------------------------------------------------------------------------------

static int has_large_names(uint64_t way) {
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    return way % 3 == 2;
#else
    (void)way;
    return 0;
#endif
}

// By one of three names. Arguments in parentheses: the counts' side differs.
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define BY_LARGE_NAME(name, ...) name##_c(__VA_ARGS__)
#else
#define BY_LARGE_NAME(name, ...) MPI_ERR_OTHER
#endif

static int call_rooted(const Case* c, uint64_t way, const Side* send, const Side* recv,
                       const void* from, void* to) {
    const int root = c->root;
    const MPI_Comm comm = c->group->comm;
    const Side* one = c->kind == kGatherv ? send : recv;
    const Side* all = c->kind == kGatherv ? recv : send;
    const int* counts = all ? all->counts : UNREADABLE;
    const int* offsets = all ? all->offsets : UNREADABLE;
    const MPI_Count* large_counts = all ? all->large_counts : UNREADABLE;
    const MPI_Aint* large_offsets = all ? all->large_offsets : UNREADABLE;
    const MPI_Datatype type = all ? all->types[0] : MPI_DATATYPE_NULL;
    const int count = one ? one->counts[0] : -5;
    const MPI_Datatype one_type = one ? one->types[0] : MPI_DATATYPE_NULL;
    (void)large_counts, (void)large_offsets;
    if (c->kind == kGatherv) {
        if (has_large_names(way)) {
            return BY_LARGE_NAME(MPI_Gatherv, from, count, one_type, to, large_counts,
                                 large_offsets, type, root, comm);
        }
        if (way % 3 == 1) {
            return PMPI_Gatherv(from, count, one_type, to, counts, offsets, type, root, comm);
        }
        return MPI_Gatherv(from, count, one_type, to, counts, offsets, type, root, comm);
    }
    if (has_large_names(way)) {
        return BY_LARGE_NAME(MPI_Scatterv, from, large_counts, large_offsets, type, to, count,
                             one_type, root, comm);
    }
    if (way % 3 == 1) {
        return PMPI_Scatterv(from, counts, offsets, type, to, count, one_type, root, comm);
    }
    return MPI_Scatterv(from, counts, offsets, type, to, count, one_type, root, comm);
}

static int call_allgatherv(const Case* c, uint64_t way, const Side* send, const Side* recv,
                           const void* from) {
    const int count = send ? send->counts[0] : -5;
    const MPI_Datatype type = send ? send->types[0] : MPI_DATATYPE_NULL;
    if (has_large_names(way)) {
        return BY_LARGE_NAME(MPI_Allgatherv, from, count, type, recv->given, recv->large_counts,
                             recv->large_offsets, recv->types[0], c->group->comm);
    }
    if (way % 3 == 1) {
        return PMPI_Allgatherv(from, count, type, recv->given, recv->counts, recv->offsets,
                               recv->types[0], c->group->comm);
    }
    return MPI_Allgatherv(from, count, type, recv->given, recv->counts, recv->offsets,
                          recv->types[0], c->group->comm);
}

static int call_alltoall(const Case* c, uint64_t way, const Side* send, const Side* recv,
                         const void* from) {
    const int* counts = send ? send->counts : UNREADABLE;
    const int* offsets = send ? send->offsets : UNREADABLE;
    const MPI_Datatype* types = send ? send->types : UNREADABLE;
    const MPI_Datatype type = send ? send->types[0] : MPI_DATATYPE_NULL;
    const MPI_Count* large_counts = send ? send->large_counts : UNREADABLE;
    const MPI_Aint* large_offsets = send ? send->large_offsets : UNREADABLE;
    (void)large_counts, (void)large_offsets;
    const MPI_Comm comm = c->group->comm;
    if (c->kind == kAlltoallv) {
        if (has_large_names(way)) {
            return BY_LARGE_NAME(MPI_Alltoallv, from, large_counts, large_offsets, type,
                                 recv->given, recv->large_counts, recv->large_offsets,
                                 recv->types[0], comm);
        }
        return (way % 3 == 1 ? PMPI_Alltoallv : MPI_Alltoallv)(from, counts, offsets, type,
                                                               recv->given, recv->counts,
                                                               recv->offsets, recv->types[0], comm);
    }
    if (has_large_names(way)) {
        return BY_LARGE_NAME(MPI_Alltoallw, from, large_counts, large_offsets, types, recv->given,
                             recv->large_counts, recv->large_offsets, recv->types, comm);
    }
    return (way % 3 == 1 ? PMPI_Alltoallw : MPI_Alltoallw)(
        from, counts, offsets, types, recv->given, recv->counts, recv->offsets, recv->types, comm);
}

static void call(const Case* c, uint64_t way, const Side* send, const Side* recv) {
    const void* from = send ? send->given : c->kind == kScatterv ? UNREADABLE : MPI_IN_PLACE;
    void* to = recv ? recv->given : c->kind == kGatherv ? UNREADABLE : MPI_IN_PLACE;
    int status;
    if (c->kind == kAllgatherv) {
        status = call_allgatherv(c, way, send, recv, from);
    } else if (c->kind == kGatherv || c->kind == kScatterv) {
        status = call_rooted(c, way, send, recv, from, to);
    } else {
        status = call_alltoall(c, way, send, recv, from);
    }
    expect(status == MPI_SUCCESS, "%s: an error", kNames[c->kind]);
}

// ---- one call ----------------------------------------------------------------------------------

static void fill_block(Side* s, const Case* c, int block, int from, int to) {
    for (int i = 0; i < s->lengths[block]; ++i) set_int(s, block, i, value_of(c, from, to, i));
}

// What the receive side should hold afterwards: image, which holds what it did before.
static void expect_result(Side* s, const Case* c, unsigned char* image) {
    unsigned char* const found = s->memory.data;
    s->memory.data = image;
    const int me = c->group->rank;
    for (int i = 0; i < s->blocks; ++i) {
        fill_block(s, c, i, c->kind == kScatterv ? c->root : i, me);
    }
    s->memory.data = found;
}

static unsigned char* copy_of(const Side* s) {
    unsigned char* copy = malloc(s->memory.bytes + 1);
    memcpy(copy, s->memory.data, s->memory.bytes);
    return copy;
}

static void try_case(const Case* c, uint64_t way) {
    const Group* g = c->group;
    const int is_root = g->rank == c->root, is_rooted = c->kind <= kScatterv;
    const int marks_recv = c->kind == kScatterv;
    const int is_marked = c->in_place && (!is_rooted || is_root);
    const int has_send = (c->kind != kScatterv || is_root) && !(is_marked && !marks_recv);
    const int has_recv = (c->kind != kGatherv || is_root) && !(is_marked && marks_recv);
    const int sends_all = c->kind == kScatterv || c->kind >= kAlltoallv;
    const int gets_all = c->kind != kScatterv;
    int sent[kRanksMax], got[kRanksMax];
    for (int i = 0; i < g->size; ++i) {
        sent[i] = length_of(c, g->rank, sends_all ? i : c->root);
        got[i] = length_of(c, gets_all ? i : c->root, g->rank);
    }
    Side send, recv;
    const uint64_t own = mix(c->key * 7 + (uint64_t)g->rank);
    if (has_send) {
        make_side(&send, c, sends_all ? g->size : 1, sent, c->overlaps && sends_all, own);
        for (int i = 0; i < send.blocks; ++i) fill_block(&send, c, i, g->rank, i);
    }
    if (has_recv) {
        make_side(&recv, c, gets_all ? g->size : 1, got, 0, own + 1);
        // In place: the own block, or what goes to the others.
        for (int i = 0; i < recv.blocks && is_marked; ++i) {
            if (i == g->rank || sends_all) fill_block(&recv, c, i, g->rank, i);
        }
    }
    unsigned char* given = has_send ? copy_of(&send) : NULL;
    unsigned char* image = has_recv ? copy_of(&recv) : NULL;
    if (has_recv) expect_result(&recv, c, image);
    call(c, way, has_send ? &send : NULL, has_recv ? &recv : NULL);
    if (has_send) {
        check_side(&send, c, given, "the input changed");
        drop_side(&send, c);
    }
    if (has_recv) {
        check_side(&recv, c, image, "the result");
        drop_side(&recv, c);
    }
    free(given);
    free(image);
}

// Nothing anywhere, from no memory at all.
static void try_nothing(const Group* g) {
    // Arrays of its own for either side: with one for both, the MPICH family takes them for one
    // buffer.
    int zeros[kRanksMax] = {0}, none[kRanksMax] = {0};
    MPI_Datatype types[kRanksMax];
    for (int i = 0; i < kRanksMax; ++i) types[i] = MPI_INT;
    MPI_Gatherv(NULL, 0, MPI_INT, NULL, zeros, zeros, MPI_INT, 0, g->comm);
    MPI_Scatterv(NULL, zeros, zeros, MPI_INT, NULL, 0, MPI_INT, 0, g->comm);
    MPI_Allgatherv(NULL, 0, MPI_INT, NULL, zeros, zeros, MPI_DOUBLE, g->comm);
    MPI_Alltoallv(NULL, none, none, MPI_INT, NULL, zeros, zeros, MPI_INT, g->comm);
    MPI_Alltoallw(NULL, none, none, types, NULL, zeros, zeros, types, g->comm);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, NULL, zeros, zeros, MPI_INT, g->comm);
}

static void try_group(const Group* g, int is_by_host, int first_mode, int end_mode, int turns,
                      uint64_t* random) {
    for (int turn = 0; turn < turns; ++turn) {
        for (int mode = first_mode; mode < end_mode; ++mode) {
            for (int kind = 0; kind < kKinds; ++kind) {
                const uint64_t key = draw(random);
                Case c = {kind, (int)(key % (uint64_t)g->size), 0, 0, key, mode, is_by_host, g};
                c.in_place = (int)(key / 64 % 3 == 0);
                c.overlaps = !c.in_place && key / 256 % 4 == 0;
                try_case(&c, key / 16);
            }
        }
        try_nothing(g);
        MPI_Barrier(g->comm);
    }
}

int main(int argc, char** argv) {
    // With threads, datatypes may be freed while a call uses them.
    const int has_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    int provided;
    MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    Group groups[kGroupsMax];
    const int count = make_groups(groups);
    uint64_t random = 47;
    const int is_large = argc > 1 && strcmp(argv[1], "large") == 0,
              is_few = argc > 1 && !is_large && !has_threads;
    const int is_by_host = is_few;
    if (is_large) {
        try_group(&groups[0], 1, 5, 6, 4, &random);
    } else {
        const int turns = is_few ? 3 : 18;
        for (int i = 0; i < count; ++i) {
            // Those who stand outside draw as much: the keys are alike on all.
            uint64_t own = mix(random + (uint64_t)i);
            if (groups[i].comm != MPI_COMM_NULL) {
                try_group(&groups[i], is_by_host || groups[i].size == 1, 0, 5,
                          i == 0 ? turns : (turns + 2) / 3, &own);
            }
        }
    }
    free_groups(groups, count);
    return finish();
}
