// SPDX-License-Identifier: BSD-3-Clause
// NAS IS, from its specification (RNR-94-007, section 2.7): nas_is S|W|A [MICROSECONDS]
//
// Integer keys are ranked ten times: each rank counts its keys by bucket, all add the counts
// (MPI_Allreduce), each rank gets the keys of its buckets (MPI_Alltoall, MPI_Alltoallv) and counts
// them by value. Verified by the ranks of five keys in each iteration and by the sorted sequence at
// the end. MICROSECONDS: in each iteration one rank, in turn, comes so late. Plain MPI, to be run
// bare and through Tutti.
#include "nas.h"

enum { kIterations = 10, kProbes = 5, kBucketsLog = 9, kBuckets = 1 << kBucketsLog };

typedef struct {
    char name;
    int keys_log, key_log;  // numbers of keys and of their values
    // Of the keys at these places the ranks in iteration i are known: the first `rising` rise with
    // i, the others fall.
    long place[kProbes], known[kProbes];
    int rising, rising_from, falling_from;
} Class;

static const Class kClasses[] = {
    {'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 3, 0, 0},
    {'W', 20, 16, {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018}, 2, -2, 0},
    {'A', 23, 19, {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264}, 3, -1, 1},
};

static int rank, size;

typedef struct {
    long count, before;  // keys of this rank, and of the ranks before it
    int* keys;
    int values;
    int *sorted, *received;  // by bucket; of this rank's buckets
    int room;
} Keys;

static void make_keys(const Class* c, Keys* k) {
    const long all = 1L << c->keys_log;
    k->values = 1 << c->key_log;
    k->before = all * rank / size;
    k->count = all * (rank + 1) / size - k->before;
    k->room = (int)(all < 4 * k->count + 1024 ? all : 4 * k->count + 1024);
    k->keys = malloc((size_t)k->count * sizeof(int));
    k->sorted = malloc((size_t)k->count * sizeof(int));
    k->received = malloc((size_t)k->room * sizeof(int));
    uint64_t x = nas_skip(kNasSeed, 4 * (uint64_t)k->before);
    for (long i = 0; i < k->count; ++i) {
        double sum = nas_next(&x);
        for (int more = 0; more < 3; ++more) sum += nas_next(&x);
        k->keys[i] = (int)(sum * (k->values / 4));
    }
}

static void set_key(Keys* k, long place, int value) {
    if (place >= k->before && place < k->before + k->count) k->keys[place - k->before] = value;
}

// The keys of consecutive buckets go to one rank, so that each gets about as many; first[r]: its
// first bucket.
static void share_buckets(const int* counts, long all, int* first) {
    long sum = 0;
    int owner = 0;
    first[0] = 0;
    for (int b = 0; b < kBuckets; ++b) {
        while (owner + 1 < size && sum >= all * (owner + 1) / size) first[++owner] = b;
        sum += counts[b];
    }
    while (owner < size) first[++owner] = kBuckets;
}

// Moves each key to the rank of its bucket. The number of keys there is now, or -1: no room.
static int exchange(Keys* k, int shift, long all, const int* totals, int* first) {
    int mine[kBuckets] = {0}, begin[kBuckets], *work = malloc((size_t)size * 4 * sizeof(int));
    int *to = work, *to_at = work + size, *from = work + 2 * size, *from_at = work + 3 * size;
    for (long i = 0; i < k->count; ++i) ++mine[k->keys[i] >> shift];
    for (int b = 0, at = 0; b < kBuckets; at += mine[b++]) begin[b] = at;
    share_buckets(totals, all, first);
    for (int r = 0; r < size; ++r) {
        to[r] = 0;
        for (int b = first[r]; b < first[r + 1]; ++b) to[r] += mine[b];
        to_at[r] = r == 0 ? 0 : to_at[r - 1] + to[r - 1];
    }
    for (long i = 0; i < k->count; ++i) k->sorted[begin[k->keys[i] >> shift]++] = k->keys[i];
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
    int sum = 0;
    for (int r = 0; r < size; ++r) {
        from_at[r] = sum;
        sum += from[r];
    }
    if (sum > k->room) {
        fprintf(stderr, "nas_is: rank %d has no room for %d keys\n", rank, sum);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Alltoallv(k->sorted, to, to_at, MPI_INT, k->received, from, from_at, MPI_INT,
                  MPI_COMM_WORLD);
    free(work);
    return sum;
}

// below[v - low]: so many keys of this rank's are below v. Returns how many keys it has.
static int count_values(const Keys* k, int received, int low, int high, int* below) {
    memset(below, 0, (size_t)(high - low + 1) * sizeof(int));
    for (int i = 0; i < received; ++i) ++below[k->received[i] - low + 1];
    for (int v = 1; v <= high - low; ++v) below[v] += below[v - 1];
    return received;
}

// One iteration. What this rank knows of the probes that are wrong.
static int rank_keys(const Class* c, Keys* k, int iteration, int* below, int* received_now) {
    const int shift = c->key_log - kBucketsLog;
    const long all = 1L << c->keys_log;
    set_key(k, iteration, iteration);
    set_key(k, iteration + kIterations, k->values - iteration);
    int counts[kBuckets + kProbes] = {0}, totals[kBuckets + kProbes];
    for (long i = 0; i < k->count; ++i) ++counts[k->keys[i] >> shift];
    for (int p = 0; p < kProbes; ++p) {
        const long at = c->place[p] - k->before;
        if (at >= 0 && at < k->count) counts[kBuckets + p] = k->keys[at];
    }
    MPI_Allreduce(counts, totals, kBuckets + kProbes, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int* first = malloc((size_t)(size + 1) * sizeof(int));
    *received_now = exchange(k, shift, all, totals, first);
    const int low = first[rank] << shift, high = first[rank + 1] << shift;
    count_values(k, *received_now, low, high, below);
    long lesser = 0;
    for (int b = 0; b < first[rank]; ++b) lesser += totals[b];
    int wrong = 0;
    for (int p = 0; p < kProbes; ++p) {
        const int value = totals[kBuckets + p];
        if (value < low || value >= high) continue;
        const long known = p < c->rising ? c->known[p] + iteration + c->rising_from
                                         : c->known[p] - iteration + c->falling_from;
        wrong += lesser + below[value - low] != known;
    }
    free(first);
    return wrong;
}

static int by_value(const void* a, const void* b) {
    const int x = *(const int*)a, y = *(const int*)b;
    return (x > y) - (x < y);
}

// All keys are there, and those of the ranks before are no greater.
static int is_sorted(const Class* c, Keys* k, int received) {
    qsort(k->received, (size_t)received, sizeof(int), by_value);
    int greatest = received > 0 ? k->received[received - 1] : -1, before = -1;
    MPI_Exscan(&greatest, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    long mine = received, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    const int follows = rank == 0 || received == 0 || before <= k->received[0];
    return follows && all == 1L << c->keys_log;
}

int main(int argc, char** argv) {
    char name;
    long late_us;
    nas_arguments(argc, argv, "nas_is", &name, &late_us);
    const Class* c = kClasses;
    while (c->name != name) ++c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    Keys k;
    make_keys(c, &k);
    int* below = malloc(((size_t)k.values + 1) * sizeof(int));
    int wrong = 0, received = 0;
    rank_keys(c, &k, 1, below, &received);  // untimed, as the specification allows
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int iteration = 1; iteration <= kIterations; ++iteration) {
        nas_come_late(iteration, rank, size, late_us);
        wrong += rank_keys(c, &k, iteration, below, &received);
    }
    const double seconds = MPI_Wtime() - begin;
    const int is_right = is_sorted(c, &k, received) && wrong == 0;
    free(below);
    free(k.keys);
    free(k.sorted);
    free(k.received);
    return nas_report("IS", name, size, late_us, seconds, is_right);
}
