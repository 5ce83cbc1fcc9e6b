// SPDX-License-Identifier: BSD-3-Clause
// Many communicators at once: of all processes, and of different halves of them. All are used in
// turn, short calls and long ones, and then freed.
//
// many_comms COUNT HALVES
#include "support.h"

static void use(MPI_Comm comm, int round, int count) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int root = round % size;
    long sum = 0, mine = rank + round;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    expect(sum == (long)size * round + (long)size * (size - 1) / 2, "round %d: sum", round);
    double* block = calloc((size_t)count * (size_t)(size + 1), sizeof(double));
    for (int i = 0; i < count; ++i) block[i] = rank == root ? round + i : -1;
    MPI_Bcast(block, count, MPI_DOUBLE, root, comm);
    expect(block[0] == round && block[count - 1] == round + count - 1, "round %d: broadcast",
           round);
    for (int i = 0; i < count; ++i) block[i] = rank + i;
    MPI_Gather(block, count, MPI_DOUBLE, block + count, count, MPI_DOUBLE, root, comm);
    for (int from = 0; rank == root && from < size; ++from) {
        expect(block[count * (from + 1)] == from, "round %d: gather", round);
    }
    MPI_Allreduce(MPI_IN_PLACE, block, count, MPI_DOUBLE, MPI_SUM, comm);
    expect(block[0] == (double)size * (size - 1) / 2, "round %d: vector", round);
    MPI_Barrier(comm);
    free(block);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 100;
    const int halves = argc > 2 ? atoi(argv[2]) : 10;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm* comms = calloc((size_t)(count + halves), sizeof(MPI_Comm));
    for (int i = 0; i < count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < halves; ++i) {
        const int color = (rank >> (i % 4) ^ rank * (i / 4)) & 1;
        MPI_Comm_split(MPI_COMM_WORLD, color, i % 2 ? rank : -rank, &comms[count + i]);
    }
    static const int counts[] = {1, 40, 300, 6000};
    for (int turn = 0; turn < 3; ++turn) {
        for (int i = 0; i < count + halves; ++i) use(comms[i], turn + i, counts[(turn + i) % 4]);
    }
    for (int i = 0; i < count + halves; ++i) MPI_Comm_free(&comms[i]);
    return finish();
}
