// SPDX-License-Identifier: BSD-3-Clause
// Reduce and Allreduce: every predefined type with every predefined operator that the standard
// allows for it, compared with a scalar computation. All ranks know all inputs by formula, so no
// message is needed to know what is right.
//
// reductions [COUNT...]
#include <complex.h>
#include <stdbool.h>

#include "support.h"

typedef enum Kind {
    kSigned,
    kUnsigned,
    kInteger,  // Fortran's and the multi-language ones: no logical operators
    kLogical,
    kByte,
    kReal,
    kComplex,
    kPair,      // C: {value; int}
    kTwinReal,  // Fortran pairs: both parts of the value's type
    kTwinInt
} Kind;

typedef struct Type {
    MPI_Datatype handle;
    const char* name;
    Kind kind;
    size_t part;    // bytes of the value (of one component where there are two)
    size_t extent;  // bytes from element to element
} Type;

typedef struct Operator {
    MPI_Op handle;
    const char* name;
} Operator;

// What an element holds, wide enough for every type: integers exactly, reals exactly as long as
// the test uses small ones.
typedef struct Value {
    long double re, im;
    uint64_t bits;
    long long index;
} Value;

static uint64_t low_bits(uint64_t bits, size_t bytes) {
    return bytes >= 8 ? bits : bits & ((1ull << (8 * bytes)) - 1);
}

static long double as_real(const Type* t, uint64_t bits) {
    if (t->kind == kUnsigned || t->kind == kByte || t->kind == kLogical) return (long double)bits;
    if (t->part == 1) return (int8_t)bits;
    if (t->part == 2) return (int16_t)bits;
    if (t->part == 4) return (int32_t)bits;
    return (long double)(int64_t)bits;
}

static void store_real(void* at, size_t part, long double value) {
    const float single = (float)value;
    const double twice = (double)value;
    if (part == 4) memcpy(at, &single, 4);
    if (part == 8) memcpy(at, &twice, 8);
    if (part == sizeof(long double)) memcpy(at, &value, 10);
}

static long double load_real(const void* at, size_t part) {
    float single;
    double twice;
    long double most = 0;
    if (part == 4) return memcpy(&single, at, 4), (long double)single;
    if (part == 8) return memcpy(&twice, at, 8), (long double)twice;
    return memcpy(&most, at, 10), most;
}

static int is_real(Kind kind) { return kind == kReal || kind == kComplex || kind == kTwinReal; }

// A pair's value is real for the C types whose name says so, an integer else.
static int pair_is_real(const Type* t) {
    return t->handle == MPI_FLOAT_INT || t->handle == MPI_DOUBLE_INT ||
           t->handle == MPI_LONG_DOUBLE_INT;
}

static size_t index_offset(const Type* t) {
    if (t->kind == kTwinReal || t->kind == kTwinInt) return t->part;
    return t->part < sizeof(int) ? sizeof(int) : t->part;
}

static void store(const Type* t, unsigned char* at, Value v) {
    memset(at, 0, t->extent);
    if (is_real(t->kind) || (t->kind == kPair && pair_is_real(t))) {
        store_real(at, t->part, v.re);
    } else {
        memcpy(at, &v.bits, t->part);
    }
    if (t->kind == kComplex) store_real(at + t->part, t->part, v.im);
    const int index = (int)v.index;
    if (t->kind == kPair || t->kind == kTwinInt) memcpy(at + index_offset(t), &index, sizeof index);
    if (t->kind == kTwinReal) store_real(at + t->part, t->part, (long double)v.index);
}

static Value load(const Type* t, const unsigned char* at) {
    Value v = {0};
    if (is_real(t->kind) || (t->kind == kPair && pair_is_real(t))) {
        v.re = load_real(at, t->part);
    } else {
        memcpy(&v.bits, at, t->part);
        v.re = as_real(t, v.bits);
    }
    if (t->kind == kComplex) v.im = load_real(at + t->part, t->part);
    int index = 0;
    if (t->kind == kPair || t->kind == kTwinInt) memcpy(&index, at + index_offset(t), sizeof index);
    v.index = t->kind == kTwinReal ? (long long)load_real(at + t->part, t->part) : index;
    return v;
}

static int bitwise(MPI_Op op) { return op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR; }
static int logical(MPI_Op op) { return op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR; }
static int located(MPI_Op op) { return op == MPI_MINLOC || op == MPI_MAXLOC; }

// The standard's table (MPI-4.1, section 6.9.2).
static int allowed(const Type* t, MPI_Op op) {
    switch (t->kind) {
        case kSigned:
        case kUnsigned:
            return !located(op);
        case kInteger:
            return !located(op) && !logical(op);
        case kLogical:
            return logical(op);
        case kByte:
            return bitwise(op);
        case kReal:
            return op == MPI_SUM || op == MPI_PROD || op == MPI_MIN || op == MPI_MAX;
        case kComplex:
            return op == MPI_SUM || op == MPI_PROD;
        default:
            return located(op);
    }
}

static Value integer_input(const Type* t, MPI_Op op, uint64_t random, int rank) {
    Value v = {0};
    if (logical(op)) {
        // Nonzero means true for C integers; logical types hold 0 and 1 only.
        v.bits = random % 3 == 0 ? 0 : t->kind == kLogical ? 1 : random % 50 + 1;
    } else if (op == MPI_SUM) {
        v.bits = t->kind != kUnsigned ? (uint64_t)((int64_t)(random % 15) - 7) : random % 15;
    } else if (op == MPI_PROD) {
        v.bits = rank < 6 && random % 2 ? 2 : 1;
    } else {
        v.bits = mix(random);
    }
    v.bits = low_bits(v.bits, t->part);
    v.re = as_real(t, v.bits);
    return v;
}

static Value input(const Type* t, MPI_Op op, uint64_t key, int rank, int i) {
    const uint64_t random = mix(mix(key + (uint64_t)rank * 7919) + (uint64_t)i);
    if (t->kind <= kByte) {
        return integer_input(t, op, random, rank);
    }
    Value v = {0};
    // Few distinct values, so that MINLOC and MAXLOC meet ties.
    v.re = (long double)((int)(random % 7) - 3);
    if (t->kind == kComplex) v.im = (long double)((int)(random / 7 % 7) - 3);
    if (t->kind == kReal && op == MPI_PROD) v.re = rank < 6 ? v.re / 2 : 1;
    if (t->kind == kReal && (op == MPI_MIN || op == MPI_MAX)) v.re = (int)(random % 20001) - 10000;
    v.bits = low_bits((uint64_t)(int64_t)v.re, t->part);
    v.index = (long long)((random >> 32) % 1000);
    return v;
}

static Value combine_located(MPI_Op op, Value a, Value b) {
    const int left = op == MPI_MINLOC ? a.re < b.re : a.re > b.re;
    Value best = left ? a : b;
    if (a.re == b.re) best.index = a.index < b.index ? a.index : b.index;
    return best;
}

static Value combine(const Type* t, MPI_Op op, Value a, Value b) {
    if (located(op)) return combine_located(op, a, b);
    Value v = {0};
    if (t->kind == kReal || t->kind == kComplex) {
        v.re = op == MPI_SUM   ? a.re + b.re
               : op == MPI_MIN ? (a.re < b.re ? a.re : b.re)
               : op == MPI_MAX ? (a.re > b.re ? a.re : b.re)
                               : a.re * b.re - a.im * b.im;
        if (t->kind == kComplex) v.im = op == MPI_SUM ? a.im + b.im : a.re * b.im + a.im * b.re;
        return v;
    }
    if (op == MPI_SUM) v.bits = a.bits + b.bits;
    if (op == MPI_PROD) v.bits = a.bits * b.bits;
    if (op == MPI_MIN) v.bits = a.re < b.re ? a.bits : b.bits;
    if (op == MPI_MAX) v.bits = a.re > b.re ? a.bits : b.bits;
    if (op == MPI_LAND) v.bits = a.bits && b.bits;
    if (op == MPI_LOR) v.bits = a.bits || b.bits;
    if (op == MPI_LXOR) v.bits = !a.bits != !b.bits;
    if (op == MPI_BAND) v.bits = a.bits & b.bits;
    if (op == MPI_BOR) v.bits = a.bits | b.bits;
    if (op == MPI_BXOR) v.bits = a.bits ^ b.bits;
    v.bits = low_bits(v.bits, t->part);
    v.re = as_real(t, v.bits);
    return v;
}

static int same(const Type* t, Value a, Value b) {
    if (t->kind == kReal) return a.re == b.re;
    if (t->kind == kComplex) return a.re == b.re && a.im == b.im;
    if (t->kind >= kPair) return a.re == b.re && a.index == b.index;
    if (t->kind == kLogical) return !a.bits == !b.bits;
    return a.bits == b.bits;
}

// One rank alone compares logically with itself: only the truth matters, not the representation.
static void verify(const Type* t, const Operator* op, const Group* g, const unsigned char* data,
                   int count, uint64_t key, const char* call) {
    for (int i = 0; i < count; ++i) {
        Value want = input(t, op->handle, key, 0, i);
        for (int r = 1; r < g->size; ++r) {
            want = combine(t, op->handle, want, input(t, op->handle, key, r, i));
        }
        const Value got = load(t, data + (size_t)i * t->extent);
        const int truth = logical(op->handle) && !want.bits == !got.bits && g->size == 1;
        if (truth || same(t, want, got)) continue;
        expect(0, "%s of %d %s by %s on %s: element %d is %Lg %Lg %lld, not %Lg %Lg %lld", call,
               count, t->name, op->name, g->name, i, got.re, got.im, got.index, want.re, want.im,
               want.index);
        return;
    }
    expect(1, "%s", call);
}

static void write_inputs(const Type* t, const Operator* op, int rank, unsigned char* data,
                         int count, uint64_t key) {
    for (int i = 0; i < count; ++i) {
        store(t, data + (size_t)i * t->extent, input(t, op->handle, key, rank, i));
    }
}

static void try_allreduce(const Type* t, const Operator* op, const Group* g, int count,
                          uint64_t key) {
    const size_t bytes = (size_t)count * t->extent;
    const int in_place = key % 3 == 0;
    Buffer send = make_buffer(bytes, 0), recv = make_buffer(bytes, 0);
    write_inputs(t, op, g->rank, in_place ? recv.data : send.data, count, key);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : (void*)send.data, recv.data, count, t->handle,
                  op->handle, g->comm);
    verify(t, op, g, recv.data, count, key, in_place ? "Allreduce in place" : "Allreduce");
    drop_buffer(&recv, "Allreduce");
    drop_buffer(&send, "Allreduce");
}

static void try_reduce(const Type* t, const Operator* op, const Group* g, int count, uint64_t key) {
    const size_t bytes = (size_t)count * t->extent;
    const int root = (int)(key % (uint64_t)g->size);
    const int in_place = g->rank == root && key % 4 == 1;
    Buffer send = make_buffer(bytes, 0), recv = make_buffer(bytes, 0);
    write_inputs(t, op, g->rank, in_place ? recv.data : send.data, count, key);
    // The receive buffer is not significant at the others: a wild pointer there must not matter.
    void* to = g->rank == root ? (void*)recv.data : (void*)24;
    MPI_Reduce(in_place ? MPI_IN_PLACE : (void*)send.data, to, count, t->handle, op->handle, root,
               g->comm);
    if (g->rank == root) verify(t, op, g, recv.data, count, key, "Reduce");
    if (g->rank != root) expect(is_poison(&recv), "Reduce wrote at a rank that is not the root");
    drop_buffer(&recv, "Reduce");
    drop_buffer(&send, "Reduce");
}

static Type make_type(MPI_Datatype handle, const char* name, Kind kind, size_t part) {
    Type t = {handle, name, kind, part, part};
    if (kind == kComplex || kind == kTwinReal || kind == kTwinInt) t.extent = 2 * part;
    MPI_Aint low, extent;
    int size = 0;
    if (handle != MPI_DATATYPE_NULL) MPI_Type_size(handle, &size);
    if (size <= 0) {
        t.handle = MPI_DATATYPE_NULL;  // this build of the MPI lacks it
        return t;
    }
    MPI_Type_get_extent(handle, &low, &extent);
    t.extent = (size_t)extent;
    if (t.part == 0) t.part = kind == kComplex ? (size_t)size / 2 : (size_t)size;
    return t;
}

static int make_c_types(Type* t) {
    int n = 0;
    t[n++] = make_type(MPI_SIGNED_CHAR, "SIGNED_CHAR", kSigned, 1);
    t[n++] = make_type(MPI_SHORT, "SHORT", kSigned, sizeof(short));
    t[n++] = make_type(MPI_INT, "INT", kSigned, sizeof(int));
    t[n++] = make_type(MPI_LONG, "LONG", kSigned, sizeof(long));
    t[n++] = make_type(MPI_LONG_LONG, "LONG_LONG", kSigned, sizeof(long long));
    t[n++] = make_type(MPI_INT8_T, "INT8_T", kSigned, 1);
    t[n++] = make_type(MPI_INT16_T, "INT16_T", kSigned, 2);
    t[n++] = make_type(MPI_INT32_T, "INT32_T", kSigned, 4);
    t[n++] = make_type(MPI_INT64_T, "INT64_T", kSigned, 8);
    t[n++] = make_type(MPI_AINT, "AINT", kInteger, sizeof(MPI_Aint));
    t[n++] = make_type(MPI_OFFSET, "OFFSET", kInteger, sizeof(MPI_Offset));
    t[n++] = make_type(MPI_COUNT, "COUNT", kInteger, sizeof(MPI_Count));
    t[n++] = make_type(MPI_UNSIGNED_CHAR, "UNSIGNED_CHAR", kUnsigned, 1);
    t[n++] = make_type(MPI_UNSIGNED_SHORT, "UNSIGNED_SHORT", kUnsigned, sizeof(short));
    t[n++] = make_type(MPI_UNSIGNED, "UNSIGNED", kUnsigned, sizeof(int));
    t[n++] = make_type(MPI_UNSIGNED_LONG, "UNSIGNED_LONG", kUnsigned, sizeof(long));
    t[n++] = make_type(MPI_UNSIGNED_LONG_LONG, "UNSIGNED_LONG_LONG", kUnsigned, 8);
    t[n++] = make_type(MPI_UINT8_T, "UINT8_T", kUnsigned, 1);
    t[n++] = make_type(MPI_UINT16_T, "UINT16_T", kUnsigned, 2);
    t[n++] = make_type(MPI_UINT32_T, "UINT32_T", kUnsigned, 4);
    t[n++] = make_type(MPI_UINT64_T, "UINT64_T", kUnsigned, 8);
    t[n++] = make_type(MPI_C_BOOL, "C_BOOL", kLogical, sizeof(bool));
    t[n++] = make_type(MPI_BYTE, "BYTE", kByte, 1);
    t[n++] = make_type(MPI_FLOAT, "FLOAT", kReal, sizeof(float));
    t[n++] = make_type(MPI_DOUBLE, "DOUBLE", kReal, sizeof(double));
    t[n++] = make_type(MPI_LONG_DOUBLE, "LONG_DOUBLE", kReal, sizeof(long double));
    t[n++] = make_type(MPI_C_FLOAT_COMPLEX, "C_FLOAT_COMPLEX", kComplex, 4);
    t[n++] = make_type(MPI_C_DOUBLE_COMPLEX, "C_DOUBLE_COMPLEX", kComplex, 8);
    t[n++] = make_type(MPI_C_LONG_DOUBLE_COMPLEX, "C_LONG_DOUBLE_COMPLEX", kComplex, 16);
    t[n++] = make_type(MPI_FLOAT_INT, "FLOAT_INT", kPair, sizeof(float));
    t[n++] = make_type(MPI_DOUBLE_INT, "DOUBLE_INT", kPair, sizeof(double));
    t[n++] = make_type(MPI_LONG_INT, "LONG_INT", kPair, sizeof(long));
    t[n++] = make_type(MPI_2INT, "2INT", kTwinInt, sizeof(int));
    t[n++] = make_type(MPI_SHORT_INT, "SHORT_INT", kPair, sizeof(short));
    t[n++] = make_type(MPI_LONG_DOUBLE_INT, "LONG_DOUBLE_INT", kPair, sizeof(long double));
    return n;
}

static int make_other_types(Type* t) {
    int n = 0;
    t[n++] = make_type(MPI_CXX_BOOL, "CXX_BOOL", kLogical, 1);
    t[n++] = make_type(MPI_CXX_FLOAT_COMPLEX, "CXX_FLOAT_COMPLEX", kComplex, 4);
    t[n++] = make_type(MPI_CXX_DOUBLE_COMPLEX, "CXX_DOUBLE_COMPLEX", kComplex, 8);
    t[n++] = make_type(MPI_INTEGER, "INTEGER", kInteger, 0);
    t[n++] = make_type(MPI_REAL, "REAL", kReal, 0);
    t[n++] = make_type(MPI_DOUBLE_PRECISION, "DOUBLE_PRECISION", kReal, 0);
    t[n++] = make_type(MPI_COMPLEX, "COMPLEX", kComplex, 0);
    t[n++] = make_type(MPI_DOUBLE_COMPLEX, "DOUBLE_COMPLEX", kComplex, 0);
    t[n++] = make_type(MPI_LOGICAL, "LOGICAL", kLogical, 0);
    t[n++] = make_type(MPI_INTEGER1, "INTEGER1", kInteger, 1);
    t[n++] = make_type(MPI_INTEGER2, "INTEGER2", kInteger, 2);
    t[n++] = make_type(MPI_INTEGER4, "INTEGER4", kInteger, 4);
    t[n++] = make_type(MPI_INTEGER8, "INTEGER8", kInteger, 8);
    t[n++] = make_type(MPI_REAL4, "REAL4", kReal, 4);
    t[n++] = make_type(MPI_REAL8, "REAL8", kReal, 8);
    t[n++] = make_type(MPI_COMPLEX8, "COMPLEX8", kComplex, 4);
    t[n++] = make_type(MPI_COMPLEX16, "COMPLEX16", kComplex, 8);
    t[n++] = make_type(MPI_2REAL, "2REAL", kTwinReal, 4);
    t[n++] = make_type(MPI_2DOUBLE_PRECISION, "2DOUBLE_PRECISION", kTwinReal, 8);
    t[n++] = make_type(MPI_2INTEGER, "2INTEGER", kTwinInt, 4);
    return n;
}

// Whether this MPI itself combines the two, and rightly (some get unsigned minima wrong, and the
// calls before Tutti takes over are the MPI's). Local, so the answer is the same on all ranks.
static int host_reduces(const Type* t, MPI_Op op) {
    enum { kTries = 64 };
    unsigned char* left = calloc(kTries, t->extent);
    unsigned char* right = calloc(kTries, t->extent);
    Value want[kTries];
    for (int i = 0; i < kTries; ++i) {
        const Value a = input(t, op, 1, 0, i), b = input(t, op, 1, 1, i);
        store(t, left + (size_t)i * t->extent, a);
        store(t, right + (size_t)i * t->extent, b);
        want[i] = combine(t, op, a, b);
    }
    int right_result = MPI_Reduce_local(left, right, kTries, t->handle, op) == MPI_SUCCESS;
    for (int i = 0; i < kTries && right_result; ++i) {
        right_result = same(t, want[i], load(t, right + (size_t)i * t->extent));
    }
    free(left);
    free(right);
    return right_result;
}

static const Operator* operators(void) {
    static Operator all[13];
    const Operator list[] = {{MPI_SUM, "SUM"},   {MPI_PROD, "PROD"},     {MPI_MIN, "MIN"},
                             {MPI_MAX, "MAX"},   {MPI_LAND, "LAND"},     {MPI_LOR, "LOR"},
                             {MPI_LXOR, "LXOR"}, {MPI_BAND, "BAND"},     {MPI_BOR, "BOR"},
                             {MPI_BXOR, "BXOR"}, {MPI_MINLOC, "MINLOC"}, {MPI_MAXLOC, "MAXLOC"},
                             {MPI_OP_NULL, NULL}};
    memcpy(all, list, sizeof list);
    return all;
}

static int try_group(const Group* g, const Type* types, int type_count, const int* counts,
                     int count_count) {
    uint64_t key = 0;
    int combinations = 0;
    for (int i = 0; i < type_count; ++i) {
        if (types[i].handle == MPI_DATATYPE_NULL) continue;
        for (const Operator* op = operators(); op->name; ++op) {
            if (!allowed(&types[i], op->handle)) continue;
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
            const int usable = host_reduces(&types[i], op->handle);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
            if (!usable) continue;
            ++combinations;
            for (int k = 0; k < count_count; ++k) {
                try_allreduce(&types[i], op, g, counts[k], ++key);
                try_reduce(&types[i], op, g, counts[k], ++key);
            }
        }
        MPI_Barrier(g->comm);
    }
    return combinations;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int counts[16] = {1, 3, 17, 200}, count_count = 4;
    if (argc > 1) count_count = 0;
    for (int i = 1; i < argc && i < 16; ++i) counts[count_count++] = atoi(argv[i]);
    Type types[64];
    int type_count = make_c_types(types);
    type_count += make_other_types(types + type_count);
    int combinations = 0;
    Group groups[kGroupsMax];
    const int group_count = make_groups(groups);
    for (int i = 0; i < group_count; ++i) {
        if (groups[i].comm == MPI_COMM_NULL) continue;
        // World and reversed ranks see everything, the others a few types.
        const int whole = i == 0 || i == 3;
        const int made =
            try_group(&groups[i], types, whole ? type_count : 6, counts, whole ? count_count : 1);
        if (i == 0) combinations = made;
    }
    expect(combinations >= 150, "only %d combinations of type and operator", combinations);
    free_groups(groups, group_count);
    return finish();
}
