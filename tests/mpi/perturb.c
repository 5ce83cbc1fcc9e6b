// SPDX-License-Identifier: BSD-3-Clause
// One choice for all: a fixed sequence of collectives, the same in every run; with --perturbed each
// rank states its own arguments in its own way: other counts and datatypes of the same signature,
// gaps, odd addresses, MPI_IN_PLACE, garbage where arguments are not significant. Results must be
// right and the report of both runs must show the same plan.
//
// perturb [--perturbed SEED]
#include "support.h"

enum { kSteps = 300, kIntsMax = 70000 };
enum {
    kBcast,
    kReduce,
    kAllreduce,
    kGather,
    kScatter,
    kAllgather,
    kAlltoall,
    kScan,
    kExscan,
    kVectors,
    kKinds
};

static uint64_t own;  // this rank's own stream; 0 in the unperturbed run
static int rank, size;

static int chance(int of) { return own && draw(&own) % (uint64_t)of == 0; }

// Some blocks of ints as one argument: address, count and type. `spread` ints apart.
typedef struct View {
    Buffer buffer;
    int* at;
    int blocks, ints, spread;
    int count;
    MPI_Datatype type;
} View;

static void describe_view(View* v) {
    MPI_Datatype inner;
    v->count = v->ints;
    v->type = MPI_INT;
    if (v->spread > 1) {
        // Gaps between the ints; a block still follows the block before it.
        MPI_Type_vector(v->ints, 1, v->spread, MPI_INT, &inner);
        MPI_Type_create_resized(inner, -12, (MPI_Aint)v->ints * v->spread * 4, &v->type);
        MPI_Type_free(&inner);
        v->count = 1;
    } else if (v->ints > 0 && chance(3)) {
        MPI_Type_contiguous(v->ints, MPI_INT, &v->type);
        v->count = 1;
    } else if (v->ints % 2 == 0 && chance(2)) {
        MPI_Type_contiguous(2, MPI_INT, &v->type);
        v->count = v->ints / 2;
    }
    if (v->type != MPI_INT) MPI_Type_commit(&v->type);
}

static View make_view(int blocks, int ints, int derived_allowed) {
    View v = {.blocks = blocks, .ints = ints, .spread = 1};
    if (derived_allowed && ints > 0 && chance(3)) v.spread = 2 + (int)(draw(&own) % 3);
    const size_t bytes = (size_t)blocks * (size_t)ints * (size_t)v.spread * 4;
    v.buffer = make_buffer(bytes, chance(2) ? 4 * (1 + draw(&own) % 15) : 0);
    v.at = (int*)(void*)v.buffer.data;
    v.count = ints;
    v.type = MPI_INT;
    if (derived_allowed) describe_view(&v);
    return v;
}

static void drop_view(View* v) {
    if (v->type != MPI_INT) MPI_Type_free(&v->type);
    drop_buffer(&v->buffer, "view");
}

static int value(uint64_t key, int from, int i) {
    return (int)(mix(key + (uint64_t)from) >> 40) + i;
}

static void put(View* v, int block, uint64_t key, int from) {
    for (int i = 0; i < v->ints; ++i) {
        v->at[((size_t)block * (size_t)v->ints + (size_t)i) * (size_t)v->spread] =
            value(key, from, i);
    }
}

static void verify(const View* v, int block, uint64_t key, int from, const char* what) {
    for (int i = 0; i < v->ints; ++i) {
        const size_t at = ((size_t)block * (size_t)v->ints + (size_t)i) * (size_t)v->spread;
        if (v->at[at] == value(key, from, i)) continue;
        expect(0, "%s: int %d of block %d of %d ints", what, i, block, v->ints);
        return;
    }
    expect(1, "%s", what);
}

// Of the ranks below `end`.
static void verify_sum(const View* v, int end, uint64_t key, const char* what) {
    for (int i = 0; i < v->ints; ++i) {
        unsigned sum = 0;
        for (int r = 0; r < end; ++r) sum += (unsigned)value(key, r, i);
        if ((unsigned)v->at[i] == sum) continue;
        expect(0, "%s: int %d of %d", what, i, v->ints);
        return;
    }
    expect(1, "%s", what);
}

static void bcast(int ints, int root, uint64_t key) {
    View v = make_view(1, ints, 1);
    if (rank == root) put(&v, 0, key, 0);
    MPI_Bcast(v.at, v.count, v.type, root, MPI_COMM_WORLD);
    verify(&v, 0, key, 0, "Bcast");
    drop_view(&v);
}

static void reduce(int ints, int root, uint64_t key) {
    View in = make_view(1, ints, 0), out = make_view(1, ints, 0);
    const int in_place = rank == root && chance(2);
    put(in_place ? &out : &in, 0, key, rank);
    int* to = rank == root || chance(2) ? out.at : NULL;
    MPI_Reduce(in_place ? MPI_IN_PLACE : in.at, to, ints, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root) verify_sum(&out, size, key, "Reduce");
    drop_view(&out);
    drop_view(&in);
}

static void allreduce(int ints, uint64_t key) {
    View in = make_view(1, ints, 0), out = make_view(1, ints, 0);
    const int in_place = chance(2);
    put(in_place ? &out : &in, 0, key, rank);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : in.at, out.at, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    verify_sum(&out, size, key, "Allreduce");
    drop_view(&out);
    drop_view(&in);
}

static void gather(int ints, int root, uint64_t key) {
    View in = make_view(1, ints, 1), out = make_view(size, ints, 1);
    const int in_place = rank == root && chance(2), garbage = rank != root && chance(2);
    put(in_place ? &out : &in, in_place ? rank : 0, key, rank);
    MPI_Gather(in_place ? MPI_IN_PLACE : in.at, in.count, in.type, garbage ? NULL : out.at,
               garbage ? -1 : out.count, garbage ? MPI_DATATYPE_NULL : out.type, root,
               MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == root; ++r) verify(&out, r, key, r, "Gather");
    drop_view(&out);
    drop_view(&in);
}

static void scatter(int ints, int root, uint64_t key) {
    View in = make_view(size, ints, 1), out = make_view(1, ints, 1);
    const int in_place = rank == root && chance(2), garbage = rank != root && chance(2);
    for (int r = 0; r < size; ++r) put(&in, r, key, r);
    MPI_Scatter(garbage ? NULL : in.at, garbage ? -1 : in.count,
                garbage ? MPI_DATATYPE_NULL : in.type, in_place ? MPI_IN_PLACE : out.at, out.count,
                out.type, root, MPI_COMM_WORLD);
    if (!in_place) verify(&out, 0, key, rank, "Scatter");
    drop_view(&out);
    drop_view(&in);
}

static void allgather(int ints, uint64_t key) {
    View in = make_view(1, ints, 1), out = make_view(size, ints, 1);
    const int in_place = chance(2);
    put(in_place ? &out : &in, in_place ? rank : 0, key, rank);
    MPI_Allgather(in_place ? MPI_IN_PLACE : in.at, in.count, in.type, out.at, out.count, out.type,
                  MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) verify(&out, r, key, r, "Allgather");
    drop_view(&out);
    drop_view(&in);
}

static void alltoall(int ints, uint64_t key) {
    View in = make_view(size, ints, 1), out = make_view(size, ints, 1);
    const int in_place = chance(2), garbage = in_place && chance(2);
    for (int r = 0; r < size; ++r) put(in_place ? &out : &in, r, key, rank * size + r);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : in.at, garbage ? -1 : in.count,
                 garbage ? MPI_DATATYPE_NULL : in.type, out.at, out.count, out.type,
                 MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) verify(&out, r, key, r * size + rank, "Alltoall");
    drop_view(&out);
    drop_view(&in);
}

// Of a vector form: blocks of `parts[r]` pairs of ints, in an order and with gaps of each rank's.
static void place_parts(const int* parts, int* offsets) {
    const int turned = own ? (int)(draw(&own) % (uint64_t)size) : 0;
    int end = 0;
    for (int k = 0; k < size; ++k) {
        const int r = (k + turned) % size;
        offsets[r] = end + (chance(2) ? 3 : 0);
        end = offsets[r] + parts[r];
    }
}

static void put_pairs(int* at, int pairs, uint64_t key, int from) {
    for (int i = 0; i < 2 * pairs; ++i) at[i] = value(key, from, i);
}

static void verify_pairs(const int* at, int pairs, uint64_t key, int from, const char* what) {
    int right = 1;
    for (int i = 0; i < 2 * pairs; ++i) right &= at[i] == value(key, from, i);
    expect(right, "%s: the block of %d, %d pairs", what, from, pairs);
}

// An allgatherv and an alltoallv, whose lengths are given. Datatypes are alike: Open MPI chooses
// its allgatherv by the one that is sent.
static void vectors(int ints, uint64_t key) {
    enum { kRanksMax = 64, kGap = 3 };
    int gathered[kRanksMax], exchanged[kRanksMax], at_gather[kRanksMax], at_exchange[kRanksMax];
    for (int r = 0; r < size; ++r) {
        gathered[r] = ints * (r % 3) / 4;
        exchanged[r] = ints * ((r + rank) % 3) / 4;  // from and to this rank
    }
    place_parts(gathered, at_gather);
    place_parts(exchanged, at_exchange);
    const size_t room = (size_t)size * (size_t)(ints / 2 + kGap + 1) * 2;
    int *in = calloc(room, sizeof *in), *out = calloc(room, sizeof *out);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    const int in_place = chance(2);
    int* const mine = in_place ? out + 2 * at_gather[rank] : in;
    put_pairs(mine, gathered[rank], key, rank);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : in, gathered[rank], pair, out, gathered, at_gather,
                   pair, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) {
        verify_pairs(out + 2 * at_gather[r], gathered[r], key, r, "Allgatherv");
    }
    for (int r = 0; r < size; ++r) {
        put_pairs(in + 2 * at_exchange[r], exchanged[r], key, rank * size + r);
    }
    // In place is for all ranks or none, and Open MPI waits in vain where they differ.
    MPI_Alltoallv(in, exchanged, at_exchange, pair, out, exchanged, at_exchange, pair,
                  MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) {
        verify_pairs(out + 2 * at_exchange[r], exchanged[r], key, r * size + rank, "Alltoallv");
    }
    MPI_Type_free(&pair);
    free(in), free(out);
}

// On rank 0 of an exscan that is not in place there may be garbage.
static void scan(int is_exclusive, int ints, uint64_t key) {
    View in = make_view(1, ints, 0), out = make_view(1, ints, 0);
    const int in_place = chance(2), has_none = is_exclusive && rank == 0;
    put(in_place ? &out : &in, 0, key, rank);
    const void* from = in_place ? MPI_IN_PLACE : in.at;
    void* to = has_none && !in_place && chance(2) ? (void*)16 : out.at;
    if (is_exclusive) {
        MPI_Exscan(from, to, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else {
        MPI_Scan(from, to, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (!has_none) verify_sum(&out, is_exclusive ? rank : rank + 1, key, "Scan");
    if (has_none && in_place) verify(&out, 0, key, 0, "Exscan's input");
    drop_view(&out);
    drop_view(&in);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    uint64_t common = 5;
    for (int call = 0; call < 5; ++call) MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 2) own = mix(strtoull(argv[2], NULL, 10) * 64 + (uint64_t)rank) | 1;
    for (int step = 0; step < kSteps; ++step) {
        static const int limits[] = {3, 20, 70, 500, 5000, kIntsMax};
        const int kind = (int)(draw(&common) % kKinds),
                  root = (int)(draw(&common) % (uint64_t)size);
        const int limit = limits[draw(&common) % 6];
        const int ints = (int)(draw(&common) % (uint64_t)limit);
        const uint64_t key = draw(&common);
        if (kind == kBcast) bcast(ints, root, key);
        if (kind == kReduce) reduce(ints, root, key);
        if (kind == kAllreduce) allreduce(ints, key);
        if (kind == kGather) gather(ints, root, key);
        if (kind == kScatter) scatter(ints, root, key);
        if (kind == kAllgather) allgather(ints, key);
        if (kind == kAlltoall) alltoall(ints, key);
        if (kind == kVectors) vectors(ints, key);
        if (kind == kScan || kind == kExscan) scan(kind == kExscan, ints, key);
    }
    return finish();
}
