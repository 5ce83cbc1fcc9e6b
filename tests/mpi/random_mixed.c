// SPDX-License-Identifier: BSD-3-Clause
// A thousand random collectives on overlapping communicators from several threads; each result is
// compared, byte by byte, with the host MPI's own. A failure prints the seed that replays it.
//
// random_mixed [--seed N] [--calls N] [--threads N]
// random_mixed [--seed N] --seconds N [--mark FILE]
//
// With seconds one thread goes on for so long, rank 0 makes FILE once it is well under way, and no
// rank's memory may grow in the second half (by little, in less than a minute).
//
// Every rank derives the same sequence from (seed, thread, step). What one rank may decide alone
// (address, alignment) is drawn from its own stream.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include "support.h"

enum { kThreadsMax = 8, kKinds = 17, kBlockMax = 40000, kRanksMax = 64 };
enum { kStepsAgreed = 16, kStepsBeforeMark = 160 };
enum { kOver, kFirstHalf, kSecondHalf };
// In 50 s the memory of a rank grew by 24 to 104 KB. In 4 s it still grows, by up to 2,700 KB, with
// each shape of a call that is seen for the first time; where others keep the processors, by 4,600.
enum { kSecondsSteady = 60, kGrowthKilobytesMax = 1 << 10, kGrowthKilobytesMaxEarly = 6 << 10 };
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

static const char* const kNames[kKinds] = {"Barrier",
                                           "Bcast",
                                           "Reduce",
                                           "Allreduce",
                                           "Gather",
                                           "Scatter",
                                           "Allgather",
                                           "Alltoall",
                                           "Scan",
                                           "Exscan",
                                           "Reduce_scatter_block",
                                           "Gatherv",
                                           "Scatterv",
                                           "Allgatherv",
                                           "Alltoallv",
                                           "Alltoallw",
                                           "Reduce_scatter"};

typedef int Bcast(void*, int, MPI_Datatype, int, MPI_Comm);
typedef int Reduce(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
typedef int Allreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int Rooted(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
typedef int Unrooted(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
typedef int Gatherv(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                    int, MPI_Comm);
typedef int Scatterv(const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype,
                     int, MPI_Comm);
typedef int Allgatherv(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                       MPI_Comm);
typedef int Alltoallv(const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                      const int*, MPI_Datatype, MPI_Comm);
typedef int Alltoallw(const void*, const int*, const int*, const MPI_Datatype*, void*, const int*,
                      const int*, const MPI_Datatype*, MPI_Comm);
typedef int ReduceScatter(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm);

// One set of the calls: MPI's as the program sees them, or the host library's own.
typedef struct Calls {
    int (*barrier)(MPI_Comm);
    Bcast* bcast;
    Reduce* reduce;
    Allreduce* allreduce;
    Rooted *gather, *scatter;
    Unrooted *allgather, *alltoall;
    Allreduce *scan, *exscan, *reduce_scatter_block;
    Gatherv* gatherv;
    Scatterv* scatterv;
    Allgatherv* allgatherv;
    Alltoallv* alltoallv;
    Alltoallw* alltoallw;
    ReduceScatter* reduce_scatter;
} Calls;

// The host is the object that itself defines PMPI_Init and is none of Tutti's.
static int find_host(struct dl_phdr_info* info, size_t size, void* found) {
    (void)size;
    Dl_info place;
    if (!info->dlpi_name || !info->dlpi_name[0] || strstr(info->dlpi_name, "libtutti")) return 0;
    void* handle = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
    if (!handle) return 0;
    void* init = dlsym(handle, "PMPI_Init");
    if (init && dladdr(init, &place) && !strcmp(place.dli_fname, info->dlpi_name)) {
        *(void**)found = handle;
        return 1;
    }
    dlclose(handle);
    return 0;
}

static Calls host_calls(void) {
    void* host = NULL;
    dl_iterate_phdr(find_host, &host);
    if (!host) {
        fprintf(stderr, "no object defines PMPI_Init\n");
        exit(3);
    }
    Calls c;
    c.barrier = (int (*)(MPI_Comm))dlsym(host, "PMPI_Barrier");
    c.bcast = (Bcast*)dlsym(host, "PMPI_Bcast");
    c.reduce = (Reduce*)dlsym(host, "PMPI_Reduce");
    c.allreduce = (Allreduce*)dlsym(host, "PMPI_Allreduce");
    c.gather = (Rooted*)dlsym(host, "PMPI_Gather");
    c.scatter = (Rooted*)dlsym(host, "PMPI_Scatter");
    c.allgather = (Unrooted*)dlsym(host, "PMPI_Allgather");
    c.alltoall = (Unrooted*)dlsym(host, "PMPI_Alltoall");
    c.scan = (Allreduce*)dlsym(host, "PMPI_Scan");
    c.exscan = (Allreduce*)dlsym(host, "PMPI_Exscan");
    c.reduce_scatter_block = (Allreduce*)dlsym(host, "PMPI_Reduce_scatter_block");
    c.gatherv = (Gatherv*)dlsym(host, "PMPI_Gatherv");
    c.scatterv = (Scatterv*)dlsym(host, "PMPI_Scatterv");
    c.allgatherv = (Allgatherv*)dlsym(host, "PMPI_Allgatherv");
    c.alltoallv = (Alltoallv*)dlsym(host, "PMPI_Alltoallv");
    c.alltoallw = (Alltoallw*)dlsym(host, "PMPI_Alltoallw");
    c.reduce_scatter = (ReduceScatter*)dlsym(host, "PMPI_Reduce_scatter");
    return c;
}

static const Calls own_calls = {MPI_Barrier,
                                MPI_Bcast,
                                MPI_Reduce,
                                MPI_Allreduce,
                                MPI_Gather,
                                MPI_Scatter,
                                MPI_Allgather,
                                MPI_Alltoall,
                                MPI_Scan,
                                MPI_Exscan,
                                MPI_Reduce_scatter_block,
                                MPI_Gatherv,
                                MPI_Scatterv,
                                MPI_Allgatherv,
                                MPI_Alltoallv,
                                MPI_Alltoallw,
                                MPI_Reduce_scatter};

typedef struct Step {
    int kind;
    int root;
    int count;
    int in_place;
    MPI_Datatype type;
    size_t width;
    MPI_Op op;
    const char* label;
} Step;

// Reductions are over integers, or over doubles that hold small integers: any order, same bits.
static Step draw_step(uint64_t* random, const Group* g) {
    static const size_t widths[] = {1, 4, 8, 8};
    const MPI_Datatype types[] = {MPI_UINT8_T, MPI_INT, MPI_INT64_T, MPI_DOUBLE};
    // Bytes meet bitwise operators only: Open MPI saturates their sums, MPICH 4.0.2 compares them
    // as signed.
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR}, bits[] = {MPI_BOR, MPI_BXOR};
    Step s;
    s.kind = (int)(draw(random) % kKinds);
    s.root = (int)(draw(random) % (uint64_t)g->size);
    const int which = (int)(draw(random) % 4);
    s.type = types[which];
    s.width = widths[which];
    s.op = which == 0 ? bits[draw(random) % 2] : ops[draw(random) % (which == 3 ? 3 : 4)];
    // Mostly small, at times large.
    const uint64_t scale = draw(random) % 6, limits[] = {2, 16, 64, 600, 5000, kBlockMax};
    s.count = (int)(draw(random) % (limits[scale] / s.width + 1));
    s.in_place = draw(random) % 3 == 0;
    s.label = kNames[s.kind];
    return s;
}

// Intel MPI 2021.18, by itself, on Intel processors: of two ranks on each of several hosts one that
// is not the root copies into the receive buffer of a reduce, which says nothing there.
#ifdef I_MPI_VERSION
enum { kWritesAtOthers = 1 };
#else
enum { kWritesAtOthers = 0 };
#endif

// Elements of what one rank has for another, and this for it; none, half of the step's or all.
static int part(const Step* s, int one, int other) {
    return s->count * ((one + other + s->root) % 3) / 2;
}
// To or from each rank, the last one's first. others: of each its own, else those of this rank.
typedef struct Parts {
    int counts[kRanksMax], offsets[kRanksMax];
} Parts;
static Parts make_parts(const Step* s, const Group* g, int others) {
    Parts parts;
    for (int r = 0; r < g->size; ++r) {
        parts.counts[r] = part(s, r, others ? 0 : g->rank);
        parts.offsets[r] = (g->size - 1 - r) * s->count;
    }
    return parts;
}

static void run_alltoallw(const Calls* c, const Step* s, const Group* g, const void* send,
                          void* out, const Parts* p) {
    int offsets[kRanksMax];
    MPI_Datatype types[kRanksMax];
    for (int r = 0; r < g->size; ++r) {
        offsets[r] = p->offsets[r] * (int)s->width;
        types[r] = s->type;
    }
    c->alltoallw(send, p->counts, offsets, types, out, p->counts, offsets, types, g->comm);
}

static void run_vector(const Calls* c, const Step* s, const Group* g, const void* in, void* out) {
    const int is_root = g->rank == s->root, own = part(s, g->rank, 0);
    const void* send = s->in_place ? MPI_IN_PLACE : in;
    const Parts p = make_parts(s, g, s->kind != kAlltoallv && s->kind != kAlltoallw);
    switch (s->kind) {
        case kGatherv:
            c->gatherv(is_root ? send : in, own, s->type, out, p.counts, p.offsets, s->type,
                       s->root, g->comm);
            break;
        case kScatterv:
            c->scatterv(in, p.counts, p.offsets, s->type,
                        is_root && s->in_place ? MPI_IN_PLACE : out, own, s->type, s->root,
                        g->comm);
            break;
        case kAllgatherv:
            c->allgatherv(send, own, s->type, out, p.counts, p.offsets, s->type, g->comm);
            break;
        case kAlltoallv:
            c->alltoallv(send, p.counts, p.offsets, s->type, out, p.counts, p.offsets, s->type,
                         g->comm);
            break;
        case kAlltoallw:
            run_alltoallw(c, s, g, send, out, &p);
            break;
        default:
            c->reduce_scatter(send, out, p.counts, s->type, s->op, g->comm);
    }
}

static void run(const Calls* c, const Step* s, const Group* g, const void* in, void* out) {
    if (s->kind >= kGatherv) {
        run_vector(c, s, g, in, out);
        return;
    }
    const int is_root = g->rank == s->root;
    const void* send = s->in_place ? MPI_IN_PLACE : in;
    switch (s->kind) {
        case kBarrier:
            c->barrier(g->comm);
            break;
        case kBcast:
            c->bcast(out, s->count, s->type, s->root, g->comm);
            break;
        case kReduce:
            c->reduce(is_root ? send : in, is_root || kWritesAtOthers ? out : NULL, s->count,
                      s->type, s->op, s->root, g->comm);
            break;
        case kAllreduce:
            c->allreduce(send, out, s->count, s->type, s->op, g->comm);
            break;
        case kGather:
            c->gather(is_root ? send : in, s->count, s->type, out, s->count, s->type, s->root,
                      g->comm);
            break;
        case kScatter:
            c->scatter(in, s->count, s->type, is_root && s->in_place ? MPI_IN_PLACE : out, s->count,
                       s->type, s->root, g->comm);
            break;
        case kAlltoall:
            c->alltoall(send, s->count, s->type, out, s->count, s->type, g->comm);
            break;
        case kScan:
            c->scan(send, out, s->count, s->type, s->op, g->comm);
            break;
        case kExscan:
            c->exscan(send, out, s->count, s->type, s->op, g->comm);
            break;
        case kReduceScatterBlock:
            c->reduce_scatter_block(send, out, s->count, s->type, s->op, g->comm);
            break;
        default:
            c->allgather(send, s->count, s->type, out, s->count, s->type, g->comm);
    }
}

static void fill_input(const Step* s, void* data, size_t bytes, uint64_t key) {
    fill(data, bytes, key);
    if (s->type != MPI_DOUBLE) return;
    for (size_t i = 0; i < bytes / 8; ++i) {
        const double value = (double)(mix(key + i) % 1000);
        memcpy((char*)data + i * 8, &value, 8);
    }
}

typedef struct Job {
    int thread;
    int calls;
    double seconds;  // 0: so many calls
    const char* mark;
    uint64_t seed;
    Calls host;
    Group groups[kGroupsMax];
    int group_count;
} Job;

static void try_step(const Job* job, const Group* g, const Step* s, int step, uint64_t* own) {
    const size_t block = (size_t)s->count * s->width, all = block * (size_t)g->size;
    const uint64_t key = mix(job->seed + (uint64_t)step * 64) + (uint64_t)g->rank;
    const size_t shift = s->width * (draw(own) % 8);
    Buffer in = make_buffer(all, shift);
    Buffer mine = make_buffer(all, s->width * (draw(own) % 8)), theirs = make_buffer(all, 0);
    fill_input(s, in.data, all, key);
    // In place, or as the root of a broadcast, the output holds the input beforehand.
    fill_input(s, mine.data, all, key + 77);
    memcpy(theirs.data, mine.data, all);
    run(&own_calls, s, g, in.data, mine.data);
    // MPICH 4.0.2 crashes in Reduce with MPI_IN_PLACE at a root other than 0, so the host is called
    // with two buffers.
    Step plain = *s;
    if (s->kind == kReduce && s->in_place) {
        plain.in_place = 0;
        if (g->rank == s->root) memcpy(in.data, theirs.data, all);
    }
    // Nor are hosts asked to exchange or to reduce in place.
    const int scatters = s->kind == kReduceScatter || s->kind == kReduceScatterBlock;
    const int exchanges = s->kind == kAlltoallv || s->kind == kAlltoallw;
    if ((scatters || exchanges) && s->in_place) {
        plain.in_place = 0;
        memcpy(in.data, theirs.data, all);
    }
    run(&job->host, &plain, g, in.data, theirs.data);
    // Not in place, what an exscan leaves on rank 0 is not defined.
    const int is_said = s->kind == kExscan
                            ? g->rank > 0 || s->in_place
                            : !kWritesAtOthers || s->kind != kReduce || g->rank == s->root;
    // Behind the result of a reduce_scatter in place stands anything.
    const size_t result =
        s->kind == kReduceScatter ? (size_t)part(s, g->rank, 0) * s->width : block;
    const size_t said = scatters ? result : all;
    expect(
        !is_said || !memcmp(mine.data, theirs.data, said),
        "--seed %llu: thread %d step %d: %s of %d x %zu bytes on %s, root %d, in place %d differs "
        "from the host's",
        (unsigned long long)job->seed, job->thread, step, s->label, s->count, s->width, g->name,
        s->root, s->in_place);
    drop_buffer(&theirs, s->label);
    drop_buffer(&mine, s->label);
    drop_buffer(&in, s->label);
}

static long resident_kilobytes(void) {
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    const int found = file ? fscanf(file, "%*d %ld", &pages) : 0;
    if (file) fclose(file);
    return found == 1 ? pages * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

// Which half this step belongs to, or none: rank 0's clock decides for all, by way of the host.
static int half_of(const Job* job, int step, double start, int half) {
    if (job->seconds == 0) return step < job->calls ? kFirstHalf : kOver;
    if (step % kStepsAgreed != 0) return half;
    const double share = (MPI_Wtime() - start) / job->seconds;
    if (share >= 1 && half == kSecondHalf) half = kOver;
    if (share >= 0.5 && half == kFirstHalf && step >= kStepsBeforeMark) half = kSecondHalf;
    job->host.bcast(&half, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return half;
}

static void make_mark(const Job* job, int rank) {
    if (rank != 0 || !job->mark) return;
    FILE* file = fopen(job->mark, "w");
    expect(file != NULL, "cannot write %s", job->mark);
    if (file) fclose(file);
}

static void* work(void* argument) {
    Job* job = argument;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t own = mix(job->seed + (uint64_t)rank * 31 + (uint64_t)job->thread);
    const double start = MPI_Wtime();
    long middle_kilobytes = -1;
    int half = kFirstHalf;
    for (int step = 0; (half = half_of(job, step, start, half)) != kOver; ++step) {
        if (job->seconds > 0 && step == kStepsBeforeMark) make_mark(job, rank);
        if (half == kSecondHalf && middle_kilobytes < 0) middle_kilobytes = resident_kilobytes();
        uint64_t common = mix(job->seed ^ mix((uint64_t)job->thread * 1000003 + (uint64_t)step));
        const Group* g = &job->groups[draw(&common) % (uint64_t)job->group_count];
        if (g->comm == MPI_COMM_NULL) continue;
        const Step s = draw_step(&common, g);
        try_step(job, g, &s, step, &own);
    }
    if (job->seconds > 0) {
        const long growth = resident_kilobytes() - middle_kilobytes;
        printf("rank %d: %ld KB in the middle, %ld KB more at the end\n", rank, middle_kilobytes,
               growth);
        expect(middle_kilobytes > 0, "only %g s: no second half", job->seconds);
        expect(growth <=
                   (job->seconds < kSecondsSteady ? kGrowthKilobytesMaxEarly : kGrowthKilobytesMax),
               "memory grew by %ld KB", growth);
    }
    return NULL;
}

static const char* word(int argc, char** argv, const char* name) {
    for (int i = 1; i + 1 < argc; ++i) {
        if (!strcmp(argv[i], name)) return argv[i + 1];
    }
    return NULL;
}

static uint64_t option(int argc, char** argv, const char* name, uint64_t fallback) {
    const char* found = word(argc, argv, name);
    return found ? strtoull(found, NULL, 10) : fallback;
}

// MPICH 4.0 itself crashes in a reduce in place at a root other than 0, so it is not to get any as
// the first calls of a communicator.
static void pass_first_calls(const Job* job) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000 && !defined(I_MPI_VERSION)
    for (int call = 0; call < 3 * job->group_count; ++call) {
        const MPI_Comm comm = job->groups[call % job->group_count].comm;
        if (comm != MPI_COMM_NULL) MPI_Barrier(comm);
    }
#else
    (void)job;
#endif
}

int main(int argc, char** argv) {
    static Job jobs[kThreadsMax];
    pthread_t threads[kThreadsMax];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int count = (int)option(argc, argv, "--threads", 3);
    const int calls = (int)option(argc, argv, "--calls", 1000);
    const uint64_t seed = option(argc, argv, "--seed", 1);
    const double seconds = (double)option(argc, argv, "--seconds", 0);
    if (provided < MPI_THREAD_MULTIPLE || seconds > 0) count = 1;
    if (count > kThreadsMax) count = kThreadsMax;
    const Calls host = host_calls();
    for (int t = 0; t < count; ++t) {
        jobs[t] = (Job){.thread = t, .calls = calls / count + 1, .seed = seed, .host = host};
        jobs[t].seconds = seconds;
        jobs[t].mark = word(argc, argv, "--mark");
        jobs[t].group_count = make_groups(jobs[t].groups);
        // World is one communicator, which one thread only may use at a time.
        if (t > 0) {
            jobs[t].groups[0] = jobs[t].groups[1];
            jobs[t].groups[jobs[t].group_count - 1] = jobs[t].groups[3];
        }
    }
    for (int t = 0; t < count; ++t) pass_first_calls(&jobs[t]);
    for (int t = 0; t < count; ++t) pthread_create(&threads[t], NULL, work, &jobs[t]);
    for (int t = 0; t < count; ++t) pthread_join(threads[t], NULL);
    for (int t = 0; t < count; ++t) {
        free_groups(jobs[t].groups + (t > 0), jobs[t].group_count - 2 * (t > 0));
    }
    if (provided < MPI_THREAD_MULTIPLE) fprintf(stderr, "note: one thread only\n");
    return finish();
}
