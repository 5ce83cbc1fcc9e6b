// SPDX-License-Identifier: BSD-3-Clause
// An MPI that makes mistakes, to be preloaded: on rank 1 the last word of what it receives is that
// of another call, of another rank, or missing.
#include <mpi.h>

static int is_rank_1(MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank == 1;
}

int MPI_Alltoallv(const void* send, const int* counts, const int* at, MPI_Datatype type, void* recv,
                  const int* recv_counts, const int* recv_at, MPI_Datatype recv_type,
                  MPI_Comm comm) {
    const int done =
        PMPI_Alltoallv(send, counts, at, type, recv, recv_counts, recv_at, recv_type, comm);
    double* words = recv;
    // The block of rank 0 for the one of rank 2, which is as long.
    if (is_rank_1(comm)) words[recv_at[2]] = words[recv_at[0]];
    return done;
}

int MPI_Reduce_scatter(const void* send, void* recv, const int* counts, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
    const int done = PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
    double* words = recv;
    if (is_rank_1(comm)) words[counts[1] - 1] -= ((const double*)send)[0];
    return done;
}

int MPI_Scan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int done = PMPI_Scan(send, recv, count, type, op, comm);
    double* words = recv;
    if (is_rank_1(comm)) words[0] = ((const double*)send)[0];
    return done;
}
