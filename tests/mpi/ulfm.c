// SPDX-License-Identifier: BSD-3-Clause
// A rank dies in the middle, and the others go on without it, as ULFM lets them: they are told
// MPI_ERR_PROC_FAILED, acknowledge, revoke, shrink and work on. The program's own error handler is
// called for its own calls only. Prints "no ULFM" where the MPI has none, or does not run with it.
#include "support.h"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum { kRounds = 40 };

static int handled = 0, returned = 0;

static void on_error(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    (void)code;
    ++handled;
}

static void leave(int signal) {
    (void)signal;
    _exit(0);
}

static int class_of(int code) {
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    returned += code != MPI_SUCCESS;
    return class;
}

// The collectives that Tutti takes over, and one that it does not; every result is checked.
static void work(MPI_Comm comm, int rounds) {
    int rank, size, all[64] = {0};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < rounds; ++round) {
        int value = rank + round, sum = 0;
        expect(MPI_Barrier(comm) == MPI_SUCCESS, "barrier in round %d", round);
        expect(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS &&
                   sum == size * (size - 1) / 2 + size * round,
               "allreduce in round %d: %d", round, sum);
        value = rank == round % size ? round : -1;
        expect(MPI_Bcast(&value, 1, MPI_INT, round % size, comm) == MPI_SUCCESS && value == round,
               "bcast in round %d: %d", round, value);
        expect(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm) == MPI_SUCCESS &&
                   all[size - 1] == size - 1,
               "allgather in round %d", round);
        expect(MPI_Scan(&round, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS &&
                   sum == round * (rank + 1),
               "scan in round %d", round);
    }
}

// Calls until the loss is noticed: some may yet succeed on ranks that need nothing of the dead one.
static void meet_the_loss(void) {
    int class = MPI_SUCCESS;
    for (int call = 0; call < 100000 && class == MPI_SUCCESS; ++call) {
        int one = 1, sum = 0;
        class = class_of(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    // Whoever noticed first revokes, and then the others are told that.
    expect(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED, "error class %d", class);
}

static void go_on(int size) {
    MPI_Comm rest = MPI_COMM_NULL;
    int acknowledged = 0, revoked = 0, left = 0, rank = 0;
    class_of(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acknowledged));
    expect(MPIX_Comm_revoke(MPI_COMM_WORLD) == MPI_SUCCESS, "revoke");
    expect(MPIX_Comm_is_revoked(MPI_COMM_WORLD, &revoked) == MPI_SUCCESS && revoked, "revoked");
    expect(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPIX_ERR_REVOKED, "barrier of a revoked one");
    expect(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) == MPI_SUCCESS, "shrink");
    MPI_Comm_size(rest, &left);
    MPI_Comm_rank(rest, &rank);
    expect(left == size - 1, "%d are left of %d", left, size);
    work(rest, kRounds);
    expect(handled == returned, "the handler was called %d times for %d errors", handled, returned);
    long long mine[2] = {checks_made, checks_failed}, all[2] = {0, 0};
    MPI_Allreduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, rest);
    if (rank == 0) printf(all[1] ? "failed %lld\n" : "ok %lld\n", all[1] ? all[1] : all[0]);
    fflush(stdout);
    MPI_Comm_free(&rest);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const bool* enabled = dlsym(RTLD_DEFAULT, "ompi_ftmpi_enabled");
    if (enabled == NULL || !*enabled) {
        if (rank == 0) printf("no ULFM\n");
        MPI_Finalize();
        return 0;
    }
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    work(MPI_COMM_WORLD, kRounds);
    if (rank == size - 1) raise(SIGKILL);
    meet_the_loss();
    go_on(size);
    // Open MPI 5.0.11 by itself does not always come to its end after a failure (4 of 30 runs);
    // what is tested here is over, and a report is written before that.
    signal(SIGALRM, leave);
    alarm(5);
    MPI_Finalize();
    return checks_failed != 0;
}

#else

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("no ULFM\n");
    MPI_Finalize();
    return 0;
}

#endif
