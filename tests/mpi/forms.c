// SPDX-License-Identifier: BSD-3-Clause
// Each collective as non-blocking, as persistent and among neighbours, with known sizes; each
// result is compared with that of the blocking one.
//
//   forms [int|large]
//
// large: by MPI-4's names, where this library or the host has them.
#include "blocks.h"
#include "support.h"

// Persistent gathers and scatters of MPICH 4.0, on which Intel MPI stands, lose blocks.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define LOSES_BLOCKS 1
#else
#define LOSES_BLOCKS 0
#endif

enum { kRanks = 3, kElements = 4096, kStarts = 3, kTag = 7 };

static int rank, size;
static int data[kElements], found[kElements], wanted[kElements];

static void clear(void) { memset(found, 0x55, sizeof found); }

static void compare(const char* name) {
    expect(memcmp(found, wanted, sizeof found) == 0, "%s has another result", name);
}

// A persistent collective between messages that are persistent too.
static void start_among_messages(MPI_Request* collective) {
    static int from, to;
    to = rank;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, *collective, MPI_REQUEST_NULL};
    MPI_Recv_init(&from, 1, MPI_INT, (rank + size - 1) % size, kTag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&to, 1, MPI_INT, (rank + 1) % size, kTag, MPI_COMM_WORLD, &requests[2]);
    MPI_Startall(3, requests);
    MPI_Status statuses[3];
    MPI_Waitall(3, requests, statuses);
    expect(from == (rank + size - 1) % size, "a message beside a collective is %d", from);
    *collective = requests[1];
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[2]);
}

// Handles of freed collectives, given to messages.
static void messages_afterwards(void) {
    for (int i = 0; i < 50; ++i) {
        int from = -1;
        MPI_Request requests[2];
        MPI_Recv_init(&from, 1, MPI_INT, (rank + size - 1) % size, kTag, MPI_COMM_WORLD,
                      &requests[0]);
        MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % size, kTag, MPI_COMM_WORLD, &requests[1]);
        MPI_Start(&requests[0]);
        MPI_Start(&requests[1]);
        MPI_Status statuses[2];
        MPI_Waitall(2, requests, statuses);
        expect(from == (rank + size - 1) % size, "message %d is %d", i, from);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
}

static void run_persistent(MPI_Request request, const char* name) {
    for (int i = 0; i < kStarts; ++i) {
        clear();
        if (i == 1) {
            start_among_messages(&request);
        } else {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        compare(name);
    }
    MPI_Request_free(&request);
}

// Each row is a collective with its arguments; N, A: the types of counts and offsets, C and O:
// where they stand. All are of ints.
#define OPEN(...) __VA_ARGS__
#define OF_WORLD(ROW, N, A, C, O)                                                                \
    ROW(bcast, Bcast, (void*, N, MPI_Datatype, int, MPI_Comm),                                   \
        (rank == 1 ? data : found, 10, MPI_INT, 1, world))                                       \
    ROW(reduce, Reduce, (const void*, void*, N, MPI_Datatype, MPI_Op, int, MPI_Comm),            \
        (data, found, 100, MPI_INT, MPI_SUM, 1, world))                                          \
    ROW(allreduce, Allreduce, (const void*, void*, N, MPI_Datatype, MPI_Op, MPI_Comm),           \
        (data, found, 200, MPI_INT, MPI_SUM, world))                                             \
    ROW(gather, Gather, (const void*, N, MPI_Datatype, void*, N, MPI_Datatype, int, MPI_Comm),   \
        (data, 30, MPI_INT, found, 30, MPI_INT, 1, world))                                       \
    ROW(scatter, Scatter, (const void*, N, MPI_Datatype, void*, N, MPI_Datatype, int, MPI_Comm), \
        (data, 40, MPI_INT, found, 40, MPI_INT, 1, world))                                       \
    ROW(allgather, Allgather, (const void*, N, MPI_Datatype, void*, N, MPI_Datatype, MPI_Comm),  \
        (data, 50, MPI_INT, found, 50, MPI_INT, world))                                          \
    ROW(reduce_scatter_block, Reduce_scatter_block,                                              \
        (const void*, void*, N, MPI_Datatype, MPI_Op, MPI_Comm),                                 \
        (data, found, 60, MPI_INT, MPI_SUM, world))                                              \
    ROW(gatherv, Gatherv,                                                                        \
        (const void*, N, MPI_Datatype, void*, const N*, const A*, MPI_Datatype, int, MPI_Comm),  \
        (data, each.counts[rank], MPI_INT, found, rank == 1 ? each.C : NULL,                     \
         rank == 1 ? each.O : NULL, MPI_INT, 1, world))                                          \
    ROW(scatterv, Scatterv,                                                                      \
        (const void*, const N*, const A*, MPI_Datatype, void*, N, MPI_Datatype, int, MPI_Comm),  \
        (data, rank == 1 ? each.C : NULL, rank == 1 ? each.O : NULL, MPI_INT, found,             \
         each.counts[rank], MPI_INT, 1, world))                                                  \
    ROW(allgatherv, Allgatherv,                                                                  \
        (const void*, N, MPI_Datatype, void*, const N*, const A*, MPI_Datatype, MPI_Comm),       \
        (data, each.counts[rank], MPI_INT, found, each.C, each.O, MPI_INT, world))               \
    ROW(alltoall, Alltoall, (const void*, N, MPI_Datatype, void*, N, MPI_Datatype, MPI_Comm),    \
        (data, 70, MPI_INT, found, 70, MPI_INT, world))                                          \
    ROW(alltoallv, Alltoallv,                                                                    \
        (const void*, const N*, const A*, MPI_Datatype, void*, const N*, const A*, MPI_Datatype, \
         MPI_Comm),                                                                              \
        (data, sent.C, sent.O, MPI_INT, found, got.C, got.O, MPI_INT, world))                    \
    ROW(alltoallw, Alltoallw,                                                                    \
        (const void*, const N*, const A*, const MPI_Datatype*, void*, const N*, const A*,        \
         const MPI_Datatype*, MPI_Comm),                                                         \
        (data, sent_w.C, sent_w.O, sent_w.types, found, got_w.C, got_w.O, got_w.types, world))   \
    ROW(reduce_scatter, Reduce_scatter,                                                          \
        (const void*, void*, const N*, MPI_Datatype, MPI_Op, MPI_Comm),                          \
        (data, found, each.C, MPI_INT, MPI_SUM, world))                                          \
    ROW(scan, Scan, (const void*, void*, N, MPI_Datatype, MPI_Op, MPI_Comm),                     \
        (data, found, 5000 / 4, MPI_INT, MPI_SUM, world))                                        \
    ROW(exscan, Exscan, (const void*, void*, N, MPI_Datatype, MPI_Op, MPI_Comm),                 \
        (data, found, 80, MPI_INT, MPI_SUM, world))
// On a ring, which is a grid of one dimension: two neighbours.
#define OF_NEIGHBORS(ROW, N, A, C, O)                                                            \
    ROW(neighbor_allgather, Neighbor_allgather,                                                  \
        (const void*, N, MPI_Datatype, void*, N, MPI_Datatype, MPI_Comm),                        \
        (data, 90, MPI_INT, found, 90, MPI_INT, ring))                                           \
    ROW(neighbor_allgatherv, Neighbor_allgatherv,                                                \
        (const void*, N, MPI_Datatype, void*, const N*, const A*, MPI_Datatype, MPI_Comm),       \
        (data, 10, MPI_INT, found, same.C, same.O, MPI_INT, ring))                               \
    ROW(neighbor_alltoall, Neighbor_alltoall,                                                    \
        (const void*, N, MPI_Datatype, void*, N, MPI_Datatype, MPI_Comm),                        \
        (data, 20, MPI_INT, found, 20, MPI_INT, ring))                                           \
    ROW(neighbor_alltoallv, Neighbor_alltoallv,                                                  \
        (const void*, const N*, const A*, MPI_Datatype, void*, const N*, const A*, MPI_Datatype, \
         MPI_Comm),                                                                              \
        (data, same.C, same.O, MPI_INT, found, same.C, same.O, MPI_INT, ring))                   \
    ROW(neighbor_alltoallw, Neighbor_alltoallw,                                                  \
        (const void*, const N*, const MPI_Aint*, const MPI_Datatype*, void*, const N*,           \
         const MPI_Aint*, const MPI_Datatype*, MPI_Comm),                                        \
        (data, same_w.C, same_w.large_offsets, same_w.types, found, same_w.C,                    \
         same_w.large_offsets, same_w.types, ring))

#define BLOCKING(name, parameters, arguments, form) \
    clear();                                        \
    expect(form arguments == MPI_SUCCESS, #name);   \
    memcpy(wanted, found, sizeof found);
#define NONBLOCKING(name, parameters, arguments, form)                \
    clear();                                                          \
    expect(form(OPEN arguments, &request) == MPI_SUCCESS, "i" #name); \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                            \
    compare("i" #name);
// Where there are any: Open MPI 4 has them through this library.
#define PERSISTENT(name, parameters, arguments, form)                                         \
    if (form && !(LOSES_BLOCKS && (!strcmp(#name, "gather") || !strcmp(#name, "scatter")))) { \
        expect(form(OPEN arguments, MPI_INFO_NULL, &request) == MPI_SUCCESS, #name "_init");  \
        run_persistent(request, #name);                                                       \
    }

#define INT_ROW(name, Name, parameters, arguments)        \
    BLOCKING(name, parameters, arguments, MPI_##Name)     \
    NONBLOCKING(name, parameters, arguments, MPI_I##name) \
    PERSISTENT(name, parameters, arguments, MPI_##Name##_init)
#define LARGE_ROW(name, Name, parameters, arguments)          \
    BLOCKING(name, parameters, arguments, MPI_##Name##_c)     \
    NONBLOCKING(name, parameters, arguments, MPI_I##name##_c) \
    PERSISTENT(name, parameters, arguments, MPI_##Name##_init_c)
// Where the header has none.
#define WEAK(name, Name, parameters, arguments)                                      \
    extern int MPI_##Name##_c(OPEN parameters) __attribute__((weak));                \
    extern int MPI_I##name##_c(OPEN parameters, MPI_Request*) __attribute__((weak)); \
    extern int MPI_##Name##_init_c(OPEN parameters, MPI_Info, MPI_Request*) __attribute__((weak));
OF_WORLD(WEAK, MPI_Count, MPI_Aint, , )
OF_NEIGHBORS(WEAK, MPI_Count, MPI_Aint, , )
#define WEAK_INIT(name, Name, parameters, arguments) \
    extern int MPI_##Name##_init(OPEN parameters, MPI_Info, MPI_Request*) __attribute__((weak));
WEAK_INIT(barrier, Barrier, (MPI_Comm), )
OF_WORLD(WEAK_INIT, int, int, , )
OF_NEIGHBORS(WEAK_INIT, int, int, , )

static void run_all(int is_large, MPI_Comm world, MPI_Comm ring) {
    MPI_Request request;
    const Blocks each = make_blocks(100, 100, 1), same = make_blocks(10, 0, 1);
    const Blocks sent = make_blocks(10 * (rank + 1), 0, 1), got = make_blocks(10, 10, 1);
    const Blocks sent_w = make_blocks(10 * (rank + 1), 0, 4), got_w = make_blocks(10, 10, 4);
    const Blocks same_w = make_blocks(10, 0, 4);
    clear();
    memcpy(wanted, found, sizeof found);
    if (is_large) {
        OF_WORLD(LARGE_ROW, MPI_Count, MPI_Aint, large_counts, large_offsets)
        OF_NEIGHBORS(LARGE_ROW, MPI_Count, MPI_Aint, large_counts, large_offsets)
    } else {
        NONBLOCKING(barrier, , (world), MPI_Ibarrier)
        PERSISTENT(barrier, , (world), MPI_Barrier_init)
        OF_WORLD(INT_ROW, int, int, counts, offsets)
        OF_NEIGHBORS(INT_ROW, int, int, counts, offsets)
    }
}

// Rank 0 sends to the others, who send to nobody; and each rank to both others.
static void graphs(void) {
    MPI_Comm directed, graph;
    MPI_Request request;
    const int source = 0, degree = size - 1, others[] = {1, 2}, weights[] = {1, 1};
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0, &source, &degree, others, weights,
                          MPI_INFO_NULL, 0, &directed);
    MPI_Ineighbor_alltoall(data, 600, MPI_INT, found, 600, MPI_INT, directed, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&directed);
    const int ends[] = {2, 4, 6}, edges[] = {1, 2, 0, 2, 0, 1};
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &graph);
    MPI_Ineighbor_alltoall(data, 600, MPI_INT, found, 600, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&graph);
}

static int handled = 0;

static void handle(MPI_Comm* comm, int* error, ...) {
    (void)error;
    MPI_Request request;
    MPI_Ibarrier(*comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++handled;
}

// Neither a call with an error counts nor what is called within it, as by an MPI whose collectives
// call each other by name.
static void calls_within_a_call(void) {
    MPI_Comm own;
    MPI_Errhandler handler;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(own, handler);
    MPI_Ibcast(data, -1, MPI_INT, 0, own, &request);
    expect(handled == 1, "%d errors", handled);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&own);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < kElements; ++i) data[i] = rank * 10000 + i;
    const int is_large = argc > 1 && strcmp(argv[1], "large") == 0;
    if (size != kRanks || (is_large && !MPI_Ineighbor_alltoallw_c)) {
        expect(size == kRanks, "for 3 ranks");
        return finish();
    }
    MPI_Comm ring;
    const int dimension = size, is_periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &dimension, &is_periodic, 0, &ring);
    run_all(is_large, MPI_COMM_WORLD, ring);
    messages_afterwards();
    if (!is_large) graphs();
    calls_within_a_call();
    MPI_Comm_free(&ring);
    if (!MPI_Bcast_init && rank == 0) puts("no persistent collectives");
    if (LOSES_BLOCKS && rank == 0) puts("no persistent gather and scatter");
    return finish();
}
