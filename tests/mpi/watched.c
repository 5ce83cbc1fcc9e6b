// SPDX-License-Identifier: BSD-3-Clause
// So many calls, for TUTTI_CHECK, TUTTI_VERIFY and TUTTI_STALL to count:
//
//   watched CALLS MISTAKES SECONDS
//
// CALLS allreduces of the world, and so many of each of its halves; MISTAKES calls in which rank 1
// means another one than the others; and where SECONDS is not 0 a barrier to which rank 1 comes so
// much later.
#include <unistd.h>

#include "support.h"

static void reduce(MPI_Comm comm, int calls) {
    int size;
    MPI_Comm_size(comm, &size);
    for (int call = 0; call < calls; ++call) {
        int sum = 1;
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
        expect(sum == size, "sum %d of %d ranks", sum, size);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, word = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int calls = argc > 1 ? atoi(argv[1]) : 1;
    const int mistakes = argc > 2 ? atoi(argv[2]) : 0;
    const int seconds = argc > 3 ? atoi(argv[3]) : 0;
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    reduce(MPI_COMM_WORLD, calls);
    reduce(half, calls);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int call = 0; call < mistakes; ++call) {
        const int status = rank == 1 ? MPI_Barrier(MPI_COMM_WORLD)
                                     : MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
        expect(status != MPI_SUCCESS, "mistake %d went unnoticed", call);
    }
    if (seconds > 0) {
        if (rank == 1) sleep((unsigned)seconds);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&half);
    return finish();
}
