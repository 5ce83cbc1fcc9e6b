// SPDX-License-Identifier: BSD-3-Clause
// User operators: commutative and not, on contiguous and on derived types with gaps and negative
// bounds. The operators that do not commute are associative, so any bracketing is right and any
// other order than by rank is wrong.
#include <stddef.h>

#include "support.h"

enum { kPrime = 65521, kCountsMax = 8 };

// Every call of an operator must name this type: MPI hands the caller's own handle to it.
static MPI_Datatype expected_type;
static int wrong_types = 0;

static void note_type(const MPI_Datatype* type) {
    if (*type != expected_type) __atomic_add_fetch(&wrong_types, 1, __ATOMIC_RELAXED);
}

// 2 x 2 matrices modulo a prime; inout = in * inout, since the left operand is `in`.
typedef struct Matrix {
    uint32_t cell[4];
} Matrix;

static Matrix times(Matrix a, Matrix b) {
    Matrix c;
    for (int i = 0; i < 4; ++i) {
        const uint64_t sum = (uint64_t)a.cell[i / 2 * 2] * b.cell[i % 2] +
                             (uint64_t)a.cell[i / 2 * 2 + 1] * b.cell[2 + i % 2];
        c.cell[i] = (uint32_t)(sum % kPrime);
    }
    return c;
}

static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
    note_type(type);
    const Matrix* left = in;
    Matrix* right = inout;
    for (int i = 0; i < *count; ++i) right[i] = times(left[i], right[i]);
}

static Matrix matrix_of(uint64_t key, int rank, int i) {
    Matrix m;
    for (int k = 0; k < 4; ++k) {
        m.cell[k] =
            (uint32_t)(mix(key * 31 + (uint64_t)(rank * 4 + k) * 977 + (uint64_t)i) % kPrime);
    }
    return m;
}

// A run of ranks. Joining two neighbours gives the longer run; anything else breaks it for good.
// It stands in memory with a gap, the type has a negative lower bound, and the gap must survive.
typedef struct Run {
    int first;
    int gap;
    int last;
    int tail[2];
} Run;

enum { kBroken = -1, kGap = 0x5A5A5A5A };

static void join(void* in, void* inout, int* count, MPI_Datatype* type) {
    note_type(type);
    const Run* left = in;
    Run* right = inout;
    for (int i = 0; i < *count; ++i) {
        const int fits = left[i].last + 1 == right[i].first && left[i].first != kBroken;
        right[i].first = fits ? left[i].first : kBroken;
        right[i].last = fits ? right[i].last : kBroken - 2;
    }
}

// Commutative: sum of the double and bitwise or of the char of a C struct with padding.
typedef struct Record {
    char flags;
    double amount;
} Record;

static void add_records(void* in, void* inout, int* count, MPI_Datatype* type) {
    note_type(type);
    const Record* left = in;
    Record* right = inout;
    for (int i = 0; i < *count; ++i) {
        right[i].flags = (char)(right[i].flags | left[i].flags);
        right[i].amount += left[i].amount;
    }
}

typedef struct Ops {
    MPI_Datatype matrix, run, record;
    MPI_Op multiply, join, add;
} Ops;

static Ops make_ops(void) {
    Ops ops;
    MPI_Type_contiguous(4, MPI_UINT32_T, &ops.matrix);
    MPI_Type_commit(&ops.matrix);
    MPI_Datatype plain;
    const int where[2] = {0, 2}, one[2] = {1, 1};
    MPI_Type_indexed(2, one, where, MPI_INT, &plain);
    MPI_Type_create_resized(plain, -4, sizeof(Run), &ops.run);
    MPI_Type_commit(&ops.run);
    MPI_Type_free(&plain);
    const MPI_Aint places[2] = {offsetof(Record, flags), offsetof(Record, amount)};
    const MPI_Datatype parts[2] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Type_create_struct(2, one, places, parts, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(Record), &ops.record);
    MPI_Type_commit(&ops.record);
    MPI_Type_free(&plain);
    MPI_Op_create(multiply, 0, &ops.multiply);
    MPI_Op_create(join, 0, &ops.join);
    MPI_Op_create(add_records, 1, &ops.add);
    return ops;
}

// Runs Allreduce (root < 0) or Reduce on `size` bytes an element; returns the result's buffer.
static Buffer reduce_any(const Group* g, const Buffer* input, int count, MPI_Datatype type,
                         MPI_Op op, int root, int in_place) {
    Buffer out = make_buffer(input->bytes, 0);
    const int receives = root < 0 || g->rank == root;
    const void* send = input->data;
    if (in_place && receives) {
        memcpy(out.data, input->data, input->bytes);
        send = MPI_IN_PLACE;
    }
    expected_type = type;
    if (root < 0) {
        MPI_Allreduce(send, out.data, count, type, op, g->comm);
    } else {
        MPI_Reduce(send, receives ? out.data : NULL, count, type, op, root, g->comm);
    }
    return out;
}

static void try_matrices(const Group* g, const Ops* ops, int count, int root, uint64_t key) {
    Buffer in = make_buffer((size_t)count * sizeof(Matrix), 0);
    Matrix* mine = (Matrix*)(void*)in.data;
    for (int i = 0; i < count; ++i) mine[i] = matrix_of(key, g->rank, i);
    Buffer out = reduce_any(g, &in, count, ops->matrix, ops->multiply, root, key % 2 == 0);
    const Matrix* got = (const Matrix*)(void*)out.data;
    for (int i = 0; i < count && (root < 0 || g->rank == root); ++i) {
        Matrix want = matrix_of(key, 0, i);
        for (int r = 1; r < g->size; ++r) want = times(want, matrix_of(key, r, i));
        if (!expect(!memcmp(&want, &got[i], sizeof want), "matrix %d of %d on %s, root %d", i,
                    count, g->name, root)) {
            break;
        }
    }
    drop_buffer(&out, "matrices");
    drop_buffer(&in, "matrices");
}

static void try_runs(const Group* g, const Ops* ops, int count, int root, uint64_t key) {
    Buffer in = make_buffer((size_t)count * sizeof(Run), 0);
    Run* mine = (Run*)(void*)in.data;
    for (int i = 0; i < count; ++i) mine[i].first = mine[i].last = g->rank;
    Buffer out = reduce_any(g, &in, count, ops->run, ops->join, root, key % 2 == 1);
    const Run* got = (const Run*)(void*)out.data;
    const int receives = root < 0 || g->rank == root;
    for (int i = 0; i < count && receives; ++i) {
        const int ordered = got[i].first == 0 && got[i].last == g->size - 1;
        if (!expect(ordered, "run %d of %d on %s, root %d: %d to %d", i, count, g->name, root,
                    got[i].first, got[i].last)) {
            break;
        }
        const int whole = got[i].gap == kGap && got[i].tail[0] == kGap && got[i].tail[1] == kGap;
        if (!expect(whole, "run %d of %d on %s: gap overwritten", i, count, g->name)) break;
    }
    drop_buffer(&out, "runs");
    drop_buffer(&in, "runs");
}

static void try_records(const Group* g, const Ops* ops, int count, int root, uint64_t key) {
    Buffer in = make_buffer((size_t)count * sizeof(Record), 0);
    Record* mine = (Record*)(void*)in.data;
    for (int i = 0; i < count; ++i) {
        mine[i].flags = (char)(1 << (g->rank + i) % 7);
        mine[i].amount = (g->rank + 1) * (i % 1000) / 4.0;
    }
    Buffer out = reduce_any(g, &in, count, ops->record, ops->add, root, key % 2 == 0);
    const Record* got = (const Record*)(void*)out.data;
    for (int i = 0; i < count && (root < 0 || g->rank == root); ++i) {
        int flags = 0;
        for (int r = 0; r < g->size; ++r) flags |= 1 << (r + i) % 7;
        const double amount = g->size * (g->size + 1) / 2 * (i % 1000) / 4.0;
        if (!expect(got[i].flags == flags && got[i].amount == amount, "record %d of %d on %s", i,
                    count, g->name)) {
            break;
        }
    }
    drop_buffer(&out, "records");
    drop_buffer(&in, "records");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    static const int counts[] = {0, 1, 2, 7, 100, 1025, 20001};
    Ops ops = make_ops();
    Group groups[kGroupsMax];
    const int group_count = make_groups(groups);
    for (int k = 0; k < group_count; ++k) {
        const Group* g = &groups[k];
        if (g->comm == MPI_COMM_NULL) continue;
        uint64_t key = 0;
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
            // Every root for small ones, Allreduce (-1) always.
            const int roots = counts[c] <= 100 ? g->size : 1;
            for (int root = -1; root < roots; ++root) {
                ++key;
                try_matrices(g, &ops, counts[c], root, key);
                try_runs(g, &ops, counts[c], root, key);
                try_records(g, &ops, counts[c], root, key);
            }
        }
    }
    expect(wrong_types == 0, "an operator was called %d times with another type", wrong_types);
    MPI_Op_free(&ops.multiply);
    MPI_Op_free(&ops.join);
    MPI_Op_free(&ops.add);
    MPI_Type_free(&ops.matrix);
    MPI_Type_free(&ops.run);
    MPI_Type_free(&ops.record);
    free_groups(groups, group_count);
    return finish();
}
