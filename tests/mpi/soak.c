// SPDX-License-Identifier: BSD-3-Clause
// Random collectives whose results are known beforehand, for so many seconds, on communicators that
// are made and freed again all the while.
//
// soak --seconds N [--seed N]
//
// Every rank derives the same sequence from the seed. Rank 0 prints one line at the end: calls,
// wrong results, the longest call in seconds and how many took longer than a second, of all ranks.
#include "support.h"

enum { kKinds = 17, kComms = 5, kCountMax = 6000, kStepsAgreed = 16, kStepsRenewed = 40 };
enum { kRanksMax = 1024 };
// Vector forms last.
enum {
    kBarrier,
    kBcast,
    kReduce,
    kAllreduce,
    kGather,
    kScatter,
    kAllgather,
    kAlltoall,
    kScan,
    kExscan,
    kReduceScatterBlock,
    kGatherv,
    kScatterv,
    kAllgatherv,
    kAlltoallv,
    kAlltoallw,
    kReduceScatter
};

typedef struct Tally {
    double longest;
    long long calls, stalls;
} Tally;

typedef struct Step {
    int kind, root, count;
    uint64_t key;
} Step;

static uint64_t value(uint64_t key, int rank, int i) {
    return mix(key + (uint64_t)rank * 100003 + (uint64_t)i);
}

static void put(uint64_t* to, uint64_t key, int rank, int count) {
    for (int i = 0; i < count; ++i) to[i] = value(key, rank, i);
}

static int holds(const uint64_t* data, uint64_t key, int rank, int count) {
    for (int i = 0; i < count; ++i) {
        if (data[i] != value(key, rank, i)) return 0;
    }
    return 1;
}

static int holds_all(const uint64_t* data, const Step* s, int size) {
    for (int rank = 0; rank < size; ++rank) {
        if (!holds(data + (size_t)rank * (size_t)s->count, s->key, rank, s->count)) return 0;
    }
    return 1;
}

// Of the first so many ranks, from an element on.
static int holds_sum(const uint64_t* data, const Step* s, int first, int ranks) {
    for (int i = 0; i < s->count; ++i) {
        uint64_t sum = 0;
        for (int rank = 0; rank < ranks; ++rank) sum += value(s->key, rank, first + i);
        if (data[i] != sum) return 0;
    }
    return 1;
}

// Of each rank the block for this one.
static int holds_exchanged(const uint64_t* data, const Step* s, const Group* g) {
    for (int from = 0; from < g->size; ++from) {
        const uint64_t* block = data + (size_t)from * (size_t)s->count;
        if (!holds(block, s->key, from * g->size + g->rank, s->count)) return 0;
    }
    return 1;
}

// ---- vector forms ------------------------------------------------------------------------------

// Of the block that `from` gives to `to`, in elements. Some are empty. Where a block is for all, or
// from the root, the other one counts nothing.
static int length(const Step* s, int from, int to) {
    if (s->kind == kGatherv || s->kind == kAllgatherv) to = 0;
    if (s->kind == kScatterv || s->kind == kReduceScatter) from = 0;
    const uint64_t drawn = mix(s->key + (uint64_t)from * 7919 + (uint64_t)to * 31);
    return drawn % 4 == 0 ? 0 : (int)(drawn / 4 % (uint64_t)(s->count + 1));
}

// A block for each rank, or of each, with gaps between them. Of every other call they are in order.
typedef struct Blocks {
    int counts[kRanksMax], offsets[kRanksMax], offsets_bytes[kRanksMax];
    MPI_Datatype types[kRanksMax];
} Blocks;

static void place_blocks(Blocks* b, const Step* s, const Group* g, int are_given) {
    int before = 0;
    for (int i = 0; i < g->size; ++i) {
        b->counts[i] = are_given ? length(s, g->rank, i) : length(s, i, g->rank);
        b->offsets[i] = (s->key % 2 ? g->size - 1 - i : i) * s->count;
        if (s->kind == kReduceScatter) b->offsets[i] = before;
        before += b->counts[i];
        b->offsets_bytes[i] = b->offsets[i] * (int)sizeof(uint64_t);
        b->types[i] = MPI_UINT64_T;
    }
}

// Whose block it is, as a rank of which values are made.
static int pair_of(const Group* g, int from, int to) { return from * g->size + to; }

static void put_blocks(uint64_t* to, const Blocks* b, const Step* s, const Group* g) {
    for (int i = 0; i < g->size; ++i)
        put(to + b->offsets[i], s->key, pair_of(g, g->rank, i), b->counts[i]);
}

static int holds_blocks(const uint64_t* data, const Blocks* b, const Step* s, const Group* g) {
    const int to = s->kind == kAlltoallv || s->kind == kAlltoallw ? g->rank : 0;
    for (int i = 0; i < g->size; ++i) {
        if (!holds(data + b->offsets[i], s->key, pair_of(g, i, to), b->counts[i])) return 0;
    }
    return 1;
}

static int holds_part_of_sum(const uint64_t* data, const Blocks* b, const Step* s, const Group* g) {
    for (int i = 0; i < b->counts[g->rank]; ++i) {
        uint64_t sum = 0;
        for (int rank = 0; rank < g->size; ++rank)
            sum += value(s->key, rank, b->offsets[g->rank] + i);
        if (data[i] != sum) return 0;
    }
    return 1;
}

static Blocks sent, received;

static void prepare_blocks(const Step* s, const Group* g, uint64_t* in) {
    place_blocks(&sent, s, g, 1);
    place_blocks(&received, s, g, 0);
    if (s->kind == kGatherv || s->kind == kAllgatherv) {
        put(in, s->key, pair_of(g, g->rank, 0), sent.counts[0]);
    } else if (s->kind == kReduceScatter) {
        put(in, s->key, g->rank, sent.offsets[g->size - 1] + sent.counts[g->size - 1]);
    } else {
        put_blocks(in, &sent, s, g);
    }
}

static void call_vector(const Step* s, const Group* g, const uint64_t* in, uint64_t* out) {
    const Blocks *from = &sent, *to = &received;
    switch (s->kind) {
        case kGatherv:
            MPI_Gatherv(in, from->counts[0], MPI_UINT64_T, out, to->counts, to->offsets,
                        MPI_UINT64_T, s->root, g->comm);
            break;
        case kScatterv:
            MPI_Scatterv(in, from->counts, from->offsets, MPI_UINT64_T, out, to->counts[0],
                         MPI_UINT64_T, s->root, g->comm);
            break;
        case kAllgatherv:
            MPI_Allgatherv(in, from->counts[0], MPI_UINT64_T, out, to->counts, to->offsets,
                           MPI_UINT64_T, g->comm);
            break;
        case kAlltoallv:
            MPI_Alltoallv(in, from->counts, from->offsets, MPI_UINT64_T, out, to->counts,
                          to->offsets, MPI_UINT64_T, g->comm);
            break;
        case kAlltoallw:
            MPI_Alltoallw(in, from->counts, from->offsets_bytes, from->types, out, to->counts,
                          to->offsets_bytes, to->types, g->comm);
            break;
        default:
            MPI_Reduce_scatter(in, out, from->counts, MPI_UINT64_T, MPI_SUM, g->comm);
    }
}

static int is_vector_right(const Step* s, const Group* g, const uint64_t* out) {
    switch (s->kind) {
        case kGatherv:
            return g->rank != s->root || holds_blocks(out, &received, s, g);
        case kScatterv:
            return holds(out, s->key, pair_of(g, s->root, g->rank), received.counts[0]);
        case kReduceScatter:
            return holds_part_of_sum(out, &sent, s, g);
        default:
            return holds_blocks(out, &received, s, g);
    }
}

// ---- one call ----------------------------------------------------------------------------------

static void prepare(const Step* s, const Group* g, uint64_t* in, uint64_t* out) {
    const int is_root = g->rank == s->root, n = s->count;
    if (s->kind >= kGatherv) {
        prepare_blocks(s, g, in);
        return;
    }
    put(in, s->key, g->rank, s->kind == kReduceScatterBlock ? n * g->size : n);
    if (s->kind == kBcast && is_root) memcpy(out, in, sizeof *in * (size_t)n);
    if (s->kind == kScatter && is_root) {
        for (int rank = 0; rank < g->size; ++rank)
            put(in + (size_t)rank * (size_t)n, s->key, rank, n);
    }
    for (int to = 0; s->kind == kAlltoall && to < g->size; ++to)
        put(in + (size_t)to * (size_t)n, s->key, pair_of(g, g->rank, to), n);
}

static void call(const Step* s, const Group* g, const uint64_t* in, uint64_t* out) {
    const int n = s->count;
    switch (s->kind) {
        case kBarrier:
            MPI_Barrier(g->comm);
            break;
        case kBcast:
            MPI_Bcast(out, n, MPI_UINT64_T, s->root, g->comm);
            break;
        case kReduce:
            MPI_Reduce(in, out, n, MPI_UINT64_T, MPI_SUM, s->root, g->comm);
            break;
        case kAllreduce:
            MPI_Allreduce(in, out, n, MPI_UINT64_T, MPI_SUM, g->comm);
            break;
        case kGather:
            MPI_Gather(in, n, MPI_UINT64_T, out, n, MPI_UINT64_T, s->root, g->comm);
            break;
        case kScatter:
            MPI_Scatter(in, n, MPI_UINT64_T, out, n, MPI_UINT64_T, s->root, g->comm);
            break;
        case kAllgather:
            MPI_Allgather(in, n, MPI_UINT64_T, out, n, MPI_UINT64_T, g->comm);
            break;
        case kAlltoall:
            MPI_Alltoall(in, n, MPI_UINT64_T, out, n, MPI_UINT64_T, g->comm);
            break;
        case kScan:
            MPI_Scan(in, out, n, MPI_UINT64_T, MPI_SUM, g->comm);
            break;
        case kExscan:
            MPI_Exscan(in, out, n, MPI_UINT64_T, MPI_SUM, g->comm);
            break;
        case kReduceScatterBlock:
            MPI_Reduce_scatter_block(in, out, n, MPI_UINT64_T, MPI_SUM, g->comm);
            break;
        default:
            call_vector(s, g, in, out);
    }
}

static int is_right(const Step* s, const Group* g, const uint64_t* out) {
    const int is_root = g->rank == s->root, n = s->count;
    switch (s->kind) {
        case kBarrier:
            return 1;
        case kBcast:
            return holds(out, s->key, s->root, n);
        case kReduce:
            return !is_root || holds_sum(out, s, 0, g->size);
        case kAllreduce:
            return holds_sum(out, s, 0, g->size);
        case kGather:
            return !is_root || holds_all(out, s, g->size);
        case kScatter:
            return holds(out, s->key, g->rank, n);
        case kAllgather:
            return holds_all(out, s, g->size);
        case kAlltoall:
            return holds_exchanged(out, s, g);
        case kScan:
            return holds_sum(out, s, 0, g->rank + 1);
        case kExscan:
            return g->rank == 0 || holds_sum(out, s, 0, g->rank);
        case kReduceScatterBlock:
            return holds_sum(out, s, g->rank * n, g->size);
        default:
            return is_vector_right(s, g, out);
    }
}

// What this rank received is right.
static int run(const Step* s, const Group* g, uint64_t* in, uint64_t* out, Tally* tally) {
    prepare(s, g, in, out);
    const double begin = MPI_Wtime();
    call(s, g, in, out);
    const double spent = MPI_Wtime() - begin;
    ++tally->calls;
    if (spent > tally->longest) tally->longest = spent;
    tally->stalls += spent > 1;
    return is_right(s, g, out);
}

static Group make_group(uint64_t* random) {
    MPI_Comm comm;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    switch (draw(random) % 4) {
        case 0:
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            return describe(comm, "dup");
        case 1:
            MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
            return describe(comm, "halves");
        case 2:
            MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
            return describe(comm, "reversed");
        default:
            MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &comm);
            return describe(comm, "all but first");
    }
}

static Step draw_step(uint64_t* random, const Group* g, int step) {
    static const uint64_t limits[] = {2, 16, 64, 600, kCountMax};
    Step s;
    s.kind = (int)(draw(random) % kKinds);
    const uint64_t root = draw(random), scale = draw(random) % 5;
    s.root = g->size > 0 ? (int)(root % (uint64_t)g->size) : 0;
    s.count = (int)(draw(random) % limits[scale]) + 1;
    s.key = mix(*random + (uint64_t)step);
    return s;
}

static const char* word(int argc, char** argv, const char* name) {
    for (int i = 1; i + 1 < argc; ++i) {
        if (!strcmp(argv[i], name)) return argv[i + 1];
    }
    return "1";
}

static void tell(const Tally* mine, int rank) {
    Tally all = *mine;
    long long failed = 0;
    MPI_Reduce(&mine->longest, &all.longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine->calls, &all.calls, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine->stalls, &all.stalls, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&checks_failed, &failed, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("soak: calls %lld wrong %lld longest %.3f stalls %lld\n", all.calls, failed,
               all.longest, all.stalls);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const double seconds = strtod(word(argc, argv, "--seconds"), NULL);
    const uint64_t seed = strtoull(word(argc, argv, "--seed"), NULL, 10);
    Group groups[kComms];
    groups[0] = describe(MPI_COMM_WORLD, "world");
    const int rank = groups[0].rank;
    if (groups[0].size > kRanksMax) MPI_Abort(MPI_COMM_WORLD, 3);
    uint64_t random = mix(seed);
    for (int i = 1; i < kComms; ++i) groups[i] = make_group(&random);
    const size_t room = sizeof(uint64_t) * kCountMax * (size_t)groups[0].size;
    uint64_t *in = malloc(room), *out = malloc(room);
    Tally tally = {0, 0, 0};
    if (rank == 0) printf("soak: seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    const double start = MPI_Wtime();
    for (int step = 0;; ++step) {
        if (step % kStepsAgreed == 0) {
            int over = MPI_Wtime() - start >= seconds;
            MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (over) break;
        }
        if (step % kStepsRenewed == kStepsRenewed - 1) {
            Group* old = &groups[1 + draw(&random) % (kComms - 1)];
            if (old->comm != MPI_COMM_NULL) MPI_Comm_free(&old->comm);
            *old = make_group(&random);
        }
        const Group* g = &groups[draw(&random) % kComms];
        // Drawn by those outside, too, with another size: nothing that follows depends on it.
        const Step s = draw_step(&random, g, step);
        if (g->comm == MPI_COMM_NULL) continue;
        expect(run(&s, g, in, out, &tally),
               "--seed %llu: step %d: collective %d, %d elements, root %d on %s",
               (unsigned long long)seed, step, s.kind, s.count, s.root, g->name);
    }
    tell(&tally, rank);
    for (int i = 1; i < kComms; ++i) {
        if (groups[i].comm != MPI_COMM_NULL) MPI_Comm_free(&groups[i].comm);
    }
    free(in);
    free(out);
    return finish();
}
