// SPDX-License-Identifier: BSD-3-Clause
// A mistake of one rank alone, under MPI_ERRORS_RETURN: the host MPI returns an error there, while
// the others go through with the call, and allreduces follow. Every result that comes without an
// error must be right, nobody waits for ever, and the program goes on to its end.
//
//   out_of_step gather|bcast|allgather|twice
//                 whose arguments are wrong: of a gather at the root, of a broadcast on a rank that
//                 receives, of an allgather on one rank, of two gathers at the root
//   out_of_step alike
//                 all ranks make the same mistakes, more than one between calls: no error follows
//
// Says "errors N": how many allreduces failed, on all ranks.
#include "support.h"

enum { kSums = 2 };  // each that fails takes half a second

static int rank, size, victim;

// Whether the call that may have failed here came back with an error.
static int mistake(const char* what) {
    int in[8] = {0}, out[512] = {0};
    const int wrong = rank == victim ? -1 : 1;
    if (!strcmp(what, "bcast")) return MPI_Bcast(in, wrong, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "allgather")) {
        return MPI_Allgather(in, wrong, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
    }
    return MPI_Gather(in, 1, MPI_INT, out, wrong, MPI_INT, victim, MPI_COMM_WORLD);
}

// How many failed.
static int sum_up(void) {
    int failures = 0;
    for (int turn = 0; turn < kSums; ++turn) {
        const int mine = 100 * turn + rank;
        int sum = -1;
        if (MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS) {
            ++failures;
            continue;
        }
        expect(sum == 100 * turn * size + size * (size - 1) / 2, "sum %d is %d", turn, sum);
    }
    return failures;
}

static int all_alike(void) {
    int in[8] = {0}, failures = 0;
    for (int turn = 0; turn < 20; ++turn) {
        for (int again = 0; again <= turn % 3; ++again) {
            expect(MPI_Bcast(in, -1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no error");
        }
        failures += sum_up();
    }
    return failures;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char* what = argc > 1 ? argv[1] : "gather";
    victim = !strcmp(what, "bcast") ? size - 1 : 0;
    for (int turn = 0; turn < 5; ++turn) MPI_Barrier(MPI_COMM_WORLD);
    int failures = 0;
    if (!strcmp(what, "alike")) {
        failures = all_alike();
    } else {
        for (int turn = 0; turn <= !strcmp(what, "twice"); ++turn) {
            const int failed = mistake(what) != MPI_SUCCESS;
            expect(failed || rank != victim, "no error");
        }
        failures = sum_up();
    }
    print_errors(failures);
    return finish();
}
