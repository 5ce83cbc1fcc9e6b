// SPDX-License-Identifier: BSD-3-Clause
// A rank that has no memory to pack its data does not leave the others waiting: all of them get an
// error, in that call or in the next, and the program goes on to its end.
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support.h"

enum { kDoubles = 8 << 20, kSpare = 16 << 20 };

// From now on hardly any memory can be had.
static void squeeze(struct rlimit* before) {
    unsigned long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) MPI_Abort(MPI_COMM_WORLD, 3);
    fclose(file);
    getrlimit(RLIMIT_AS, before);
    struct rlimit tight = *before;
    tight.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + kSpare;
    if (setrlimit(RLIMIT_AS, &tight) != 0) MPI_Abort(MPI_COMM_WORLD, 4);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int victim = size - 1;
    double* data = malloc(2 * sizeof(double) * kDoubles);
    MPI_Datatype gaps;
    MPI_Type_vector(kDoubles, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);

    for (int turn = 0; turn < 3; ++turn) MPI_Barrier(MPI_COMM_WORLD);
    struct rlimit before;
    if (rank == victim) squeeze(&before);
    int failures = 0;
    for (int turn = 0; turn < 2; ++turn) {
        // The others' blocks have no gaps.
        const int status = rank == victim
                               ? MPI_Bcast(data, 1, gaps, victim, MPI_COMM_WORLD)
                               : MPI_Bcast(data, kDoubles, MPI_DOUBLE, victim, MPI_COMM_WORLD);
        failures += status != MPI_SUCCESS;
    }
    if (rank == victim) setrlimit(RLIMIT_AS, &before);
    expect(failures >= 1, "no error");
    MPI_Type_free(&gaps);
    free(data);
    return finish();
}
