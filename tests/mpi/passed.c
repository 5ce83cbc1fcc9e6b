// SPDX-License-Identifier: BSD-3-Clause
// Each vector form, with known sizes (between groups, an alltoall, too); what is not significant on
// a rank holds what nobody may read.
//
//   passed int|large [groups]
//
// large: by MPI-4's names, where this library or the host has them. groups: between two groups,
// too.
#include <dlfcn.h>
#include <stddef.h>

#include "blocks.h"
#include "support.h"

enum { kRanksMax = kBlocksMax, kElements = 1 << 16 };

static int rank, size, is_large;
static int data[kElements], found[kElements];

#define UNREADABLE ((void*)64)
#define FUNCTION(name, ...) ((int (*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name))

#define CALL(narrow, large, ...) expect((is_large ? large : narrow) == MPI_SUCCESS, __VA_ARGS__)

static void alltoall(const void* send, int count, MPI_Datatype type, MPI_Comm comm) {
    CALL(MPI_Alltoall(send, count, type, found, 100, MPI_INT, comm),
         FUNCTION(MPI_Alltoall_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                  MPI_Datatype, MPI_Comm)(send, count, type, found, 100, MPI_INT, comm),
         "alltoall");
}

static void gatherv(const void* send, int count, const Blocks* b, int root, MPI_Comm comm) {
    const int* counts = b ? b->counts : UNREADABLE;
    const int* offsets = b ? b->offsets : UNREADABLE;
    const MPI_Count* large_counts = b ? b->large_counts : UNREADABLE;
    const MPI_Aint* large_offsets = b ? b->large_offsets : UNREADABLE;
    CALL(MPI_Gatherv(send, count, MPI_INT, found, counts, offsets, MPI_INT, root, comm),
         FUNCTION(MPI_Gatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                  const MPI_Aint*, MPI_Datatype, int, MPI_Comm)(
             send, count, MPI_INT, found, large_counts, large_offsets, MPI_INT, root, comm),
         "gatherv");
}

static void scatterv(const Blocks* b, void* recv, int count, int root, MPI_Comm comm) {
    const int* counts = b ? b->counts : UNREADABLE;
    const int* offsets = b ? b->offsets : UNREADABLE;
    const MPI_Count* large_counts = b ? b->large_counts : UNREADABLE;
    const MPI_Aint* large_offsets = b ? b->large_offsets : UNREADABLE;
    CALL(MPI_Scatterv(data, counts, offsets, MPI_INT, recv, count, MPI_INT, root, comm),
         FUNCTION(MPI_Scatterv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                  void*, MPI_Count, MPI_Datatype, int, MPI_Comm)(
             data, large_counts, large_offsets, MPI_INT, recv, count, MPI_INT, root, comm),
         "scatterv");
}

static void allgatherv(const void* send, const Blocks* b, MPI_Comm comm) {
    CALL(
        MPI_Allgatherv(send, b->counts[rank], MPI_INT, found, b->counts, b->offsets, MPI_INT, comm),
        FUNCTION(MPI_Allgatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                 const MPI_Aint*, MPI_Datatype,
                 MPI_Comm)(send, b->counts[rank], MPI_INT, found, b->large_counts, b->large_offsets,
                           MPI_INT, comm),
        "allgatherv");
}

// In place nothing of the sender's side is significant.
static void alltoallv(const Blocks* send, const Blocks* recv, MPI_Comm comm) {
    const void* from = send ? data : MPI_IN_PLACE;
    CALL(MPI_Alltoallv(from, send ? send->counts : UNREADABLE, send ? send->offsets : UNREADABLE,
                       MPI_INT, found, recv->counts, recv->offsets, MPI_INT, comm),
         FUNCTION(MPI_Alltoallv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                  void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm)(
             from, send ? send->large_counts : UNREADABLE, send ? send->large_offsets : UNREADABLE,
             MPI_INT, found, recv->large_counts, recv->large_offsets, MPI_INT, comm),
         "alltoallv");
}

static void alltoallw(const Blocks* send, const Blocks* recv, MPI_Comm comm) {
    const void* from = send ? data : MPI_IN_PLACE;
    CALL(
        MPI_Alltoallw(from, send ? send->counts : UNREADABLE, send ? send->offsets : UNREADABLE,
                      send ? send->types : UNREADABLE, found, recv->counts, recv->offsets,
                      recv->types, comm),
        FUNCTION(MPI_Alltoallw_c, const void*, const MPI_Count*, const MPI_Aint*,
                 const MPI_Datatype*, void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*,
                 MPI_Comm)(from, send ? send->large_counts : UNREADABLE,
                           send ? send->large_offsets : UNREADABLE, send ? send->types : UNREADABLE,
                           found, recv->large_counts, recv->large_offsets, recv->types, comm),
        "alltoallw");
}

static void reductions(void) {
    const Blocks b = make_blocks(1, 1, 1);
    const MPI_Comm comm = MPI_COMM_WORLD;
    CALL(MPI_Reduce_scatter(data, found, b.counts, MPI_DOUBLE, MPI_MAX, comm),
         FUNCTION(MPI_Reduce_scatter_c, const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op,
                  MPI_Comm)(data, found, b.large_counts, MPI_DOUBLE, MPI_MAX, comm),
         "reduce_scatter");
}

static void world(void) {
    const int root = 1;
    const MPI_Comm comm = MPI_COMM_WORLD;
    const Blocks each = make_blocks(1000, 1000, 1), same = make_blocks(10, 0, 1);
    allgatherv(data, &each, comm);
    gatherv(data, each.counts[rank], rank == root ? &each : NULL, root, comm);
    gatherv(rank == root ? MPI_IN_PLACE : data, rank == root ? -1 : each.counts[rank],
            rank == root ? &each : NULL, root, comm);
    scatterv(rank == root ? &each : NULL, found, each.counts[rank], root, comm);
    const Blocks sent = make_blocks(10 * (rank + 1), 0, 1), got = make_blocks(10, 10, 1);
    alltoallv(&sent, &got, comm);
    alltoallv(NULL, &same, comm);
    const Blocks sent_w = make_blocks(10 * (rank + 1), 0, 4), got_w = make_blocks(10, 10, 4);
    const Blocks same_w = make_blocks(10, 0, 4);
    alltoallw(&sent_w, &got_w, comm);
    alltoallw(NULL, &same_w, comm);
    reductions();
}

// The first rank alone against the others: 100 ints from each to each; 100 of each to it; and back.
static void groups(void) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &inter);
    const Blocks same = make_blocks(100, 0, 1);
    const int root = rank == 0 ? MPI_ROOT : 0;
    alltoall(data, 100, MPI_INT, inter);
    gatherv(data, rank == 0 ? -1 : 100, rank == 0 ? &same : NULL, root, inter);
    scatterv(rank == 0 ? &same : NULL, found, rank == 0 ? -1 : 100, root, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_large = argc > 1 && strcmp(argv[1], "large") == 0;
    if (is_large && !dlsym(RTLD_DEFAULT, "MPI_Alltoallw_c")) {
        expect(1, "this MPI has none");
        return finish();
    }
    world();
    if (argc > 2) groups();
    return finish();
}
