// SPDX-License-Identifier: BSD-3-Clause
// What a program's loop of one collective takes, and how much of that at its beginning: call_loop
// CALLS BYTES[,BYTES...] COLLECTIVE...
//
// For each collective (barrier bcast reduce allreduce gather scatter allgather) and block of so
// many bytes it makes CALLS calls, one after the other, with doubles and roots in turn, and prints
// one line of JSON: microseconds a call of the slowest rank, over the first twentieth of the calls
// and over the rest, and the number of wrong results. Plain MPI, to be run bare and through Tutti:
// what tuning while a program runs (TUTTI_TUNE=live) costs at first, and what it brings.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

typedef struct {
    double *mine, *all;
    int words;
} Buffers;

static void run_call(const char* kind, int root, Buffers b) {
    const MPI_Comm comm = MPI_COMM_WORLD;
    if (strcmp(kind, "barrier") == 0) MPI_Barrier(comm);
    if (strcmp(kind, "bcast") == 0) MPI_Bcast(b.mine, b.words, MPI_DOUBLE, root, comm);
    if (strcmp(kind, "reduce") == 0) {
        MPI_Reduce(b.mine, b.all, b.words, MPI_DOUBLE, MPI_SUM, root, comm);
    }
    if (strcmp(kind, "allreduce") == 0) {
        MPI_Allreduce(b.mine, b.all, b.words, MPI_DOUBLE, MPI_SUM, comm);
    }
    if (strcmp(kind, "gather") == 0) {
        MPI_Gather(b.mine, b.words, MPI_DOUBLE, b.all, b.words, MPI_DOUBLE, root, comm);
    }
    if (strcmp(kind, "scatter") == 0) {
        MPI_Scatter(b.all, b.words, MPI_DOUBLE, b.mine, b.words, MPI_DOUBLE, root, comm);
    }
    if (strcmp(kind, "allgather") == 0) {
        MPI_Allgather(b.mine, b.words, MPI_DOUBLE, b.all, b.words, MPI_DOUBLE, comm);
    }
}

// What the call is to have left in the last word of what this rank receives, or -1: nothing.
static double expected(const char* kind, int root, double** place, Buffers b) {
    *place = &b.all[b.words - 1];
    if (strcmp(kind, "allreduce") == 0) return size * (size - 1) / 2.0;
    if (strcmp(kind, "reduce") == 0) return rank == root ? size * (size - 1) / 2.0 : -1;
    *place = &b.mine[b.words - 1];
    if (strcmp(kind, "bcast") == 0) return root;
    if (strcmp(kind, "scatter") == 0) return root;
    *place = &b.all[(size_t)size * (size_t)b.words - 1];
    if (strcmp(kind, "allgather") == 0) return size - 1;
    if (strcmp(kind, "gather") == 0) return rank == root ? size - 1 : -1;
    return -1;
}

static int call_once(const char* kind, int root, Buffers b) {
    double* place;
    const double right = expected(kind, root, &place, b);
    if (right >= 0) *place = -1;
    if (strcmp(kind, "scatter") == 0) {
        for (int r = 0; r < size; ++r) b.all[(size_t)(r + 1) * (size_t)b.words - 1] = root;
    } else {
        b.mine[b.words - 1] = rank;
    }
    run_call(kind, root, b);
    return right >= 0 && *place != right;
}

static double slowest_us(double seconds, int calls) {
    double mine = seconds * 1e6 / calls, most = 0;
    MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most;
}

static int time_loop(const char* kind, long bytes, int calls) {
    Buffers b = {malloc((size_t)bytes), malloc((size_t)bytes * (size_t)size), (int)(bytes / 8)};
    memset(b.mine, 0, (size_t)bytes);
    memset(b.all, 0, (size_t)bytes * (size_t)size);
    const int first = calls / 20;
    double times[3] = {0, 0, 0};
    int wrong = 0, all_wrong = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    times[0] = MPI_Wtime();
    for (int call = 0; call < calls; ++call) {
        if (call == first) times[1] = MPI_Wtime();
        wrong += call_once(kind, call % size, b);
    }
    times[2] = MPI_Wtime();
    const double beginning = slowest_us(times[1] - times[0], first);
    const double rest = slowest_us(times[2] - times[1], calls - first);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"collective\": \"%s\", \"bytes\": %ld, \"calls\": %d, \"first_us\": %.3f, "
               "\"us\": %.3f, \"wrong\": %d}\n",
               kind, bytes, calls, beginning, rest, all_wrong);
        fflush(stdout);
    }
    free(b.mine);
    free(b.all);
    return all_wrong;
}

int main(int argc, char** argv) {
    const int calls = argc > 3 ? atoi(argv[1]) : 0;
    if (calls < 20) {
        fprintf(stderr, "usage: call_loop CALLS BYTES[,BYTES...] COLLECTIVE...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int wrong = 0;
    for (int arg = 3; arg < argc; ++arg) {
        char* list = argv[2];
        for (char* end = list; *list != '\0'; list = *end == ',' ? end + 1 : end) {
            const long bytes = strtol(list, &end, 10);
            if (bytes < 8 || end == list) return 2;
            wrong += time_loop(argv[arg], bytes / 8 * 8, calls);
            if (strcmp(argv[arg], "barrier") == 0) break;
        }
    }
    MPI_Finalize();
    return wrong != 0;
}
