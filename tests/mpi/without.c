// SPDX-License-Identifier: BSD-3-Clause
// A program of which some ranks have no Tutti. First collectives of many kinds and sizes, each as
// the first of a run: what another's MPI_Init sent would be taken for their data. Then masters and
// workers, who receive from anybody under any tag.
//
// without FIRST [wild]: FIRST is the kind of the first collective; with a second word also masters
// and workers, who receive from anybody under any tag, before and after.
#include "support.h"

enum { kKinds = 6, kRounds = 12 };

static void collective(int kind, int rank, int size) {
    int in[5], out[5 * 64];
    for (int i = 0; i < 5; ++i) in[i] = 100 * rank + i;
    const int sum = 100 * size * (size - 1) / 2;
    char text[64];
    switch (kind % kKinds) {
        case 0:
            MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            for (int i = 0; i < 3; ++i) expect(out[i] == sum + i * size, "allreduce %d", out[i]);
            break;
        case 1:
            memset(text, rank == 0 ? 'x' : '-', sizeof text);
            MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
            for (int i = 0; i < 64; ++i) expect(text[i] == 'x', "bcast %d", text[i]);
            break;
        case 2:
            MPI_Barrier(MPI_COMM_WORLD);
            expect(1, "barrier");
            break;
        case 3:
            MPI_Allgather(in, 5, MPI_INT, out, 5, MPI_INT, MPI_COMM_WORLD);
            for (int i = 0; i < 5 * size; ++i) {
                expect(out[i] == 100 * (i / 5) + i % 5, "allgather %d: %d", i, out[i]);
            }
            break;
        case 4:
            MPI_Reduce(in, out, 5, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
            for (int i = 0; i < 5 && rank == size - 1; ++i) {
                expect(out[i] == sum + i * size, "reduce %d", out[i]);
            }
            break;
        default: {
            MPI_Comm half;
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
            int members = 0, one = 1;
            MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, half);
            expect(members == (size + 1 - rank % 2) / 2, "half of %d", members);
            MPI_Comm_free(&half);
        }
    }
}

// Rank 0 takes what comes; the others get an answer to each.
static void master_and_workers(int rank, int size) {
    for (int i = 0; i < (size - 1) * kRounds && rank == 0; ++i) {
        int value = -1, count = -1;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        expect(count == 1 && value == 1000 * status.MPI_SOURCE + status.MPI_TAG,
               "master: %d ints, %d, from %d with tag %d", count, value, status.MPI_SOURCE,
               status.MPI_TAG);
        MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 7, MPI_COMM_WORLD);
    }
    for (int i = 0; i < kRounds && rank != 0; ++i) {
        int value = 1000 * rank + i, back = -1;
        MPI_Status status;
        MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        MPI_Recv(&back, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(back == value && status.MPI_TAG == 7, "worker: %d, tag %d", back, status.MPI_TAG);
    }
    MPI_Barrier(MPI_COMM_WORLD);  // the master takes whatever comes
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int first = argc > 1 ? atoi(argv[1]) : 0;
    if (argc > 2) master_and_workers(rank, size);
    for (int round = 0; round < kRounds; ++round) collective(first + round, rank, size);
    if (argc > 2) master_and_workers(rank, size);
    return finish();
}
