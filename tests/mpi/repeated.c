// SPDX-License-Identifier: BSD-3-Clause
// The same few collectives over and over, as programs make them, whose results are all right: what
// a run may tune.
//
// repeated ROUNDS
#include "support.h"

enum { kWords = 512, kRanksMax = 64 };

static double vector_of(int round, int rank, int i) { return (double)(round % 100 + rank + i % 7); }

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const int rounds = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static double mine[kWords], sum[kWords];
    static int all[kRanksMax * 4];
    for (int round = 0; round < rounds; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        int one = rank + round, most = -1;
        MPI_Allreduce(&one, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        expect(most == size - 1 + round, "round %d: most %d", round, most);

        const int root = round % size;
        int words[kWords];
        for (int i = 0; i < kWords; ++i) words[i] = rank == root ? round + i : -1;
        MPI_Bcast(words, kWords, MPI_INT, root, MPI_COMM_WORLD);
        expect(words[0] == round && words[kWords - 1] == round + kWords - 1, "round %d: bcast", round);

        for (int i = 0; i < kWords; ++i) mine[i] = vector_of(round, rank, i);
        MPI_Reduce(mine, sum, kWords, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < kWords; ++i) {
            double right = 0;
            for (int r = 0; r < size; ++r) right += vector_of(round, r, i);
            expect(sum[i] == right, "round %d: reduce %d: %g", round, i, sum[i]);
        }

        const int four[4] = {rank, round, rank + round, 7};
        for (int i = 0; i < size * 4; ++i) all[i] = -1;
        MPI_Allgather(four, 4, MPI_INT, all, 4, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < size; ++r) {
            expect(all[4 * r] == r && all[4 * r + 2] == r + round, "round %d: allgather", round);
        }

        int part[4] = {-1, -1, -1, -1};
        if (rank == root) {
            for (int i = 0; i < size * 4; ++i) all[i] = round + i;
        }
        MPI_Scatter(all, 4, MPI_INT, part, 4, MPI_INT, root, MPI_COMM_WORLD);
        expect(part[0] == round + 4 * rank && part[3] == round + 4 * rank + 3, "round %d: scatter",
               round);
        for (int i = 0; i < size * 4; ++i) all[i] = -1;
        MPI_Gather(part, 4, MPI_INT, all, 4, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < size * 4; ++i) {
            expect(all[i] == round + i, "round %d: gather", round);
        }
    }
    return finish();
}
