// SPDX-License-Identifier: BSD-3-Clause
// A few calls of each of the seven collectives, and of reduce_scatter.
//
// simple [CALLS [INTS]]
#include "support.h"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int calls = argc > 1 ? atoi(argv[1]) : 20, ints = argc > 2 ? atoi(argv[2]) : 5;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int* one = malloc((size_t)ints * sizeof(int));
    int* all = malloc((size_t)ints * sizeof(int) * (size_t)size);
    int *given = malloc((size_t)size * sizeof(int)), *counts = malloc((size_t)size * sizeof(int));
    for (int r = 0; r < size; ++r) given[r] = r, counts[r] = 1;
    for (int call = 0; call < calls; ++call) {
        const int root = call % size, last = ints - 1;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < ints; ++i) one[i] = rank == root ? call + i : -1;
        MPI_Bcast(one, ints, MPI_INT, root, MPI_COMM_WORLD);
        expect(one[0] == call && one[last] == call + last, "Bcast %d", call);
        for (int i = 0; i < ints; ++i) one[i] = rank + i;
        MPI_Reduce(one, all, ints, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        const int sum = size * (size - 1) / 2 + size * last;
        if (rank == root) expect(all[last] == sum, "Reduce %d", call);
        MPI_Allreduce(one, all, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(all[last] == sum, "Allreduce %d", call);
        MPI_Gather(one, ints, MPI_INT, all, ints, MPI_INT, root, MPI_COMM_WORLD);
        for (int r = 0; r < size && rank == root; ++r) {
            expect(all[r * ints + last] == r + last, "Gather %d", call);
        }
        for (int r = 0; r < size && rank == root; ++r) all[r * ints + last] = 10 * r + call;
        MPI_Scatter(all, ints, MPI_INT, one, ints, MPI_INT, root, MPI_COMM_WORLD);
        expect(one[last] == 10 * rank + call, "Scatter %d", call);
        MPI_Allgather(one, ints, MPI_INT, all, ints, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < size; ++r) {
            expect(all[r * ints + last] == 10 * r + call, "Allgather %d", call);
        }
        int own = -1;
        MPI_Reduce_scatter(given, &own, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(own == size * rank, "Reduce_scatter %d", call);
    }
    free(given);
    free(counts);
    free(one);
    free(all);
    return finish();
}
