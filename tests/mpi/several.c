// SPDX-License-Identifier: BSD-3-Clause
// Collectives on overlapping communicators in a random order, each result checked by itself: no
// rank waits anywhere but in these calls.
//
// several [--seed N] --seconds N [--mark FILE]
//
// Rank 0 makes FILE once it is well under way, and says when it is over.
#include "support.h"

enum { kStepsAgreed = 16, kStepsBeforeMark = 160, kCountMax = 5000 };

static long value(uint64_t key, int rank, int index) {
    return (long)(mix(key + (uint64_t)rank * 1000003 + (uint64_t)index) % 1000);
}

static void fill_values(long* data, int count, uint64_t key, int rank) {
    for (int i = 0; i < count; ++i) data[i] = value(key, rank, i);
}

static int has_values(const long* data, int count, uint64_t key, int rank) {
    for (int i = 0; i < count; ++i) {
        if (data[i] != value(key, rank, i)) return 0;
    }
    return 1;
}

static int has_sums(const long* data, int count, uint64_t key, int ranks) {
    for (int i = 0; i < count; ++i) {
        long sum = 0;
        for (int rank = 0; rank < ranks; ++rank) sum += value(key, rank, i);
        if (data[i] != sum) return 0;
    }
    return 1;
}

static void try_step(const Group* g, uint64_t key, int step, long* in, long* out) {
    uint64_t random = key;
    const int kind = (int)(draw(&random) % 4), root = (int)(draw(&random) % (uint64_t)g->size);
    const int limit = draw(&random) % 4 == 0 ? kCountMax : 50;
    const int count = (int)(draw(&random) % (uint64_t)limit);
    int is_right = 1;
    fill_values(in, count, key, g->rank);
    if (kind == 0) {
        MPI_Barrier(g->comm);
    } else if (kind == 1) {
        MPI_Bcast(in, count, MPI_LONG, root, g->comm);
        is_right = has_values(in, count, key, root);
    } else if (kind == 2) {
        MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, g->comm);
        is_right = has_sums(out, count, key, g->size);
    } else {
        MPI_Allgather(in, count, MPI_LONG, out, count, MPI_LONG, g->comm);
        for (int rank = 0; rank < g->size; ++rank) {
            is_right = is_right && has_values(out + (size_t)rank * (size_t)count, count, key, rank);
        }
    }
    expect(is_right, "step %d: kind %d of %d on %s is wrong", step, kind, count, g->name);
}

static const char* word(int argc, char** argv, const char* name, const char* fallback) {
    for (int i = 1; i + 1 < argc; ++i) {
        if (!strcmp(argv[i], name)) return argv[i + 1];
    }
    return fallback;
}

static int goes_on(int step, double end) {
    if (step % kStepsAgreed != 0) return 1;
    int more = MPI_Wtime() < end;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    Group groups[kGroupsMax];
    const int group_count = make_groups(groups);
    const uint64_t seed = strtoull(word(argc, argv, "--seed", "1"), NULL, 10);
    const double end = MPI_Wtime() + atof(word(argc, argv, "--seconds", "1"));
    const char* const mark = word(argc, argv, "--mark", NULL);
    long* const in = malloc(sizeof(long) * kCountMax);
    long* const out = malloc(sizeof(long) * kCountMax * (size_t)groups[0].size);
    if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 3);
    for (int step = 0; goes_on(step, end); ++step) {
        if (step == kStepsBeforeMark && groups[0].rank == 0 && mark) {
            FILE* file = fopen(mark, "w");
            expect(file != NULL, "cannot write %s", mark);
            if (file) fclose(file);
        }
        const uint64_t key = mix(seed ^ mix((uint64_t)step));
        const Group* g = &groups[key % (uint64_t)group_count];
        if (g->comm != MPI_COMM_NULL) try_step(g, key, step, in, out);
    }
    // Who is in the second one has left nobody behind in the first.
    for (int i = 0; i < 2 * group_count; ++i) {
        const Group* g = &groups[i / 2];
        if (g->comm != MPI_COMM_NULL) MPI_Barrier(g->comm);
    }
    free(out);
    free(in);
    free_groups(groups, group_count);
    return finish();
}
