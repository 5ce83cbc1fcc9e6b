// SPDX-License-Identifier: BSD-3-Clause
// MPI-4's collectives with large counts, asked for at run time as programs do that may meet a host
// without them (mpi4py does). A count that no int holds is an error there, never a wrong result.
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { kRanksMax = 16 };

static int rank, size, errors, checks;

#define FUNCTION(name, ...) ((int (*)(__VA_ARGS__))find(#name))

static void* find(const char* name) { return dlsym(RTLD_DEFAULT, name); }

static void expect(int is_right, const char* what) {
    ++checks;
    if (is_right) return;
    ++errors;
    printf("rank %d: %s\n", rank, what);
}

static void vectors(void) {
    MPI_Count counts[kRanksMax];
    MPI_Aint offsets[kRanksMax];
    int in[kRanksMax], out[kRanksMax];
    for (int i = 0; i < size; ++i) {
        counts[i] = 1;
        offsets[i] = size - 1 - i;
        in[i] = 100 * rank + (size - 1 - i);
        out[i] = -1;
    }
    const int status =
        FUNCTION(MPI_Alltoallv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                 void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm)(
            in, counts, offsets, MPI_INT, out, counts, offsets, MPI_INT, MPI_COMM_WORLD);
    expect(status == MPI_SUCCESS, "alltoallv");
    for (int i = 0; i < size; ++i) expect(out[size - 1 - i] == 100 * i + rank, "alltoallv data");

    FUNCTION(MPI_Alltoall_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
             MPI_Comm)
    (in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(out[i] == 100 * i + size - 1 - rank, "alltoall data");

    // What is not significant is not looked at.
    const int root = size - 1;
    int all[kRanksMax] = {0};
    FUNCTION(MPI_Gatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
             const MPI_Aint*, MPI_Datatype, int, MPI_Comm)
    (rank == root ? MPI_IN_PLACE : &rank, rank == root ? (MPI_Count)1 << 40 : 1, MPI_INT, all,
     rank == root ? counts : NULL, rank == root ? offsets : NULL, MPI_INT, root, MPI_COMM_WORLD);
    if (rank == root) {
        for (int i = 0; i < root; ++i) expect(all[size - 1 - i] == i, "gatherv data");
    }
    int own = -1;
    for (int i = 0; i < size; ++i) in[size - 1 - i] = 7 * i;
    FUNCTION(MPI_Scatterv_c, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
             MPI_Count, MPI_Datatype, int, MPI_Comm)
    (in, rank == root ? counts : NULL, rank == root ? offsets : NULL, MPI_INT, &own, 1, MPI_INT,
     root, MPI_COMM_WORLD);
    expect(own == 7 * rank, "scatterv data");
    FUNCTION(MPI_Allgatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
             const MPI_Aint*, MPI_Datatype, MPI_Comm)
    (&rank, 1, MPI_INT, all, counts, offsets, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(all[size - 1 - i] == i, "allgatherv data");
}

static void reductions(void) {
    const double one = 1;
    double sum = 0, each[kRanksMax], part = 0;
    MPI_Count counts[kRanksMax];
    for (int i = 0; i < size; ++i) {
        counts[i] = 1;
        each[i] = i;
    }
    FUNCTION(MPI_Allreduce_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
    (&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size, "allreduce");
    FUNCTION(MPI_Scan_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
    (&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == rank + 1, "scan");
    part = -1;
    FUNCTION(MPI_Exscan_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
    (&one, &part, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(rank == 0 || part == rank, "exscan");
    FUNCTION(MPI_Reduce_scatter_c, const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op,
             MPI_Comm)
    (each, &part, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(part == (double)rank * size, "reduce_scatter");
    part = 0;
    FUNCTION(MPI_Reduce_scatter_block_c, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op,
             MPI_Comm)
    (each, &part, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(part == (double)rank * size, "reduce_scatter_block");
}

// Two groups, whose roles at a root are other ones.
static void groups(void) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &inter);
    MPI_Count counts[kRanksMax];
    MPI_Aint offsets[kRanksMax];
    int all[kRanksMax] = {0};
    for (int i = 0; i < size - 1; ++i) {
        counts[i] = 1;
        offsets[i] = i;
    }
    const int is_root = rank == 0;
    FUNCTION(MPI_Gatherv_c, const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
             const MPI_Aint*, MPI_Datatype, int, MPI_Comm)
    (&rank, is_root ? (MPI_Count)1 << 40 : 1, MPI_INT, all, is_root ? counts : NULL,
     is_root ? offsets : NULL, MPI_INT, is_root ? MPI_ROOT : 0, inter);
    for (int i = 1; is_root && i < size; ++i) expect(all[i - 1] == i, "gatherv between groups");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

// A host without these must not get a count that was cut: this one would become 1. Before other
// calls, since a communicator's first ones are the host's.
static void cut_counts(void) {
    void* host = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
    if (!host || dlsym(host, "PMPI_Allgather_c")) return;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int all[kRanksMax];
    const MPI_Count count = ((MPI_Count)1 << 32) + 1;
    const int status =
        FUNCTION(MPI_Allgather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                 MPI_Datatype, MPI_Comm)(&rank, count, MPI_INT, all, 1, MPI_INT, comm);
    expect(status != MPI_SUCCESS, "allgather of a count that no int holds");
    MPI_Comm_free(&comm);
}

// Counts that are not significant are not looked at in non-blocking calls either.
static void without_significance(void) {
    const MPI_Count none = (MPI_Count)1 << 40;
    int all[kRanksMax] = {0}, own = -1;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    FUNCTION(MPI_Igather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
             int, MPI_Comm, MPI_Request*)
    (&rank, 1, MPI_INT, all, rank == 0 ? 1 : none, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    int in[kRanksMax], every[kRanksMax];
    for (int i = 0; i < size; ++i) in[i] = 7 * i;
    every[rank] = rank;
    FUNCTION(MPI_Iscatter_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
             int, MPI_Comm, MPI_Request*)
    (in, rank == 0 ? 1 : none, MPI_INT, &own, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    FUNCTION(MPI_Iallgather_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
             MPI_Comm, MPI_Request*)
    (MPI_IN_PLACE, none, MPI_INT, every, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, statuses);
    expect(own == 7 * rank, "iscatter data");
    for (int i = 0; i < size; ++i) expect(every[i] == i, "iallgather data");
    for (int i = 0; i < size && rank == 0; ++i) expect(all[i] == i, "igather data");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (find("MPI_Alltoallv_c")) {
        cut_counts();
        for (int i = 0; i < 5; ++i) {
            vectors();
            reductions();
        }
        groups();
        without_significance();
    }
    int all = 0, most = 0;
    MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&checks, &most, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("ok %d\n", most);
    MPI_Finalize();
    return errors != 0;
}
