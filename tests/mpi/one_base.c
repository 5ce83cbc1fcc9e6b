// SPDX-License-Identifier: BSD-3-Clause
// Two buffers of one address whose datatypes name other bytes: both MPI_BOTTOM with absolute
// addresses, or one base with the places in the datatypes, side by side or every second int each.
// And, as `one_base own LEVEL`, buffers that are the same bytes, one line a case: what an MPI makes
// of that differs, so the test compares it with the bare MPI. LEVEL: 1 where every rank sees the
// mistake, 2 where the root alone does, 3 what stops some MPIs in an assertion.
#include "support.h"

enum { kInts = 5, kRanksMax = 8, kRoom = 4 * kInts * (kRanksMax + 1), kUntouched = -77 };

static int memory[kRoom];

// One block of the ints of one side: where the first is, in ints, and how far the next.
typedef struct Lane {
    int first, stride;
    MPI_Datatype type;
} Lane;

static Lane make_lane(int first, int stride, int is_absolute) {
    Lane lane = {first, stride, MPI_DATATYPE_NULL};
    MPI_Datatype vector, placed;
    MPI_Aint at = 0;
    const int one = 1;
    if (is_absolute) MPI_Get_address(memory, &at);
    at += first * (MPI_Aint)sizeof(int);
    MPI_Type_vector(kInts, 1, stride, MPI_INT, &vector);
    MPI_Type_create_hindexed(1, &one, &at, vector, &placed);
    MPI_Type_create_resized(placed, 0, kInts * stride * (MPI_Aint)sizeof(int), &lane.type);
    MPI_Type_commit(&lane.type);
    MPI_Type_free(&vector);
    MPI_Type_free(&placed);
    return lane;
}

static int* at(const Lane* lane, int block, int i) {
    return &memory[lane->first + (block * kInts + i) * lane->stride];
}

static int value(int call, int rank, int i) { return call * 10000 + rank * 100 + i; }

static void put(const Lane* lane, int block, int call, int rank) {
    for (int i = 0; i < kInts; ++i) *at(lane, block, i) = value(call, rank, i);
}

// The block holds what that rank gave in that call; what is not named is told by `untouched`.
static void see(const Lane* lane, int block, int call, int rank, const char* what) {
    for (int i = 0; i < kInts; ++i) {
        const int got = *at(lane, block, i), want = value(call, rank, i);
        if (!expect(got == want, "%s, call %d, block %d, int %d: %d, not %d", what, call, block, i,
                    got, want)) {
            return;
        }
        *at(lane, block, i) = kUntouched;
    }
}

static void clear(void) {
    for (int i = 0; i < kRoom; ++i) memory[i] = kUntouched;
}

static void see_rest(const char* what, int call) {
    int changed = 0;
    for (int i = 0; i < kRoom; ++i) changed += memory[i] != kUntouched;
    expect(changed == 0, "%s, call %d: %d ints beside its blocks", what, call, changed);
}

typedef struct Sides {
    void* base;
    Lane one, all;
} Sides;

static void try_gathers(const Group* g, const Sides* s, int root, int call) {
    clear();
    put(&s->one, 0, call, g->rank);
    MPI_Gather(s->base, 1, s->one.type, s->base, 1, s->all.type, root, g->comm);
    see(&s->one, 0, call, g->rank, "gather, sent");
    for (int r = 0; r < g->size && g->rank == root; ++r) see(&s->all, r, call, r, "gather");
    see_rest("gather", call);

    put(&s->one, 0, call + 1, g->rank);
    MPI_Allgather(s->base, 1, s->one.type, s->base, 1, s->all.type, g->comm);
    see(&s->one, 0, call + 1, g->rank, "allgather, sent");
    for (int r = 0; r < g->size; ++r) see(&s->all, r, call + 1, r, "allgather");
    see_rest("allgather", call + 1);

    for (int r = 0; r < g->size && g->rank == root; ++r) put(&s->all, r, call + 2, r);
    MPI_Scatter(s->base, 1, s->all.type, s->base, 1, s->one.type, root, g->comm);
    see(&s->one, 0, call + 2, g->rank, "scatter");
    for (int r = 0; r < g->size && g->rank == root; ++r) {
        see(&s->all, r, call + 2, r, "scatter, sent");
    }
    see_rest("scatter", call + 2);
}

static void sum_ints(void* in, void* inout, int* count, MPI_Datatype* type) {
    MPI_Aint low, extent;
    MPI_Type_get_extent(*type, &low, &extent);
    MPI_Type_get_true_extent(*type, &low, &(MPI_Aint){0});
    const int stride = (int)(extent / (kInts * (MPI_Aint)sizeof(int)));
    const int* from = (const int*)((const char*)in + low);
    int* to = (int*)((char*)inout + low);
    for (int i = 0; i < *count * kInts; ++i) to[i * stride] += from[i * stride];
}

// What is reduced has one datatype: to name other bytes by it, the two bases must differ.
static void try_reductions(const Group* g, MPI_Op op, int root, int call) {
    Lane lane = make_lane(0, 2, 0);
    Lane result = {1, 2, lane.type};
    const char* const names[] = {"reduce", "allreduce", "reduce_scatter_block", "scan", "exscan"};
    for (int which = 0; which < 5; ++which) {
        const char* what = names[which];
        const int blocks = which == 2 ? g->size : 1;
        clear();
        for (int b = 0; b < blocks; ++b) put(&lane, b, call, g->rank + b);
        if (which == 0) MPI_Reduce(memory, memory + 1, 1, lane.type, op, root, g->comm);
        if (which == 1) MPI_Allreduce(memory, memory + 1, 1, lane.type, op, g->comm);
        if (which == 2) MPI_Reduce_scatter_block(memory, memory + 1, 1, lane.type, op, g->comm);
        if (which == 3) MPI_Scan(memory, memory + 1, 1, lane.type, op, g->comm);
        if (which == 4) MPI_Exscan(memory, memory + 1, 1, lane.type, op, g->comm);
        for (int b = 0; b < blocks; ++b) see(&lane, b, call, g->rank + b, what);
        const int shift = which == 2 ? g->rank : 0;
        const int ranks = which == 3 ? g->rank + 1 : which == 4 ? g->rank : g->size;
        const int has_result = which == 0 ? g->rank == root : ranks > 0;
        for (int i = 0; i < kInts && has_result; ++i) {
            int want = 0;
            for (int r = 0; r < ranks; ++r) want += value(call, r + shift, i);
            expect(*at(&result, 0, i) == want, "%s, root %d", what, root);
            *at(&result, 0, i) = kUntouched;
        }
        see_rest(what, call);
    }
    MPI_Type_free(&lane.type);
}

static void try_bcast(const Group* g, const Sides* s, int root, int call) {
    clear();
    if (g->rank == root) put(&s->one, 0, call, root);
    MPI_Bcast(s->base, 1, s->one.type, root, g->comm);
    see(&s->one, 0, call, root, "bcast");
    see_rest("bcast", call);
}

static void try_legal(const Group* g) {
    MPI_Op op;
    MPI_Op_create(sum_ints, 1, &op);
    const int after = kInts * g->size;
    for (int form = 0; form < 6; ++form) {
        const int absolute = form % 2;
        Sides s = {.base = absolute ? MPI_BOTTOM : memory};
        if (form < 2) {  // behind all
            s.one = make_lane(after, 1, absolute);
            s.all = make_lane(0, 1, absolute);
        } else if (form < 4) {  // before all
            s.one = make_lane(0, 1, absolute);
            s.all = make_lane(kInts, 1, absolute);
        } else {  // every second int each
            s.one = make_lane(1, 2, absolute);
            s.all = make_lane(0, 2, absolute);
        }
        for (int root = 0; root < g->size; ++root) {
            try_gathers(g, &s, root, 10 * form + 3 * root);
            try_bcast(g, &s, root, 10 * form + 3 * root);
            if (form == 0) try_reductions(g, op, root, root);
        }
        MPI_Type_free(&s.one.type);
        MPI_Type_free(&s.all.type);
    }
    MPI_Op_free(&op);
}

static int holds(const Lane* lane, int block, int call, int rank) {
    int right = 1;
    for (int i = 0; i < kInts; ++i) right &= *at(lane, block, i) == value(call, rank, i);
    return right;
}

// Each case has a communicator of its own: one rank's error leaves it a call behind the others. Its
// first call is none of the case: Tutti makes the team in it, for which all ranks wait.
static Group begin(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    clear();
    return describe(comm, "case");
}

static void end(Group* g, int root, const char* what, const char* how, int code, int is_right) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = 0, length = 0;
    MPI_Error_class(code, &class);
    MPI_Error_string(class, text, &length);
    if (code == MPI_SUCCESS) snprintf(text, sizeof text, "%s", is_right ? "right" : "wrong");
    expect(1, "%s", what);
    if (g->rank == root) printf("%s of %s: %s\n", what, how, text);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&g->comm);
}

typedef struct Side {
    MPI_Datatype type;
    int count;
    void* base;  // of the block of rank 0
    int stride;  // of its ints
} Side;

static void* own_place(const Group* g, const Side* side) {
    return (char*)side->base + g->rank * kInts * side->stride * (int)sizeof(int);
}

// A rank's own block is its place among all. root < 0: allgather.
static void own_block(const char* how, Side one, Side all, int root) {
    Group g = begin();
    const Lane lane = {0, all.stride, all.type};
    void* own = own_place(&g, &one);
    put(&lane, g.rank, 1, g.rank);
    int code;
    if (root < 0) {
        code = MPI_Allgather(own, one.count, one.type, all.base, all.count, all.type, g.comm);
    } else {
        code = MPI_Gather(own, one.count, one.type, all.base, all.count, all.type, root, g.comm);
    }
    int right = 1;
    for (int r = 0; r < g.size; ++r) right &= holds(&lane, r, 1, r);
    end(&g, root < 0 ? 0 : root, root < 0 ? "allgather" : "gather", how, code, right);
}

static void own_scatter(const char* how, Side one, Side all, int root) {
    Group g = begin();
    const Lane lane = {0, all.stride, all.type};
    for (int r = 0; r < g.size && g.rank == root; ++r) put(&lane, r, 1, r);
    const int code = MPI_Scatter(all.base, all.count, all.type, own_place(&g, &one), one.count,
                                 one.type, root, g.comm);
    end(&g, root, "scatter", how, code, holds(&lane, g.rank, 1, g.rank));
}

static void own_blocks(int level) {
    Lane apart = make_lane(0, 2, 0), placed = make_lane(0, 1, 1), shifted = make_lane(4, 1, 0);
    MPI_Datatype dup, ints;
    MPI_Type_dup(apart.type, &dup);
    MPI_Type_contiguous(kInts, MPI_INT, &ints);
    MPI_Type_commit(&ints);
    const Side dense = {ints, 1, memory, 1}, single = {MPI_INT, kInts, memory, 1};
    const Side gaps = {apart.type, 1, memory, 2}, twin = {dup, 1, memory, 2};
    const Side bottom = {placed.type, 1, MPI_BOTTOM, 1}, other = {shifted.type, 1, memory - 4, 1};
    for (int root = level > 1 ? 1 : -1; root >= -1; --root) {
        own_block("one handle", dense, dense, root);
        if (root > 0 || level > 2) own_block("one handle with gaps", gaps, gaps, root);
        if (root == 0) own_block("absolute addresses", bottom, bottom, root);
    }
    for (int root = 0; root >= -1 && level > 2; --root) {
        own_block("other handles", single, dense, root);
        own_block("other handles with gaps", twin, gaps, root);
        own_block("another base", other, dense, root);
        own_scatter("other handles", single, dense, -root);
        own_scatter("other handles with gaps", twin, gaps, -root);
        own_scatter("another base", other, dense, -root);
    }
    MPI_Type_free(&apart.type);
    MPI_Type_free(&placed.type);
    MPI_Type_free(&shifted.type);
    MPI_Type_free(&dup);
    MPI_Type_free(&ints);
}

enum { kReduce, kAllreduce, kReduceScatter, kScan, kExscan, kReduceVectors };

static void itself(int which, const char* how, void* at_base, MPI_Datatype type, int count,
                   MPI_Op op) {
    const char* const names[] = {"reduce", "allreduce", "reduce_scatter_block",
                                 "scan",   "exscan",    "reduce_scatter"};
    int counts[kRanksMax];
    for (int r = 0; r < kRanksMax; ++r) counts[r] = count;
    Group g = begin();
    const Lane lane = {0, 1, type};
    for (int b = 0; b < g.size; ++b) put(&lane, b, 1, g.rank);
    int code;
    if (which == kReduce) {
        code = MPI_Reduce(at_base, g.rank == 1 ? at_base : NULL, count, type, op, 1, g.comm);
    } else if (which == kAllreduce) {
        code = MPI_Allreduce(at_base, at_base, count, type, op, g.comm);
    } else if (which == kReduceScatter) {
        code = MPI_Reduce_scatter_block(at_base, at_base, count, type, op, g.comm);
    } else if (which == kReduceVectors) {
        code = MPI_Reduce_scatter(at_base, at_base, counts, type, op, g.comm);
    } else if (which == kScan) {
        code = MPI_Scan(at_base, at_base, count, type, op, g.comm);
    } else {
        code = MPI_Exscan(at_base, at_base, count, type, op, g.comm);
    }
    // Of a reduce_scatter the first of this rank's block.
    const int is_scattered = which == kReduceScatter || which == kReduceVectors;
    const int first = is_scattered && type == MPI_INT ? g.rank * count % kInts : 0;
    const int ranks = which == kScan ? g.rank + 1 : which == kExscan ? g.rank : g.size;
    int want = 0;
    for (int r = 0; r < ranks; ++r) want += value(1, r, first);
    end(&g, 1, names[which], how, code, *at(&lane, 0, 0) == want);
}

// All blocks of both sides.
static void exchange(const char* how, Side one, Side all) {
    Group g = begin();
    const Lane lane = {0, all.stride, all.type};
    for (int r = 0; r < g.size; ++r) put(&lane, r, 1, g.rank * g.size + r);
    const int code =
        MPI_Alltoall(one.base, one.count, one.type, all.base, all.count, all.type, g.comm);
    int right = 1;
    for (int r = 0; r < g.size; ++r) right &= holds(&lane, r, 1, r * g.size + g.rank);
    end(&g, 1, "alltoall", how, code, right);
}

// The same by an alltoallv, with one array of counts for both sides or two.
static void exchange_vectors(const char* how, Side one, Side all, int is_one_array) {
    int counts[kRanksMax], others[kRanksMax], offsets[kRanksMax];
    for (int r = 0; r < kRanksMax; ++r) {
        counts[r] = one.count, others[r] = all.count;
        offsets[r] = r * one.count;
    }
    Group g = begin();
    const Lane lane = {0, all.stride, all.type};
    for (int r = 0; r < g.size; ++r) put(&lane, r, 1, g.rank * g.size + r);
    const int code = MPI_Alltoallv(one.base, counts, offsets, one.type, all.base,
                                   is_one_array ? counts : others, offsets, all.type, g.comm);
    int right = 1;
    for (int r = 0; r < g.size; ++r) right &= holds(&lane, r, 1, r * g.size + g.rank);
    end(&g, 1, "alltoallv", how, code, right);
}

// A root's own block of a gatherv is its place among all.
static void own_vector(Side side, int root) {
    int counts[kRanksMax], offsets[kRanksMax];
    for (int r = 0; r < kRanksMax; ++r) counts[r] = side.count, offsets[r] = r * side.count;
    Group g = begin();
    const Lane lane = {0, side.stride, side.type};
    put(&lane, g.rank, 1, g.rank);
    const int code = root < 0 ? MPI_Allgatherv(own_place(&g, &side), side.count, side.type,
                                               side.base, counts, offsets, side.type, g.comm)
                              : MPI_Gatherv(own_place(&g, &side), side.count, side.type, side.base,
                                            counts, offsets, side.type, root, g.comm);
    int right = 1;
    for (int r = 0; r < g.size; ++r) right &= holds(&lane, r, 1, r);
    end(&g, root < 0 ? 0 : root, root < 0 ? "allgatherv" : "gatherv", "one handle", code, right);
}

static void exchanges(int level) {
    Lane apart = make_lane(0, 2, 0), placed = make_lane(0, 1, 1);
    MPI_Datatype ints;
    MPI_Type_contiguous(kInts, MPI_INT, &ints);
    MPI_Type_commit(&ints);
    const Side dense = {ints, 1, memory, 1}, single = {MPI_INT, kInts, memory, 1};
    const Side gaps = {apart.type, 1, memory, 2}, bottom = {placed.type, 1, MPI_BOTTOM, 1};
    exchange("one handle", dense, dense);
    if (level > 1) exchange("other handles", single, dense);
    exchange("one handle with gaps", gaps, gaps);
    exchange("absolute addresses", bottom, bottom);
    exchange_vectors("one array of counts", single, single, 1);
    if (level > 2) exchange_vectors("two arrays of counts", single, single, 0);
    own_vector(single, -1);
    if (level > 1) own_vector(single, 1);
    MPI_Type_free(&apart.type);
    MPI_Type_free(&placed.type);
    MPI_Type_free(&ints);
}

static void into_itself(int level) {
    MPI_Op op;
    Lane placed = make_lane(0, 1, 1), relative = make_lane(0, 1, 0);
    MPI_Op_create(sum_ints, 1, &op);
    for (int which = level > 1 ? kReduce : kAllreduce; which <= kReduceVectors; ++which) {
        itself(which, "ints into themselves", memory, MPI_INT, kInts, MPI_SUM);
        itself(which, "an int into itself", memory, MPI_INT, 1, MPI_SUM);
        itself(which, "an element into itself", memory, relative.type, 1, op);
        itself(which, "absolute addresses", MPI_BOTTOM, placed.type, 1, op);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&placed.type);
    MPI_Type_free(&relative.type);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Group world = describe(MPI_COMM_WORLD, "world");
    // Open MPI tells it of errors in an allreduce of any communicator.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc < 3) {
        try_legal(&world);
    } else {
        own_blocks(atoi(argv[2]));
        into_itself(atoi(argv[2]));
        exchanges(atoi(argv[2]));
    }
    return finish();
}
