// SPDX-License-Identifier: BSD-3-Clause
// Children of the ranks, before and beside collectives: what a network writes to must stay the
// parent's, whoever of the two writes to a page first.
//
// forks [ROUNDS]
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

enum { kInts = 5000, kCalls = 30 };

static void collectives(const int* mine, int* sum, int rank, int size, int round) {
    for (int call = 0; call < kCalls; ++call) {
        const int ints = call % 2 == 0 ? 1 : kInts, root = call % size;
        MPI_Allreduce(mine, sum, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        const int wanted = (ints - 1) * size + size * (size - 1) / 2;
        expect(sum[ints - 1] == wanted, "Allreduce %d of round %d", call, round);
        int word = rank == root ? round * kCalls + call : -1;
        MPI_Bcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD);
        expect(word == round * kCalls + call, "Bcast %d of round %d", call, round);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 5;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int* mine = malloc(kInts * sizeof(int));
    int* sum = malloc(kInts * sizeof(int));
    for (int i = 0; i < kInts; ++i) mine[i] = rank + i;
    collectives(mine, sum, rank, size, 0);
    for (int round = 1; round <= rounds; ++round) {
        int until[2];
        if (pipe(until) != 0) return 1;
        const pid_t child = fork();
        if (child == 0) {
            close(until[1]);
            memset(mine, kPoison, kInts * sizeof(int));
            char end;
            _exit(read(until[0], &end, 1) == 0 ? 0 : 1);
        }
        close(until[0]);
        collectives(mine, sum, rank, size, round);
        close(until[1]);
        int status = -1;
        expect(waitpid(child, &status, 0) == child && status == 0, "the child of round %d", round);
        expect(system("exit 3") == 3 << 8, "a command in round %d", round);
        collectives(mine, sum, rank, size, round);
    }
    free(mine);
    free(sum);
    return finish();
}
