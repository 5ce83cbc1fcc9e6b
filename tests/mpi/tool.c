// SPDX-License-Identifier: BSD-3-Clause
// A profiling tool, as people preload them: counts the program's calls and prints the counts at the
// end. Each call of the program must be seen exactly once, in whatever order the tool and Tutti
// stand in LD_PRELOAD.
#include <mpi.h>
#include <stdio.h>

static int barriers, bcasts, reduces, allreduces, gathers, scatters, allgathers, reduce_scatters;

int MPI_Barrier(MPI_Comm comm) {
    ++barriers;
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    ++bcasts;
    return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    ++reduces;
    return PMPI_Reduce(in, out, count, type, op, root, comm);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    ++allreduces;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Gather(const void* in, int count, MPI_Datatype type, void* out, int out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm) {
    ++gathers;
    return PMPI_Gather(in, count, type, out, out_count, out_type, root, comm);
}

int MPI_Scatter(const void* in, int count, MPI_Datatype type, void* out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
    ++scatters;
    return PMPI_Scatter(in, count, type, out, out_count, out_type, root, comm);
}

int MPI_Allgather(const void* in, int count, MPI_Datatype type, void* out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm) {
    ++allgathers;
    return PMPI_Allgather(in, count, type, out, out_count, out_type, comm);
}

int MPI_Reduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    ++reduce_scatters;
    return PMPI_Reduce_scatter(in, out, counts, type, op, comm);
}

int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("tool %d %d %d %d %d %d %d %d\n", barriers, bcasts, reduces, allreduces, gathers,
               scatters, allgathers, reduce_scatters);
        fflush(stdout);
    }
    return PMPI_Finalize();
}
