// SPDX-License-Identifier: BSD-3-Clause
// Calls with bad arguments under MPI_ERRORS_RETURN. Rank 0 prints the error class of each, one a
// line; the test compares them with what the bare MPI says. Only errors that every MPI finds before
// it communicates are tried, so no rank waits for another. (MPICH does not look at the count of a
// reduction, and its version 5.0.2 aborts in a null datatype: `errors fewer` leaves that out.)
#include "support.h"

static int errors_seen = 0;

static void show(const char* what, int code) {
    int rank, class = 0, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Error_class(code, &class);
    MPI_Error_string(class, text, &length);
    errors_seen += code != MPI_SUCCESS;
    expect(code != MPI_SUCCESS, "%s passed", what);
    if (rank == 0) printf("%s: %s\n", what, text);
}

static void on_error(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    (void)code;
    ++errors_seen;
}

static void try_all(MPI_Comm comm, int fewer) {
    int in[16] = {0}, out[1024] = {0}, rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    show("Bcast count", MPI_Bcast(in, -1, MPI_INT, 0, comm));
    show("Bcast root", MPI_Bcast(in, 1, MPI_INT, size, comm));
    show("Bcast negative root", MPI_Bcast(in, 1, MPI_INT, -5, comm));
    show("Bcast type", MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm));
    show("Reduce root", MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, size + 3, comm));
    show("Reduce operator", MPI_Reduce(in, out, 1, MPI_INT, MPI_OP_NULL, 0, comm));
    if (!fewer) show("Allreduce type", MPI_Allreduce(in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
    show("Allreduce operator", MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm));
    show("Allreduce of double by BAND", MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, comm));
    show("Gather count", MPI_Gather(in, -1, MPI_INT, out, -1, MPI_INT, 0, comm));
    show("Gather root", MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, -9, comm));
    show("Scatter count", MPI_Scatter(out, -1, MPI_INT, in, -1, MPI_INT, 0, comm));
    show("Scatter root", MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, size, comm));
    show("Allgather count", MPI_Allgather(in, -1, MPI_INT, out, -1, MPI_INT, comm));
    show("Allgather type", MPI_Allgather(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm));
    show("Alltoall count", MPI_Alltoall(in, -1, MPI_INT, out, -1, MPI_INT, comm));
    show("Alltoall count received", MPI_Alltoall(in, 1, MPI_INT, out, -1, MPI_INT, comm));
    show("Alltoall type", MPI_Alltoall(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm));
    show("Alltoall into in place", MPI_Alltoall(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm));
    show("Scan operator", MPI_Scan(in, out, 1, MPI_INT, MPI_OP_NULL, comm));
    show("Scan of double by BAND", MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_BAND, comm));
    show("Scan into in place", MPI_Scan(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
    show("Exscan operator", MPI_Exscan(in, out, 1, MPI_INT, MPI_OP_NULL, comm));
    show("Exscan of double by BAND", MPI_Exscan(in, out, 1, MPI_DOUBLE, MPI_BAND, comm));
}

// Of what an allgatherv receives, Open MPI 4 does not look at the counts.
static void try_vectors(MPI_Comm comm) {
    int in[16] = {0}, out[1024] = {0}, size, ones[64], none[64], offsets[64];
    MPI_Datatype ints[64], nulls[64];
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 64; ++i) {
        ones[i] = 1, none[i] = -1, offsets[i] = i;
        ints[i] = MPI_INT, nulls[i] = MPI_DATATYPE_NULL;
    }
    const MPI_Datatype type = MPI_INT, null = MPI_DATATYPE_NULL;
    show("Gatherv count", MPI_Gatherv(in, -1, type, out, none, offsets, type, 0, comm));
    show("Gatherv root", MPI_Gatherv(in, 1, type, out, ones, offsets, type, size, comm));
    show("Gatherv type", MPI_Gatherv(in, 1, null, out, ones, offsets, null, 0, comm));
    show("Scatterv count", MPI_Scatterv(out, none, offsets, type, in, -1, type, 0, comm));
    show("Scatterv root", MPI_Scatterv(out, ones, offsets, type, in, 1, type, -7, comm));
    show("Scatterv type", MPI_Scatterv(out, ones, offsets, null, in, 1, null, 0, comm));
    show("Allgatherv count sent", MPI_Allgatherv(in, -1, type, out, ones, offsets, type, comm));
    show("Allgatherv type", MPI_Allgatherv(in, 1, null, out, ones, offsets, type, comm));
    show("Alltoallv count", MPI_Alltoallv(in, none, offsets, type, out, ones, offsets, type, comm));
    show("Alltoallv count received",
         MPI_Alltoallv(in, ones, offsets, type, out, none, offsets, type, comm));
    show("Alltoallv type", MPI_Alltoallv(in, ones, offsets, null, out, ones, offsets, type, comm));
    show("Alltoallv into in place",
         MPI_Alltoallv(in, ones, offsets, type, MPI_IN_PLACE, ones, offsets, type, comm));
    show("Alltoallw count", MPI_Alltoallw(in, none, offsets, ints, out, ones, offsets, ints, comm));
    show("Alltoallw count received",
         MPI_Alltoallw(in, ones, offsets, ints, out, none, offsets, ints, comm));
    show("Alltoallw type", MPI_Alltoallw(in, ones, offsets, nulls, out, ones, offsets, ints, comm));
    show("Reduce_scatter count", MPI_Reduce_scatter(in, out, none, type, MPI_SUM, comm));
    show("Reduce_scatter operator", MPI_Reduce_scatter(in, out, ones, type, MPI_OP_NULL, comm));
    show("Reduce_scatter of double by BAND",
         MPI_Reduce_scatter(in, out, ones, MPI_DOUBLE, MPI_BAND, comm));
    show("Reduce_scatter into in place",
         MPI_Reduce_scatter(in, MPI_IN_PLACE, ones, type, MPI_SUM, comm));
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    show("Barrier communicator", MPI_Barrier(MPI_COMM_NULL));
    for (int call = 0; call < 5; ++call) MPI_Barrier(MPI_COMM_WORLD);
    try_all(MPI_COMM_WORLD, argc > 1);
    try_vectors(MPI_COMM_WORLD);
    // A handler of the program's own is called, once an error.
    MPI_Errhandler handler;
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(dup, handler);
    for (int call = 0; call < 5; ++call) MPI_Barrier(dup);
    errors_seen = 0;
    int in = 0;
    MPI_Bcast(&in, -1, MPI_INT, 0, dup);
    expect(errors_seen == 1, "the handler was called %d times", errors_seen);
    // And the communicator is as good as before.
    int sum = 0, one = 1, size;
    MPI_Comm_size(dup, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
    expect(sum == size, "sum after errors");
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&dup);
    return finish();
}
