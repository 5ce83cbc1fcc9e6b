// SPDX-License-Identifier: BSD-3-Clause
// Communicators that are freed while a request on them is pending, under MPI_THREAD_MULTIPLE: the
// MPI deletes their attributes where the request completes, deep in itself, perhaps in a collective
// on another communicator.
//
#include "support.h"

enum { kInts = 1 << 18, kRounds = 12 };

int main(int argc, char** argv) {
    int provided, rank, size, sum = 0, one = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect(provided == MPI_THREAD_MULTIPLE, "the level is %d", provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int* data[kRounds];
    MPI_Request requests[kRounds];
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int round = 0; round < kRounds; ++round) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < 3; ++call) {
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            expect(sum == size, "round %d: sum %d", round, sum);
        }
        data[round] = malloc(kInts * sizeof(int));
        MPI_Request sent;
        int token = 0, theirs = -1;
        int* own = malloc(kInts * sizeof(int));
        for (int i = 0; i < kInts; ++i) own[i] = rank + i + round;
        MPI_Irecv(data[round], kInts, MPI_INT, from, 0, comm, &requests[round]);
        if (rank % 2 == 0) {
            // The other one sends when this communicator has been freed here.
            MPI_Isend(own, kInts, MPI_INT, to, 0, comm, &sent);
            MPI_Comm_free(&comm);
            MPI_Sendrecv(&token, 1, MPI_INT, from, 1, &theirs, 1, MPI_INT, to, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        } else {
            MPI_Sendrecv(&token, 1, MPI_INT, from, 1, &theirs, 1, MPI_INT, to, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            MPI_Isend(own, kInts, MPI_INT, to, 0, comm, &sent);
            MPI_Comm_free(&comm);
        }
        if (round % 2 == 0) {  // completes in there
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            expect(sum == size, "round %d: the world's sum %d", round, sum);
        }
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[round], MPI_STATUS_IGNORE);
        int wrong = 0;
        for (int i = 0; i < kInts; ++i) wrong += data[round][i] != from + i + round;
        expect(wrong == 0, "round %d: %d words are wrong", round, wrong);
        free(own);
        free(data[round]);
    }
    return finish();
}
