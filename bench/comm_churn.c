// SPDX-License-Identifier: BSD-3-Clause
// What short-lived communicators cost: comm_churn ITERATIONS [ALLREDUCES BCASTS]
//
// Each iteration splits the world into itself, makes so many allreduces (default 4) and broadcasts
// (default 3) of 64 bytes on the new communicator, and frees it. Every result is checked. Plain
// MPI, so that the same program runs bare and through Tutti. Rank 0 prints one line of JSON: the
// median and the least time of an iteration, in ms, of the slowest rank each.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWords = 8, kIterationsMax = 1000000 };

static int usage(void) {
    fprintf(stderr, "usage: comm_churn ITERATIONS [ALLREDUCES BCASTS]\n");
    return 2;
}

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// The number of wrong results.
static int iterate(int round, int allreduces, int bcasts) {
    int rank = 0, size = 0, wrong = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
    for (int call = 0; call < allreduces; ++call) {
        double mine[kWords], sum[kWords];
        for (int i = 0; i < kWords; ++i) mine[i] = round + i;
        MPI_Allreduce(mine, sum, kWords, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < kWords; ++i) wrong += sum[i] != (double)size * (round + i);
    }
    for (int call = 0; call < bcasts; ++call) {
        double block[kWords];
        const int root = (round + call) % size;
        for (int i = 0; i < kWords; ++i) block[i] = rank == root ? round + call + i : -1;
        MPI_Bcast(block, kWords, MPI_DOUBLE, root, comm);
        for (int i = 0; i < kWords; ++i) wrong += block[i] != round + call + i;
    }
    MPI_Comm_free(&comm);
    return wrong;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int iterations = argc > 1 ? atoi(argv[1]) : 0;
    const int allreduces = argc > 2 ? atoi(argv[2]) : 4;
    const int bcasts = argc > 3 ? atoi(argv[3]) : 3;
    if (iterations < 1 || iterations > kIterationsMax || allreduces < 0 || bcasts < 0) {
        MPI_Finalize();
        return usage();
    }
    double* times = calloc((size_t)iterations, sizeof *times);
    double* slowest = calloc((size_t)iterations, sizeof *slowest);
    if (!times || !slowest) MPI_Abort(MPI_COMM_WORLD, 1);
    int rank = 0, wrong = 0, all_wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < iterations; ++round) {
        const double begin = MPI_Wtime();
        wrong += iterate(round, allreduces, bcasts);
        times[round] = 1e3 * (MPI_Wtime() - begin);
    }
    MPI_Reduce(times, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        qsort(slowest, (size_t)iterations, sizeof *slowest, by_size);
        printf("{\"iterations\": %d, \"median_ms\": %.3f, \"least_ms\": %.3f, \"wrong\": %d}\n",
               iterations, slowest[iterations / 2], slowest[0], all_wrong);
    }
    free(times);
    free(slowest);
    MPI_Finalize();
    return all_wrong != 0;
}
