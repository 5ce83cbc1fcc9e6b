// SPDX-License-Identifier: BSD-3-Clause
// Device memory in every collective, against a stand-in for a GPU's runtime (standin_gpu.c) or a
// real one (real_cuda.c): some ranks pass device, managed or pool memory, some the processor's,
// drawn by seed.
//
//     device LIBRARY WHAT [SEED]     WHAT: all | vectors | late | reuse | stream | idle | mixed |
//     threads |
//                                     large | errors FUNCTION | unpinned FUNCTION
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "standin_gpu.h"
#include "support.h"

enum { kMargin = 64, kUnits = 2, kLayouts = 5, kSizes = 7 };

static Standin gpu;
static void* library;

static void open_runtime(const char* path) {
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*open)(Standin*) = library ? (void (*)(Standin*))dlsym(library, "standin_open") : NULL;
    if (!open) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        exit(3);
    }
    open(&gpu);
}

// An element of a layout: where its two ints stand, and its extent.
typedef struct Layout {
    MPI_Datatype type;
    long offset[kUnits];
    long extent;
    long lowest, highest;  // of the bytes of one element
} Layout;

static Layout make_layout(int number) {
    static const long kOffset[kLayouts][kUnits] = {{0, 4}, {0, 8}, {0, 4}, {-8, 4}, {0, 28}};
    static const long kExtent[kLayouts] = {8, 16, 24, 20, 8};
    Layout l = {MPI_INT, {0, 0}, kExtent[number], kOffset[number][0], kOffset[number][1] + 4};
    MPI_Aint at[kUnits];
    int ones[kUnits];
    for (int i = 0; i < kUnits; ++i) {
        l.offset[i] = kOffset[number][i];
        at[i] = l.offset[i];
        ones[i] = 1;
    }
    MPI_Datatype bare;
    MPI_Type_create_hindexed(kUnits, ones, at, MPI_INT, &bare);
    // The last one's elements interleave: the extent is smaller than what an element covers. The
    // second int of one stands at 4 modulo 8, where no first one does.
    MPI_Type_create_resized(bare, number == 2 ? -8 : 0, l.extent, &l.type);
    MPI_Type_free(&bare);
    MPI_Type_commit(&l.type);
    return l;
}

enum { kHere, kDevice, kManaged, kPool, kPinned, kPlaces };

// Elements somewhere, and what every byte around them has to be.
typedef struct Memory {
    int place;
    int device;
    size_t bytes;
    unsigned char *all, *image, *marks;
    unsigned char* start;  // what MPI is given
    long shift;            // of start in all
    const Layout* layout;
    size_t count;
} Memory;

static int is_far(const Memory* m) { return m->place != kHere; }

static Memory make_memory(int place, const Layout* layout, size_t count, int device) {
    Memory m = {place, device, 0, NULL, NULL, NULL, NULL, 0, layout, count};
    const long span = (long)(count ? count - 1 : 0) * layout->extent + layout->highest;
    m.shift = kMargin - (layout->lowest < 0 ? layout->lowest : 0);
    m.bytes = (size_t)(m.shift + span + kMargin);
    static const int kKinds[kPlaces] = {0, kStandinDevice, kStandinManaged, kStandinPool,
                                        kStandinPinned};
    m.all = is_far(&m) ? gpu.alloc(NULL, m.bytes, kKinds[place], device) : malloc(m.bytes);
    m.image = malloc(m.bytes);
    m.marks = malloc(m.bytes);
    memset(m.image, kPoison, m.bytes);
    memset(m.marks, 1, m.bytes);
    m.start = m.all + m.shift;
    return m;
}

static long unit_at(const Memory* m, size_t unit) {
    return m->shift + (long)(unit / kUnits) * m->layout->extent + m->layout->offset[unit % kUnits];
}

static void set_unit(Memory* m, size_t unit, int value) {
    memcpy(m->image + unit_at(m, unit), &value, sizeof value);
}

// What stands in the gaps changes on the device all the while, where `is_busy`.
static void place_image(Memory* m, int is_busy) {
    if (!is_far(m)) {
        memcpy(m->all, m->image, m->bytes);
        return;
    }
    gpu.write(m->all, m->image, m->bytes);
    for (size_t unit = 0; unit < m->count * kUnits; ++unit)
        memset(m->marks + unit_at(m, unit), 0, 4);
    if (is_busy) gpu.busy(m->all, m->marks);
}

// Compares with the image, into which what is expected was set; frees.
static void check_memory(Memory* m, int is_busy, const char* what) {
    unsigned char* found = m->all;
    unsigned ticks = 0;
    if (is_far(m)) {
        found = malloc(m->bytes);
        gpu.read(m->all, found, m->bytes);
        ticks = is_busy ? gpu.ticks(m->all) : 0;
    }
    long long wrong = -1;
    for (size_t i = 0; i < m->bytes && wrong < 0; ++i) {
        const unsigned char gap = (unsigned char)(m->image[i] + ticks);
        if (found[i] != (is_far(m) && m->marks[i] ? gap : m->image[i])) wrong = (long long)i;
    }
    expect(wrong < 0, "%s: place %d, %zu elements of extent %ld, byte %lld of %zu (data from %ld)",
           what, m->place, m->count, m->layout->extent, wrong, m->bytes, m->shift);
    if (is_far(m)) {
        free(found);
        gpu.release(m->all);
    } else {
        free(m->all);
    }
    free(m->image);
    free(m->marks);
}

static int value_of(uint64_t key, int rank, size_t unit) {
    return (int)((mix(key) + (uint64_t)rank * 1000003u + unit * 7919u) % 1000000u);
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
    MPI_Aint low, extent;
    MPI_Type_get_extent(*type, &low, &extent);
    int sizes[3], combiner;
    MPI_Type_get_envelope(*type, &sizes[0], &sizes[1], &sizes[2], &combiner);
    // Named: ints. Else the second layout, the only one that this operator is given.
    const long offsets[kUnits] = {0, 8};
    for (int i = 0; i < *count; ++i) {
        for (int j = 0; j < (combiner == MPI_COMBINER_NAMED ? 1 : kUnits); ++j) {
            int a, b;
            memcpy(&a, (char*)in + i * extent + offsets[j], sizeof a);
            memcpy(&b, (char*)inout + i * extent + offsets[j], sizeof b);
            b += a;
            memcpy((char*)inout + i * extent + offsets[j], &b, sizeof b);
        }
    }
}

typedef struct Run {
    Layout layouts[kLayouts];
    MPI_Op op;
    uint64_t key;  // the same on all ranks
    uint64_t own;  // this rank's
    int rank, size, current;
} Run;

static int draw_place(Run* run) { return (int)(draw(&run->own) % kPlaces); }
// Large ones without gaps, which are a copy a piece.
static const Layout* draw_layout(Run* run, size_t count) {
    const uint64_t number = draw(&run->own) % kLayouts;
    return &run->layouts[count > 20000 ? 0 : number];
}
static int draw_device(Run* run) { return (int)(draw(&run->own) % 2); }
static Memory draw_memory(Run* run, size_t count) {
    const Layout* layout = draw_layout(run, count);
    return make_memory(draw_place(run), layout, count, draw_device(run));
}
static int draw_busy(Run* run) { return (int)(draw(&run->own) % 2); }

static void one_bcast(Run* run, size_t count, int root) {
    Memory m = draw_memory(run, count);
    const int busy = draw_busy(run);
    for (size_t u = 0; u < count * kUnits && run->rank == root; ++u)
        set_unit(&m, u, value_of(run->key, root, u));
    place_image(&m, busy);
    MPI_Bcast(m.start, (int)count, m.layout->type, root, MPI_COMM_WORLD);
    for (size_t u = 0; u < count * kUnits; ++u) set_unit(&m, u, value_of(run->key, root, u));
    check_memory(&m, busy, "bcast");
}

// Absolute addresses; a datatype of its own for this buffer.
static void one_bottom(Run* run, size_t count, int root) {
    Memory m = draw_memory(run, count);
    const int busy = draw_busy(run), elements = (int)count;
    for (size_t u = 0; u < count * kUnits && run->rank == root; ++u)
        set_unit(&m, u, value_of(run->key, root, u));
    place_image(&m, busy);
    MPI_Aint at = (MPI_Aint)(intptr_t)m.start;
    MPI_Datatype type;
    MPI_Type_create_hindexed(1, &elements, &at, m.layout->type, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(MPI_BOTTOM, 1, type, root, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    for (size_t u = 0; u < count * kUnits; ++u) set_unit(&m, u, value_of(run->key, root, u));
    check_memory(&m, busy, "bcast from MPI_BOTTOM");
}

static int sum_below(const Run* run, int end, size_t unit) {
    int sum = 0;
    for (int r = 0; r < end; ++r) sum += value_of(run->key, r, unit);
    return sum;
}
static int sum_of(const Run* run, size_t unit) { return sum_below(run, run->size, unit); }

// MPI_INT by a kernel, or the second layout by a user's operator: the operator's type is the same
// on all ranks.
static void one_reduce(Run* run, size_t count, int root, int is_all) {
    static Layout plain = {MPI_DATATYPE_NULL, {0, 4}, 8, 0, 8};
    const int is_user = (int)(mix(run->key) % 3), in_place = (int)(draw(&run->own) % 2);
    const Layout* layout = is_user == 1 ? &run->layouts[1] : &plain;
    const MPI_Datatype type = is_user == 1 ? layout->type : MPI_INT;
    const int elements = (int)(is_user == 1 ? count : count * kUnits);
    const MPI_Op op = is_user ? run->op : MPI_SUM;
    const int receives = is_all || run->rank == root, busy = draw_busy(run);
    const int is_in_place = receives && in_place;
    Memory send = make_memory(draw_place(run), layout, count, draw_device(run));
    Memory recv = make_memory(draw_place(run), layout, count, draw_device(run));
    for (size_t u = 0; u < count * kUnits; ++u)
        set_unit(is_in_place ? &recv : &send, u, value_of(run->key, run->rank, u));
    place_image(&send, busy);
    place_image(&recv, busy);
    const void* from = is_in_place ? MPI_IN_PLACE : send.start;
    if (is_all) {
        MPI_Allreduce(from, recv.start, elements, type, op, MPI_COMM_WORLD);
    } else {
        MPI_Reduce(from, receives ? recv.start : NULL, elements, type, op, root, MPI_COMM_WORLD);
    }
    for (size_t u = 0; u < count * kUnits && receives; ++u) set_unit(&recv, u, sum_of(run, u));
    check_memory(&send, busy, is_all ? "allreduce, sent" : "reduce, sent");
    check_memory(&recv, busy, is_all ? "allreduce" : "reduce");
}

// The input is a block for each rank, the result this rank's. In place, all of them in `recv`, of
// which the first is written.
static void one_reduce_scatter(Run* run, size_t count) {
    static Layout plain = {MPI_DATATYPE_NULL, {0, 4}, 8, 0, 8};
    const int is_user = (int)(mix(run->key) % 3), in_place = (int)(mix(run->key + 1) % 2);
    const Layout* layout = is_user == 1 ? &run->layouts[1] : &plain;
    const MPI_Datatype type = is_user == 1 ? layout->type : MPI_INT;
    const int elements = (int)(is_user == 1 ? count : count * kUnits), busy = draw_busy(run);
    const size_t units = count * kUnits, first = units * (size_t)run->rank;
    const size_t all = count * (size_t)run->size;
    Memory send = make_memory(draw_place(run), layout, in_place ? 0 : all, draw_device(run));
    Memory recv = make_memory(draw_place(run), layout, in_place ? all : count, draw_device(run));
    for (size_t u = 0; u < all * kUnits; ++u)
        set_unit(in_place ? &recv : &send, u, value_of(run->key, run->rank, u));
    place_image(&send, busy);
    place_image(&recv, busy);
    MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : send.start, recv.start, elements, type,
                             is_user ? run->op : MPI_SUM, MPI_COMM_WORLD);
    for (size_t u = 0; u < units; ++u) set_unit(&recv, u, sum_of(run, first + u));
    check_memory(&send, busy, "reduce_scatter_block, sent");
    check_memory(&recv, busy, "reduce_scatter_block");
}

// Gather and allgather: the block of every rank in `all`, this rank's in `one`.
static void one_gather(Run* run, size_t count, int root, int is_all) {
    const int receives = is_all || run->rank == root, busy = draw_busy(run);
    const int in_place = receives && (is_all ? mix(run->key) % 2 : draw(&run->own) % 2);
    Memory one = draw_memory(run, count);
    Memory all = draw_memory(run, receives ? count * (size_t)run->size : 0);
    const size_t units = count * kUnits, first = units * (size_t)run->rank;
    for (size_t u = 0; u < units; ++u) {
        if (in_place) set_unit(&all, first + u, value_of(run->key, run->rank, u));
        set_unit(&one, u, value_of(run->key, run->rank, u));
    }
    place_image(&one, busy);
    place_image(&all, busy);
    const void* from = in_place ? MPI_IN_PLACE : one.start;
    if (is_all) {
        MPI_Allgather(from, (int)count, one.layout->type, all.start, (int)count, all.layout->type,
                      MPI_COMM_WORLD);
    } else {
        MPI_Gather(from, (int)count, one.layout->type, receives ? all.start : NULL, (int)count,
                   all.layout->type, root, MPI_COMM_WORLD);
    }
    for (size_t u = 0; u < units * (size_t)run->size && receives; ++u)
        set_unit(&all, u, value_of(run->key, (int)(u / units), u % units));
    check_memory(&one, busy, is_all ? "allgather, sent" : "gather, sent");
    check_memory(&all, busy, is_all ? "allgather" : "gather");
}

// The root's own block is shorter than its place, of which the rest stays.
static void one_odd_gather(Run* run, size_t count, int root) {
    const int receives = run->rank == root, busy = draw_busy(run);
    const size_t own = receives ? count - 1 : count;
    // Open MPI 4 copies more than there is of elements whose lower bound is not zero.
    Memory one = make_memory(draw_place(run), &run->layouts[1], own, draw_device(run));
    Memory all = draw_memory(run, receives ? count * (size_t)run->size : 0);
    const size_t units = count * kUnits;
    for (size_t u = 0; u < own * kUnits; ++u) set_unit(&one, u, value_of(run->key, run->rank, u));
    for (size_t u = 0; u < units * (size_t)run->size && receives; ++u) set_unit(&all, u, -7);
    place_image(&one, busy);
    place_image(&all, busy);
    MPI_Gather(one.start, (int)own, one.layout->type, receives ? all.start : NULL, (int)count,
               all.layout->type, root, MPI_COMM_WORLD);
    for (size_t u = 0; u < units * (size_t)run->size && receives; ++u) {
        const int from = (int)(u / units);
        if (from != root || u % units < own * kUnits)
            set_unit(&all, u, value_of(run->key, from, u % units));
    }
    check_memory(&one, busy, "odd gather, sent");
    check_memory(&all, busy, "odd gather");
}

static void one_scatter(Run* run, size_t count, int root) {
    const int sends = run->rank == root, busy = draw_busy(run);
    const int in_place = sends && draw(&run->own) % 2;
    Memory one = draw_memory(run, count);
    Memory all = draw_memory(run, sends ? count * (size_t)run->size : 0);
    const size_t units = count * kUnits;
    for (size_t u = 0; u < units * (size_t)run->size && sends; ++u)
        set_unit(&all, u, value_of(run->key, (int)(u / units), u % units));
    place_image(&one, busy);
    place_image(&all, busy);
    MPI_Scatter(sends ? all.start : NULL, (int)count, all.layout->type,
                in_place ? MPI_IN_PLACE : one.start, (int)count, one.layout->type, root,
                MPI_COMM_WORLD);
    for (size_t u = 0; u < units && !in_place; ++u)
        set_unit(&one, u, value_of(run->key, run->rank, u));
    check_memory(&one, busy, "scatter");
    check_memory(&all, busy, "scatter, sent");
}

// In place the input is read where the result is written.
static void one_alltoall(Run* run, size_t count) {
    const int in_place = (int)(mix(run->key) % 2), busy = draw_busy(run);
    const size_t all = count * (size_t)run->size, units = count * kUnits;
    Memory send = draw_memory(run, in_place ? 0 : all), recv = draw_memory(run, all);
    for (size_t u = 0; u < all * kUnits; ++u)
        set_unit(in_place ? &recv : &send, u, value_of(run->key, run->rank, u));
    place_image(&send, busy);
    place_image(&recv, busy);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : send.start, (int)count, send.layout->type, recv.start,
                 (int)count, recv.layout->type, MPI_COMM_WORLD);
    for (size_t u = 0; u < all * kUnits; ++u) {
        const size_t of_sender = (size_t)run->rank * units + u % units;
        set_unit(&recv, u, value_of(run->key, (int)(u / units), of_sender));
    }
    check_memory(&send, busy, "alltoall, sent");
    check_memory(&recv, busy, "alltoall");
}

// Blocks of elements whose number differs, some of none.
static size_t drawn_count(const Run* run, int from, int to, size_t most) {
    const uint64_t random = mix(run->key * 61 + (uint64_t)(from * run->size + to));
    return random % 3 ? random / 3 % (most + 1) : 0;
}

enum { kRanksMax = 16 };

// A block for each rank, the last rank's first, with an element between one block and the next.
typedef struct Blocks {
    int counts[kRanksMax], offsets[kRanksMax];
    size_t all;
} Blocks;

static void place_blocks(const Run* run, Blocks* b) {
    b->all = 0;
    for (int i = run->size - 1; i >= 0; --i) {
        b->offsets[i] = (int)b->all;
        b->all += (size_t)b->counts[i] + 1;
    }
}

static void set_block(const Run* run, Memory* m, const Blocks* b, int block, int from, int to) {
    for (size_t u = 0; u < (size_t)b->counts[block] * kUnits; ++u) {
        set_unit(m, (size_t)b->offsets[block] * kUnits + u,
                 value_of(run->key, from * run->size + to, u));
    }
}

// By either name; an alltoallw has an offset in bytes for each block, and a datatype.
static void call_alltoall(const Memory* send, const Blocks* sent, const Memory* recv,
                          const Blocks* got, int in_place, int has_types) {
    const void* from = in_place ? MPI_IN_PLACE : send->start;
    if (!has_types) {
        MPI_Alltoallv(from, sent->counts, sent->offsets, send->layout->type, recv->start,
                      got->counts, got->offsets, recv->layout->type, MPI_COMM_WORLD);
        return;
    }
    int send_at[kRanksMax], recv_at[kRanksMax];
    MPI_Datatype send_types[kRanksMax], recv_types[kRanksMax];
    for (int r = 0; r < kRanksMax; ++r) {
        send_at[r] = sent->offsets[r] * (int)send->layout->extent;
        recv_at[r] = got->offsets[r] * (int)recv->layout->extent;
        send_types[r] = send->layout->type;
        recv_types[r] = recv->layout->type;
    }
    MPI_Alltoallw(from, sent->counts, send_at, send_types, recv->start, got->counts, recv_at,
                  recv_types, MPI_COMM_WORLD);
}

static void one_alltoallv(Run* run, size_t count, int has_types) {
    const int in_place = (int)(mix(run->key) % 3 == 0), busy = draw_busy(run), me = run->rank;
    Blocks sent = {{0}, {0}, 0}, got = {{0}, {0}, 0};
    for (int r = 0; r < run->size; ++r) {
        const int low = r < me ? r : me, high = r < me ? me : r;
        sent.counts[r] = (int)drawn_count(run, in_place ? low : me, in_place ? high : r, count);
        got.counts[r] = (int)drawn_count(run, in_place ? low : r, in_place ? high : me, count);
    }
    place_blocks(run, &sent);
    place_blocks(run, &got);
    Memory send = draw_memory(run, in_place ? 0 : sent.all), recv = draw_memory(run, got.all);
    for (int r = 0; r < run->size; ++r) {
        if (in_place) set_block(run, &recv, &got, r, me, r);
        if (!in_place) set_block(run, &send, &sent, r, me, r);
    }
    place_image(&send, busy);
    place_image(&recv, busy);
    call_alltoall(&send, &sent, &recv, &got, in_place, has_types);
    for (int r = 0; r < run->size; ++r) set_block(run, &recv, &got, r, r, me);
    check_memory(&send, busy, has_types ? "alltoallw, sent" : "alltoallv, sent");
    check_memory(&recv, busy, has_types ? "alltoallw" : "alltoallv");
}

// root < 0: of an allgatherv.
static void one_gatherv(Run* run, size_t count, int root) {
    const int receives = root < 0 || run->rank == root, busy = draw_busy(run);
    const int in_place = receives && mix(run->key) % 2;
    Blocks got;
    for (int r = 0; r < run->size; ++r) got.counts[r] = (int)drawn_count(run, r, 0, count);
    place_blocks(run, &got);
    const size_t own = (size_t)got.counts[run->rank];
    Memory one = draw_memory(run, own), all = draw_memory(run, receives ? got.all : 0);
    for (size_t u = 0; u < own * kUnits; ++u)
        set_unit(&one, u, value_of(run->key, run->rank * run->size, u));
    if (in_place) set_block(run, &all, &got, run->rank, run->rank, 0);
    place_image(&one, busy);
    place_image(&all, busy);
    const void* from = in_place ? MPI_IN_PLACE : one.start;
    if (root < 0) {
        MPI_Allgatherv(from, (int)own, one.layout->type, all.start, got.counts, got.offsets,
                       all.layout->type, MPI_COMM_WORLD);
    } else {
        MPI_Gatherv(from, (int)own, one.layout->type, receives ? all.start : NULL, got.counts,
                    got.offsets, all.layout->type, root, MPI_COMM_WORLD);
    }
    for (int r = 0; r < run->size && receives; ++r) set_block(run, &all, &got, r, r, 0);
    check_memory(&one, busy, "gatherv, sent");
    check_memory(&all, busy, "gatherv");
}

static void one_scatterv(Run* run, size_t count, int root) {
    const int sends = run->rank == root, busy = draw_busy(run);
    const int in_place = sends && mix(run->key) % 2;
    Blocks sent;
    for (int r = 0; r < run->size; ++r) sent.counts[r] = (int)drawn_count(run, 0, r, count);
    place_blocks(run, &sent);
    const size_t own = (size_t)sent.counts[run->rank];
    Memory one = draw_memory(run, own), all = draw_memory(run, sends ? sent.all : 0);
    for (int r = 0; r < run->size && sends; ++r) set_block(run, &all, &sent, r, 0, r);
    place_image(&one, busy);
    place_image(&all, busy);
    MPI_Scatterv(sends ? all.start : NULL, sent.counts, sent.offsets, all.layout->type,
                 in_place ? MPI_IN_PLACE : one.start, (int)own, one.layout->type, root,
                 MPI_COMM_WORLD);
    for (size_t u = 0; u < own * kUnits && !in_place; ++u)
        set_unit(&one, u, value_of(run->key, run->rank, u));
    check_memory(&one, busy, "scatterv");
    check_memory(&all, busy, "scatterv, sent");
}

// Of ints, in place or not. The result stands first.
static void one_reduce_scatterv(Run* run, size_t count) {
    static Layout plain = {MPI_DATATYPE_NULL, {0, 4}, 8, 0, 8};
    const int in_place = (int)(mix(run->key) % 2), busy = draw_busy(run);
    int counts[kRanksMax];
    size_t all = 0, before = 0;
    for (int r = 0; r < run->size; ++r) {
        counts[r] = (int)(drawn_count(run, r, 0, count) * kUnits);
        if (r < run->rank) before += (size_t)counts[r];
        all += (size_t)counts[r];
    }
    const size_t own = (size_t)counts[run->rank];
    Memory send = make_memory(draw_place(run), &plain, in_place ? 0 : all / kUnits, 0);
    Memory recv = make_memory(draw_place(run), &plain, (in_place ? all : own) / kUnits, 1);
    for (size_t u = 0; u < all; ++u)
        set_unit(in_place ? &recv : &send, u, value_of(run->key, run->rank, u));
    place_image(&send, busy);
    place_image(&recv, busy);
    MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : send.start, recv.start, counts, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD);
    for (size_t u = 0; u < own; ++u) set_unit(&recv, u, sum_of(run, before + u));
    check_memory(&send, busy, "reduce_scatter, sent");
    check_memory(&recv, busy, "reduce_scatter");
}

static void vectors(Run* run) {
    static const size_t kCounts[] = {0, 1, 3, 30, 300, 3000};
    run->current = -1;
    for (size_t i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) {
        for (int turn = 0; turn < 4; ++turn, run->key = mix(run->key)) {
            const int root = (int)(run->key % (uint64_t)run->size);
            one_alltoallv(run, kCounts[i], 0);
            one_alltoallv(run, kCounts[i], 1);
            one_gatherv(run, kCounts[i], root);
            one_gatherv(run, kCounts[i], -1);
            one_scatterv(run, kCounts[i], root);
            one_reduce_scatterv(run, kCounts[i]);
        }
    }
    expect(gpu.count("pushed") == 0, "%ld contexts left pushed", gpu.count("pushed"));
}

// Rank 0 has no result of an exscan, and may give its input where the others get theirs.
static void one_scan(Run* run, size_t count, int is_exclusive) {
    static Layout plain = {MPI_DATATYPE_NULL, {0, 4}, 8, 0, 8};
    const int is_user = (int)(mix(run->key) % 3), in_place = (int)(draw(&run->own) % 2);
    const Layout* layout = is_user == 1 ? &run->layouts[1] : &plain;
    const MPI_Datatype type = is_user == 1 ? layout->type : MPI_INT;
    const int elements = (int)(is_user == 1 ? count : count * kUnits), busy = draw_busy(run);
    const MPI_Op op = is_user ? run->op : MPI_SUM;
    Memory send = make_memory(draw_place(run), layout, count, draw_device(run));
    Memory recv = make_memory(draw_place(run), layout, count, draw_device(run));
    for (size_t u = 0; u < count * kUnits; ++u)
        set_unit(in_place ? &recv : &send, u, value_of(run->key, run->rank, u));
    place_image(&send, busy);
    place_image(&recv, busy);
    const void* from = in_place ? MPI_IN_PLACE : send.start;
    if (is_exclusive) {
        MPI_Exscan(from, recv.start, elements, type, op, MPI_COMM_WORLD);
    } else {
        MPI_Scan(from, recv.start, elements, type, op, MPI_COMM_WORLD);
    }
    const int end = is_exclusive ? run->rank : run->rank + 1;
    for (size_t u = 0; u < count * kUnits && end > 0; ++u)
        set_unit(&recv, u, sum_below(run, end, u));
    check_memory(&send, busy, "scan, sent");
    check_memory(&recv, busy, is_exclusive ? "exscan" : "scan");
}

static void one_of_each(Run* run, size_t count) {
    const int root = (int)(draw(&run->key) % (uint64_t)run->size);
    one_bcast(run, count, root);
    one_bottom(run, count, root);
    for (int i = 0; i < 3; ++i, ++run->key) {
        one_reduce(run, count, root, 0);
        one_reduce(run, count, root, 1);
        one_reduce_scatter(run, count);
        one_alltoall(run, count);
        one_scan(run, count, i % 2);
    }
    one_gather(run, count, root, 0);
    one_gather(run, count, root, 1);
    ++run->key;
    one_gather(run, count, root, 1);
    if (count > 0) one_odd_gather(run, count, root);
    one_scatter(run, count, root);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(gpu.current() == run->current, "the current device is %d", gpu.current());
}

static void all_sizes(Run* run) {
    static const size_t kCounts[kSizes] = {0, 1, 3, 30, 300, 3000, 70000};
    const size_t sizes = run->size > 3 ? kSizes - 1 : kSizes;
    run->current = run->rank % 3 - 1;  // on some ranks none
    gpu.make_current(run->current);
    run->current = gpu.current();  // HIP has no such thing as none
    for (size_t i = 0; i < sizes; ++i) one_of_each(run, kCounts[i]);
    expect(gpu.count("pushed") == 0, "%ld contexts left pushed", gpu.count("pushed"));
    expect(gpu.count("streams") <= 2, "%ld streams on 2 devices", gpu.count("streams"));
    expect(gpu.count("held") <= 2, "%ld contexts held", gpu.count("held"));
}

// The same address: device memory, then the processor's, then device memory of another context.
static void reuse(Run* run) {
    const Layout* layout = &run->layouts[0];
    enum { kBytes = 8192 };
    void* place = NULL;
    for (int round = 0; round < 12; ++round) {
        const int is_far = draw(&run->own) % 3 != 1;
        int* data = NULL;
        if (is_far) {
            data = gpu.alloc(place, kBytes, kStandinMapped, round % 2);
        } else {
            data = mmap(place, kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
        }
        place = data;
        int sent[kBytes / 4], found[kBytes / 4];
        for (int i = 0; i < kBytes / 4; ++i) sent[i] = run->rank == 0 ? round * 5000 + i : -1;
        if (is_far) gpu.write(data, sent, kBytes);
        if (!is_far) memcpy(data, sent, kBytes);
        MPI_Bcast(data, kBytes / 8, layout->type, 0, MPI_COMM_WORLD);
        if (is_far) gpu.read(data, found, kBytes);
        if (!is_far) memcpy(found, data, kBytes);
        int wrong = 0;
        for (int i = 0; i < kBytes / 4; ++i) wrong += found[i] != round * 5000 + i;
        expect(wrong == 0, "round %d at %p: %d wrong", round, place, wrong);
        if (is_far) gpu.release(data);
        if (!is_far) munmap(data, kBytes);
    }
}

// What the legacy default stream still has to write is seen.
static void stream(Run* run) {
    for (int round = 0; round < 4; ++round) {
        int value = 100 * run->rank + round, sum = 0, expected = 0;
        int* data = gpu.alloc(NULL, sizeof value, kStandinDevice, 0);
        gpu.write_later(data, &value, sizeof value);
        MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        gpu.read(data, &sum, sizeof sum);
        for (int r = 0; r < run->size; ++r) expected += 100 * r + round;
        expect(sum == expected, "round %d: %d, want %d", round, sum, expected);
        gpu.release(data);
    }
}

// Memory of the processor alone, pinned or not.
static void idle(void) {
    int* pinned = gpu.alloc(NULL, sizeof *pinned, kStandinPinned, 0);
    for (int call = 0; call < 20; ++call) {
        int sum = 0, size;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        *pinned = 1;
        MPI_Allreduce(pinned, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(sum == size, "sum %d of %d ranks", sum, size);
    }
    gpu.release(pinned);
}

// One datatype for two pieces of memory, by their addresses; rank 1's first or second piece is on a
// device where `is_far`. Returns the number of errors.
static int bcast_pieces(Run* run, MPI_Comm comm, int kind, int is_first, int key) {
    enum { kInts = 500 };
    int* here = malloc(kInts * sizeof(int));
    int* other = gpu.alloc(NULL, kInts * sizeof(int), run->rank == 1 ? kind : kStandinPinned, 0);
    int values[kInts], found[2][kInts];
    for (int i = 0; i < kInts; ++i) values[i] = run->rank == 1 ? key + i : -1;
    memcpy(here, values, sizeof values);
    gpu.write(other, values, sizeof values);
    const int counts[2] = {kInts, kInts};
    MPI_Aint at[2] = {(MPI_Aint)(intptr_t)here, (MPI_Aint)(intptr_t)other};
    if (is_first) at[1] = at[0], at[0] = (MPI_Aint)(intptr_t)other;
    MPI_Datatype type;
    MPI_Type_create_hindexed(2, counts, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    const int failed = MPI_Bcast(MPI_BOTTOM, 1, type, 1, comm) != MPI_SUCCESS;
    MPI_Type_free(&type);
    memcpy(found[0], here, sizeof values);
    gpu.read(other, found[1], sizeof values);
    int wrong = 0;
    for (int i = 0; i < kInts; ++i) wrong += found[0][i] != key + i || found[1][i] != key + i;
    expect(failed || wrong == 0, "%d of %d pairs are wrong", wrong, kInts);
    gpu.release(other);
    free(here);
    return failed;
}

static void mixed(Run* run) {
    for (int is_first = 0; is_first < 2; ++is_first) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        expect(bcast_pieces(run, comm, kStandinPinned, is_first, 7) == 0, "pinned memory fails");
        expect(bcast_pieces(run, comm, kStandinDevice, is_first, 8) == 1, "device memory passed");
    }
}

// On two communicators in turn: what is pinned serves both and stays, except what is large and was
// used once only. Where the runtime refuses to pin, that costs time and nothing else.
static void large(Run* run, int calls, size_t bytes) {
    MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    int* far = gpu.alloc(NULL, bytes, kStandinDevice, 0);
    int* here = malloc(bytes);
    for (int call = 0; call < calls; ++call) {
        const int count = call == 0 ? (int)(bytes / sizeof *here) : 1000;
        int wrong = 0;
        for (int i = 0; i < count; ++i) here[i] = run->rank == 0 ? call + i : -1;
        gpu.write(far, here, (size_t)count * sizeof *here);
        MPI_Bcast(far, count, MPI_INT, 0, comms[call % 2]);
        gpu.read(far, here, (size_t)count * sizeof *here);
        for (int i = 0; i < count; ++i) wrong += here[i] != call + i;
        expect(wrong == 0, "call %d of %d elements: %d wrong", call, count, wrong);
    }
    gpu.release(far);
    free(here);
    MPI_Comm_free(&comms[1]);
}

static void unpinned(Run* run, const char* function) {
    gpu.fail(function);
    large(run, 10, 1 << 20);
}

// Two threads on communicators of their own, each with memory of another device.
typedef struct Worker {
    Run* run;
    MPI_Comm comm;
    int device;
} Worker;

static void* work(void* argument) {
    const Worker* w = (const Worker*)argument;
    enum { kInts = 3000 };
    int values[kInts], found[kInts];
    gpu.make_current(1 - w->device);
    for (int call = 0; call < 60; ++call) {
        int* data = gpu.alloc(NULL, sizeof values, kStandinDevice, w->device);
        int sum = 0, wrong = 0;
        for (int r = 0; r < w->run->size; ++r) sum += r * 10 + call + w->device;
        for (int i = 0; i < kInts; ++i) values[i] = w->run->rank * 10 + call + w->device;
        gpu.write(data, values, sizeof values);
        MPI_Allreduce(MPI_IN_PLACE, data, kInts, MPI_INT, MPI_SUM, w->comm);
        gpu.read(data, found, sizeof found);
        for (int i = 0; i < kInts; ++i) wrong += found[i] != sum;
        expect(wrong == 0, "call %d on device %d: %d wrong", call, w->device, wrong);
        expect(gpu.current() == 1 - w->device, "the current device is %d", gpu.current());
        gpu.release(data);
    }
    return NULL;
}

static void threads(Run* run) {
    Worker workers[2];
    pthread_t thread;
    for (int i = 0; i < 2; ++i) {
        workers[i] = (Worker){run, MPI_COMM_NULL, i};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    if (pthread_create(&thread, NULL, work, &workers[1]) != 0) exit(3);
    work(&workers[0]);
    pthread_join(thread, NULL);
}

// One rank's runtime fails: calls of that communicator end with an error on all ranks from then on.
static void errors(Run* run, const char* function) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int failures = 0;
    for (int call = 0; call < 6; ++call) {
        int* data = gpu.alloc(NULL, 4000, kStandinDevice, 0);
        if (call == (strstr(function, "reate") ? 0 : 2) && run->rank == 1) gpu.fail(function);
        failures += MPI_Allreduce(MPI_IN_PLACE, data, 1000, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS;
        gpu.release(data);
    }
    expect(failures > 0, "%s failed, and no call did", function);
    expect(gpu.count("pushed") == 0, "%ld contexts left pushed", gpu.count("pushed"));
}

int main(int argc, char** argv) {
    if (argc < 3) return 3;
    const char* what = argv[2];
    const int is_late = strcmp(what, "late") == 0;
    if (!is_late) open_runtime(argv[1]);
    int provided = 0;
    const int wanted = strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    Run run = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.size);
    run.key = mix(argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    run.own = mix(run.key + (uint64_t)run.rank + 1);
    for (int i = 0; i < kLayouts; ++i) run.layouts[i] = make_layout(i);
    MPI_Op_create(add, 1, &run.op);
    if (is_late) {
        int one = 1, sum = 0;
        for (int i = 0; i < 5; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        open_runtime(argv[1]);
    }
    if (strcmp(what, "all") == 0 || is_late) all_sizes(&run);
    if (strcmp(what, "vectors") == 0) vectors(&run);
    if (strcmp(what, "reuse") == 0) reuse(&run);
    if (strcmp(what, "stream") == 0) stream(&run);
    if (strcmp(what, "mixed") == 0) mixed(&run);
    if (strcmp(what, "threads") == 0 && provided == MPI_THREAD_MULTIPLE) threads(&run);
    if (strcmp(what, "idle") == 0) idle();
    if (strcmp(what, "errors") == 0) errors(&run, argv[3]);
    if (strcmp(what, "large") == 0) large(&run, 100, (size_t)130 << 20);
    if (strcmp(what, "unpinned") == 0) unpinned(&run, argv[3]);
    expect(gpu.has_error() == 0 || strcmp(what, "errors") == 0,
           "the program finds an error that is not its own");
    if (run.rank == 0)
        printf("queries %ld copies %ld registrations %ld pinned %ld\n", gpu.count("queries"),
               gpu.count("copies"), gpu.count("registrations"), gpu.count("pinned"));
    for (int i = 0; i < kLayouts; ++i) MPI_Type_free(&run.layouts[i].type);
    MPI_Op_free(&run.op);
    return finish();
}
