// SPDX-License-Identifier: BSD-3-Clause
// How long collectives take: lab_bench SECONDS [apart | late=RANK:MS] COLLECTIVE:BYTES...
//
// Plain MPI, so that the same program runs under any MPI, bare and through Tutti. A figure is the
// time of one call: calls are made back to back in batches that begin behind a barrier, the root
// goes round, buffers alternate; from the first rank's beginning to the last one's end. How many
// calls and batches there are is chosen by rank 0 from calls that do not count, so that a cell
// takes about SECONDS. Results are checked when all are done. Rank 0 prints one line of JSON for
// each cell.
//
// With 'apart' calls are made one at a time, each behind a barrier: what a program waits that calls
// now and then; a root does not run ahead. With late=RANK:MS too, that rank sleeps so long before
// each of them, it is never the root, and the slowest of the other ranks counts.
//
// Collectives and BYTES are those of collective_cell.h; blocks of vector forms are nearly even.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collective_cell.h"

enum { kSets = 2, kBatchesMin = 2, kBatchesMax = 40, kCallsMax = 1000, kPoison = 0xff };
// A batch of short calls lasts at least this long, so that leaving the barrier at different
// moments (a few milliseconds) does not show.
static const double kBatchSeconds = 0.05;

struct late {
    int rank;  // -1: nobody
    double ms;
};

struct cell {
    enum collective collective;
    int words;  // of 8 bytes
    int rank, ranks;
    struct late late;
    int is_apart;  // one call at a time
    struct layout layout;
    double* send[kSets];
    double* recv[kSets];
};

static int usage(const char* wrong) {
    fprintf(stderr,
            "lab_bench: %s; usage: lab_bench SECONDS [apart | late=RANK:MS] COLLECTIVE:BYTES...\n",
            wrong);
    return 2;
}

// Seconds. All hosts of a lab share one clock; that of MPI_Wtime may begin with the process.
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int parse_late(const char* text, struct late* late) {
    char end = 0;
    return sscanf(text, "late=%d:%lf%c", &late->rank, &late->ms, &end) == 2 && late->rank >= 0 &&
           late->ms >= 0 && late->ms <= 10000;
}

// What word `i` of the block that `giver` has for `taker` holds in a batch: whole numbers, whose
// sums are exact. With fewer than 2,640 ranks no two blocks have the same one there.
static double value(int giver, int taker, int i, int batch, int set) {
    return 3.0 * (giver + 1) + 7919.0 * taker + i % 1021 + 7.0 * (batch % 1000) + set;
}

// Whose word of index `i` is the mean of those of the givers from `first` to `last`, times their
// number: givers' words differ by 3 from one to the next.
static double sum_of_values(int first, int last, int taker, int i, int batch, int set) {
    const double ends = value(first, taker, i, batch, set) + value(last, taker, i, batch, set);
    return (last - first + 1) * ends / 2;
}

static int root_of(const struct cell* cell, int batch, int call) {
    const int root = (batch + call) % cell->ranks;
    return root == cell->late.rank ? (root + 1) % cell->ranks : root;
}

// Whether `rank` is the root of one of the batch's calls on this set.
static int is_root(const struct cell* cell, int batch, int calls, int set) {
    for (int call = set; call < calls; call += kSets) {
        if (root_of(cell, batch, call) == cell->rank) return 1;
    }
    return 0;
}

// The words of block `index` of what this rank sends, or as a root of a broadcast has. What comes
// from a root is the same from each, since the last of a set's roots is not known.
static void fill_block(const struct cell* cell, double* block, int words, int index, int batch,
                       int set) {
    const struct collective_facts* facts = &kFacts[cell->collective];
    const int giver = facts->from == ROOT ? 0 : cell->rank;
    const int taker = facts->send == ALL ? index : 0;
    for (int i = 0; i < words; ++i) block[i] = value(giver, taker, i, batch, set);
}

static void prepare(struct cell* cell, int batch, int calls) {
    const struct blocks *send = &cell->layout.send, *recv = &cell->layout.recv;
    const int has_root = kFacts[cell->collective].from == ROOT;
    for (int set = 0; set < kSets && set < calls; ++set) {
        memset(cell->recv[set], kPoison, recv->total * sizeof(double));
        // The first root of a broadcast's set hands the data on to all later ones.
        if (cell->collective == BCAST && root_of(cell, batch, set) == cell->rank) {
            fill_block(cell, cell->recv[set], cell->words, 0, batch, set);
        }
        if (has_root && !is_root(cell, batch, calls, set)) continue;
        for (int i = 0; i < send->count; ++i) {
            fill_block(cell, cell->send[set] + send->at[i], send->words[i], i, batch, set);
        }
    }
}

static void make_call(struct cell* cell, int batch, int call) {
    const int set = call % kSets;
    call_collective(&cell->layout, cell->send[set], cell->recv[set], MPI_SUM,
                    root_of(cell, batch, call));
}

// In block `index` of what was received.
static long wrong_words(const struct cell* cell, int index, int batch, int set) {
    const struct collective_facts* facts = &kFacts[cell->collective];
    const struct blocks* recv = &cell->layout.recv;
    const double* block = cell->recv[set] + recv->at[index];
    const int taker = facts->send == ALL ? cell->rank : 0;
    int first = 0, last = 0;  // of those whose blocks it is made of
    if (facts->from == IN_TURN) first = last = index;
    if (facts->from == EVERYBODY) last = cell->ranks - 1;
    if (facts->from == UP_TO_OWN) last = cell->rank;
    if (facts->from == BELOW_OWN) last = cell->rank - 1;
    long wrong = 0;
    for (int i = 0; last >= 0 && i < recv->words[index]; ++i) {
        wrong += block[i] != sum_of_values(first, last, taker, i, batch, set);
    }
    return wrong;
}

static long check_set(const struct cell* cell, int batch, int calls, int set) {
    if (kFacts[cell->collective].is_root_s && !is_root(cell, batch, calls, set)) return 0;
    long wrong = 0;
    for (int index = 0; index < cell->layout.recv.count; ++index) {
        wrong += wrong_words(cell, index, batch, set);
    }
    return wrong;
}

// Seconds a call on the slowest rank, known to rank 0; adds what was wrong here.
static double time_batch(struct cell* cell, int batch, int calls, long* wrong) {
    prepare(cell, batch, calls);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    const int is_late = cell->rank == cell->late.rank;
    if (is_late) usleep((useconds_t)(1e3 * cell->late.ms));
    for (int call = 0; call < calls; ++call) make_call(cell, batch, call);
    // From the first to begin until the last is done: who leaves the barrier late, since others
    // fill the links already, gains nothing by it. Beside one short call the barrier's own spread
    // would show: there each rank's own time counts.
    const double own_begin = cell->is_apart ? begin : 0;
    const double mine[2] = {own_begin - begin, (is_late ? begin : now()) - own_begin};
    // Who is done and checks keeps a processor from those who are not.
    MPI_Barrier(MPI_COMM_WORLD);
    for (int set = 0; set < kSets && set < calls; ++set) {
        *wrong += check_set(cell, batch, calls, set);
    }
    double all[2] = {0, 0};
    MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return (all[1] + all[0]) / calls;
}

static int by_size(const void* left, const void* right) {
    const double a = *(const double*)left, b = *(const double*)right;
    return (a > b) - (a < b);
}

static void print_cell(const struct cell* cell, double* times, int batches, int calls, long wrong) {
    qsort(times, (size_t)batches, sizeof(double), by_size);
    const double middle = (times[batches / 2] + times[(batches - 1) / 2]) / 2;
    printf(
        "{\"collective\": \"%s\", \"bytes\": %ld, \"ranks\": %d, \"calls\": %d, \"batches\": "
        "%d, \"median_ms\": %.6f, \"min_ms\": %.6f, \"max_ms\": %.6f, \"wrong\": %ld}\n",
        kFacts[cell->collective].name, 8L * cell->words, cell->ranks, calls, batches, 1e3 * middle,
        1e3 * times[0], 1e3 * times[batches - 1], wrong);
    fflush(stdout);
}

static int clamp(double wanted, int low, int high) {
    return wanted < low ? low : wanted > high ? high : (int)wanted;
}

// Calls in a batch, agreed on: so many as last `batch_seconds`, if a call takes `estimate`.
static int agree_on_calls(const struct cell* cell, double batch_seconds, double estimate) {
    const int calls_max = cell->is_apart ? 1 : kCallsMax;
    int calls = clamp(batch_seconds / estimate + 0.5, 1, calls_max);
    MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return calls;
}

static void run_cell(struct cell* cell, double seconds) {
    long wrong = 0, all_wrong = 0;
    double times[kBatchesMax];
    // The first call pays for what the MPI prepares for it, so a few more say how long it takes.
    double estimate = time_batch(cell, 0, 1, &wrong);
    int calls = agree_on_calls(cell, kBatchSeconds / 4, estimate);
    if (calls > 1) estimate = time_batch(cell, 0, calls, &wrong);
    calls = agree_on_calls(cell, kBatchSeconds, estimate);
    const double batch_seconds =
        estimate * calls + (cell->late.rank < 0 ? 0 : 1e-3 * cell->late.ms);
    int batches = clamp(seconds / batch_seconds, kBatchesMin, kBatchesMax);
    MPI_Bcast(&batches, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int batch = 0; batch < batches; ++batch) {
        times[batch] = time_batch(cell, batch + 1, calls, &wrong);
    }
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (cell->rank == 0) print_cell(cell, times, batches, calls, all_wrong);
}

static void open_cell(struct cell* cell) {
    MPI_Comm_rank(MPI_COMM_WORLD, &cell->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &cell->ranks);
    const int is_open =
        open_layout(&cell->layout, cell->collective, cell->words, cell->rank, cell->ranks, 1);
    for (int set = 0; set < kSets; ++set) {
        cell->send[set] = is_open ? malloc(cell->layout.send.total * sizeof(double) + 8) : NULL;
        cell->recv[set] = is_open ? malloc(cell->layout.recv.total * sizeof(double) + 8) : NULL;
        if (!cell->send[set] || !cell->recv[set]) {
            fprintf(stderr, "lab_bench: no memory, or blocks too long for an int\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void close_cell(struct cell* cell) {
    close_layout(&cell->layout);
    for (int set = 0; set < kSets; ++set) {
        free(cell->send[set]);
        free(cell->recv[set]);
    }
}

// Opens the connections that an MPI makes when they are first needed, and the teams that Tutti
// makes after the first calls: every rank is root once.
static void warm_up(struct cell cell) {
    cell.words = cell.collective == BARRIER ? 0 : 1;
    open_cell(&cell);
    for (int batch = 0; batch < cell.ranks; ++batch) {
        prepare(&cell, batch, 1);
        make_call(&cell, batch, 0);
    }
    close_cell(&cell);
}

int main(int count, char** words) {
    if (count < 3) return usage("too few arguments");
    const double seconds = atof(words[1]);
    if (!(seconds > 0)) return usage("SECONDS is a number above 0");
    int warmed[COLLECTIVES] = {0};
    struct cell cell;
    struct late late = {-1, 0};
    const int is_late = parse_late(words[2], &late);
    if (!is_late) late.rank = -1;
    const int is_apart = is_late || strcmp(words[2], "apart") == 0;
    const int first = is_apart ? 3 : 2;
    for (int i = first; i < count; ++i) {
        if (!parse_cell(words[i], &cell.collective, &cell.words))
            return usage("bad COLLECTIVE:BYTES or late=RANK:MS");
    }
    MPI_Init(&count, &words);
    cell.late = late;
    cell.is_apart = is_apart;
    for (int i = first; i < count; ++i) {
        if (!parse_cell(words[i], &cell.collective, &cell.words)) MPI_Abort(MPI_COMM_WORLD, 2);
        if (!warmed[cell.collective]++) warm_up(cell);
        open_cell(&cell);
        run_cell(&cell, seconds);
        close_cell(&cell);
    }
    MPI_Finalize();
    return 0;
}
