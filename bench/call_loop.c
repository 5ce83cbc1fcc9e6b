// SPDX-License-Identifier: BSD-3-Clause
// The time of a program's loop over one collective: call_loop CALLS BYTES[,BYTES...] COLLECTIVE...
//
// For each collective (barrier bcast reduce allreduce gather scatter allgather
// reduce_scatter_block) and block of so many bytes it makes CALLS calls, one after the other, with
// doubles and roots in turn. CALLS may be a time, such as 200ms: so many calls as take that long.
// All calls use the same two buffers, and write one word in them between calls.
//
// It prints one line of JSON: microseconds a call of the slowest rank, over the first twentieth of
// the calls (first_us), over the rest (us), and the median of the other nineteen twentieths
// (median_us), and the number of wrong results. Plain MPI, to be run bare and through Tutti.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kParts = 20 };
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
    if (strcmp(kind, "reduce_scatter_block") == 0) {
        MPI_Reduce_scatter_block(b.all, b.mine, b.words, MPI_DOUBLE, MPI_SUM, comm);
    }
}

// What the call is to have left in the last word of what this rank receives, or -1: nothing.
static double expected(const char* kind, int root, double** place, Buffers b) {
    *place = &b.all[b.words - 1];
    if (strcmp(kind, "allreduce") == 0) return size * (size - 1) / 2.0;
    if (strcmp(kind, "reduce") == 0) return rank == root ? size * (size - 1) / 2.0 : -1;
    *place = &b.mine[b.words - 1];
    if (strcmp(kind, "reduce_scatter_block") == 0) return size * (size - 1) / 2.0;
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
    const int has_all = strcmp(kind, "reduce_scatter_block") == 0;
    if (has_all || strcmp(kind, "scatter") == 0) {
        const int word = has_all ? rank : root;
        for (int r = 0; r < size; ++r) b.all[(size_t)(r + 1) * (size_t)b.words - 1] = word;
    } else {
        b.mine[b.words - 1] = rank;
    }
    run_call(kind, root, b);
    return right >= 0 && *place != right;
}

static int by_size(const void* left, const void* right) {
    const double a = *(const double*)left, b = *(const double*)right;
    return (a > b) - (a < b);
}

// Known to rank 0: microseconds a call of the slowest rank, by parts of the calls.
static void slowest_us(const double* ends, int calls, double* us) {
    double mine[kParts];
    for (int part = 0; part < kParts; ++part) {
        const int made = (int)((long)calls * (part + 1) / kParts - (long)calls * part / kParts);
        mine[part] = (ends[part + 1] - ends[part]) * 1e6 / made;
    }
    MPI_Reduce(mine, us, kParts, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

// As many calls as take so long, agreed on. Its own calls open connections and touch the buffers.
static int calls_of(const char* kind, double seconds, Buffers b) {
    const int calls_max = 10000000;
    double calls = kParts;
    for (double took = 0; took < seconds / kParts && calls < calls_max;) {
        const double start = MPI_Wtime();
        for (int call = 0; call < (int)calls; ++call) call_once(kind, call % size, b);
        took = MPI_Wtime() - start;
        MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        const double wanted = calls * seconds / (took > 1e-9 ? took : 1e-9);
        calls = took < seconds / kParts && wanted > 4 * calls ? 4 * calls : wanted;
    }
    return calls < kParts ? kParts : calls > calls_max ? calls_max : (int)calls;
}

static void print_loop(const char* kind, long bytes, int calls, double* us, int wrong) {
    double rest = 0;
    for (int part = 1; part < kParts; ++part) rest += us[part] / (kParts - 1);
    qsort(us + 1, kParts - 1, sizeof *us, by_size);
    printf(
        "{\"collective\": \"%s\", \"bytes\": %ld, \"calls\": %d, \"first_us\": %.3f, "
        "\"us\": %.3f, \"median_us\": %.3f, \"wrong\": %d}\n",
        kind, bytes, calls, us[0], rest, us[kParts / 2], wrong);
    fflush(stdout);
}

// calls: 0, as many as take so many seconds.
static int time_loop(const char* kind, long bytes, int calls, double seconds) {
    Buffers b = {malloc((size_t)bytes), malloc((size_t)bytes * (size_t)size), (int)(bytes / 8)};
    memset(b.mine, 0, (size_t)bytes);
    memset(b.all, 0, (size_t)bytes * (size_t)size);
    if (calls == 0) calls = calls_of(kind, seconds, b);
    double ends[kParts + 1], us[kParts];
    int wrong = 0, all_wrong = 0, call = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    ends[0] = MPI_Wtime();
    for (int part = 0; part < kParts; ++part) {
        const int end = (int)((long)calls * (part + 1) / kParts);
        for (; call < end; ++call) wrong += call_once(kind, call % size, b);
        ends[part + 1] = MPI_Wtime();
    }
    slowest_us(ends, calls, us);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) print_loop(kind, bytes, calls, us, all_wrong);
    free(b.mine);
    free(b.all);
    return all_wrong;
}

int main(int argc, char** argv) {
    char* unit = NULL;
    const long number = argc > 3 ? strtol(argv[1], &unit, 10) : 0;
    const int is_time = unit && strcmp(unit, "ms") == 0;
    if (number < (is_time ? 1 : kParts)) {
        fprintf(stderr, "usage: call_loop CALLS|TIMEms BYTES[,BYTES...] COLLECTIVE...\n");
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
            wrong += time_loop(argv[arg], bytes / 8 * 8, is_time ? 0 : (int)number,
                               1e-3 * (double)number);
            if (strcmp(argv[arg], "barrier") == 0) break;
        }
    }
    MPI_Finalize();
    return wrong != 0;
}
