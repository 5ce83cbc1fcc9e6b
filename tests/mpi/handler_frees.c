// SPDX-License-Identifier: BSD-3-Clause
// Error handlers that free their communicator, and some that make another one at once, which mostly
// gets the same handle, and use it. All ranks make the same mistakes.
//
// handler_frees            arguments that no MPI takes
// handler_frees disagree   calls that differ between ranks, for TUTTI_CHECK=1
#include "support.h"

enum { kCalls = 5 };
static int handled, makes_another;
static MPI_Comm another = MPI_COMM_NULL;

static void use(MPI_Comm comm, const char* what) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int call = 0; call < kCalls; ++call) {
        int mine = rank + call, sum = 0, word = rank == call % size ? call : -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        expect(sum == size * (size - 1) / 2 + size * call, "%s: sum %d", what, sum);
        MPI_Bcast(&word, 1, MPI_INT, call % size, comm);
        expect(word == call, "%s: word %d", what, word);
    }
}

static void on_error(MPI_Comm* comm, int* code, ...) {
    (void)code;
    MPI_Comm mine = *comm;
    ++handled;
    MPI_Comm_free(&mine);
    if (!makes_another) return;
    MPI_Comm_dup(MPI_COMM_WORLD, &another);
    use(another, "in the handler");
}

static void mistake(int which, MPI_Comm comm, int rank, int size) {
    int in[64] = {0}, out[64] = {0}, counts[16], offsets[16] = {0};
    for (int i = 0; i < 16; ++i) counts[i] = -1;
    switch (which) {
        case 0:
            MPI_Bcast(in, -1, MPI_INT, 0, comm);
            break;
        case 1:
            MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, size, comm);
            break;
        case 2:
            MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm);
            break;
        case 3:
            MPI_Gather(in, -1, MPI_INT, out, -1, MPI_INT, 0, comm);
            break;
        case 4:
            MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, size, comm);
            break;
        case 5:
            MPI_Allgather(in, -1, MPI_INT, out, -1, MPI_INT, comm);
            break;
        case 6:
            MPI_Allgatherv(in, -1, MPI_INT, out, counts, offsets, MPI_INT, comm);
            break;
        default:
            if (rank == 0) MPI_Bcast(in, 2, MPI_INT, 0, comm);
            if (rank != 0) MPI_Reduce(in, out, 2, MPI_INT, MPI_SUM, 0, comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    const int first = argc > 1 ? 7 : 0, last = argc > 1 ? 7 : 6;
    int mistakes = 0;
    for (int round = 0; round < 4; ++round) {
        makes_another = round % 2;
        for (int which = first; which <= last; ++which) {
            MPI_Comm comm;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            MPI_Comm_set_errhandler(comm, handler);
            if (round < 2) use(comm, "before");  // else it is the first call
            ++mistakes;
            mistake(which, comm, rank, size);  // MPICH 5 returns MPI_SUCCESS after a handler
            expect(handled == mistakes, "mistake %d: %d handled, not %d", which, handled, mistakes);
            if (makes_another) {
                use(another, "after the handler");
                MPI_Comm_free(&another);
            }
            use(MPI_COMM_WORLD, "the world");
        }
    }
    MPI_Errhandler_free(&handler);
    return finish();
}
