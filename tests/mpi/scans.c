// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan: predefined and user operators, in place and not, by all of their names, on
// vectors of every length and communicators whose ranks stand in other orders. All ranks know all
// inputs by formula. What an exscan has no result for is not touched.
#include "affine.h"

enum { kScan, kExscan, kKinds };

static const char* const kNames[kKinds] = {"scan", "exscan"};

static long long input(uint64_t key, int from, int i) {
    return (long long)(mix(key * 131 + (uint64_t)from * 977 + (uint64_t)i * 5) % 1000);
}

static int call(int kind, int way, const void* send, void* recv, int count, MPI_Datatype type,
                MPI_Op op, MPI_Comm comm) {
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (way % 3 == 2 && kind == kScan) return MPI_Scan_c(send, recv, count, type, op, comm);
    if (way % 3 == 2) return MPI_Exscan_c(send, recv, count, type, op, comm);
#endif
    if (way % 3 == 1 && kind == kScan) return PMPI_Scan(send, recv, count, type, op, comm);
    if (way % 3 == 1) return PMPI_Exscan(send, recv, count, type, op, comm);
    if (kind == kScan) return MPI_Scan(send, recv, count, type, op, comm);
    return MPI_Exscan(send, recv, count, type, op, comm);
}

// How many ranks' operands are in the result.
static int operands(int kind, const Group* g) { return kind == kScan ? g->rank + 1 : g->rank; }

// Where the result goes; not in place, rank 0 of an exscan may give whatever it likes.
static void* result_at(int kind, const Group* g, int in_place, void* memory) {
    return kind == kExscan && g->rank == 0 && !in_place ? (void*)16 : memory;
}

// The sum and the largest of whole numbers, exact in every type.
#define TEST_TYPE(function, c_type, mpi_type)                                                     \
    static void function(int kind, uint64_t key, int count, int in_place, const Group* g) {       \
        const size_t bytes = (size_t)count * sizeof(c_type);                                      \
        for (int turn = 0; turn < 2; ++turn) {                                                    \
            Buffer send = make_buffer(bytes, sizeof(c_type) * (key % 3)), recv;                   \
            recv = make_buffer(bytes, sizeof(c_type) * (key % 5));                                \
            c_type* given = (c_type*)(void*)(in_place ? recv.data : send.data);                   \
            const c_type* got = (const c_type*)(void*)recv.data;                                  \
            for (int i = 0; i < count; ++i) given[i] = (c_type)input(key, g->rank, i);            \
            call(kind, (int)key, in_place ? MPI_IN_PLACE : send.data,                             \
                 result_at(kind, g, in_place, recv.data), count, mpi_type,                        \
                 turn ? MPI_MAX : MPI_SUM, g->comm);                                              \
            const int ranks = operands(kind, g);                                                  \
            for (int i = 0; i < count && ranks > 0; ++i) {                                        \
                c_type right = (c_type)input(key, 0, i);                                          \
                for (int from = 1; from < ranks; ++from) {                                        \
                    const c_type next = (c_type)input(key, from, i);                              \
                    const c_type more = next > right ? next : right;                              \
                    right = turn ? more : (c_type)(right + next);                                 \
                }                                                                                 \
                if (!expect(got[i] == right,                                                      \
                            "%s on %s: " #mpi_type ", %d elements, in place %d, turn %d: %d",     \
                            kNames[kind], g->name, count, in_place, turn, i))                     \
                    break;                                                                        \
            }                                                                                     \
            for (int i = 0; i < count && ranks == 0 && in_place; ++i) {                           \
                if (!expect(got[i] == (c_type)input(key, g->rank, i), "exscan changed rank 0's")) \
                    break;                                                                        \
            }                                                                                     \
            expect(ranks > 0 || in_place || is_poison(&recv), "exscan wrote at rank 0");          \
            for (int i = 0; i < count && !in_place; ++i) {                                        \
                if (!expect(given[i] == (c_type)input(key, g->rank, i), "the input changed"))     \
                    break;                                                                        \
            }                                                                                     \
            drop_buffer(&send, kNames[kind]);                                                     \
            drop_buffer(&recv, kNames[kind]);                                                     \
        }                                                                                         \
    }
TEST_TYPE(test_long_long, long long, MPI_LONG_LONG)
TEST_TYPE(test_double, double, MPI_DOUBLE)
TEST_TYPE(test_short, short, MPI_SHORT)

static void test_user(int kind, uint64_t key, int count, int in_place, MPI_Datatype type, MPI_Op op,
                      const Group* g) {
    Buffer send = make_buffer((size_t)count * sizeof(Affine), 0);
    Buffer recv = make_buffer((size_t)count * sizeof(Affine), 0);
    Affine* given = (Affine*)(void*)(in_place ? recv.data : send.data);
    const Affine* got = (const Affine*)(void*)recv.data;
    for (int i = 0; i < count; ++i) given[i] = affine(input(key, g->rank, i), g->rank);
    call(kind, (int)key, in_place ? MPI_IN_PLACE : send.data,
         result_at(kind, g, in_place, recv.data), count, type, op, g->comm);
    const int ranks = operands(kind, g);
    for (int i = 0; i < count && ranks > 0; ++i) {
        Affine right = affine(input(key, 0, i), 0);
        for (int from = 1; from < ranks; ++from) {
            Affine next = affine(input(key, from, i), from);
            int one = 1;
            compose(&right, &next, &one, NULL);
            right = next;
        }
        const int holds = is_affine(got[i], right);
        if (!expect(holds, "%s on %s, user operator, %d elements, in place %d: element %d",
                    kNames[kind], g->name, count, in_place, i))
            break;
    }
    for (int i = 0; i < count && ranks == 0 && in_place; ++i) {
        if (!expect(is_affine(got[i], affine(input(key, g->rank, i), g->rank)),
                    "exscan changed rank 0's"))
            break;
    }
    expect(ranks > 0 || in_place || is_poison(&recv), "exscan wrote at rank 0");
    drop_buffer(&send, kNames[kind]);
    drop_buffer(&recv, kNames[kind]);
}

// C structs with padding, by a predefined operator. Of equal values the lower rank's index stays.
typedef struct Place {
    double value;
    int index;
} Place;

static void test_places(int kind, uint64_t key, int count, const Group* g) {
    Place *in = calloc((size_t)count + 1, sizeof *in),
          *out = calloc((size_t)count + 1, sizeof *out);
    for (int i = 0; i < count; ++i) in[i] = (Place){(double)(input(key, g->rank, i) % 4), g->rank};
    call(kind, (int)key, in, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, g->comm);
    for (int i = 0; i < count && operands(kind, g) > 0; ++i) {
        Place right = {-1, -1};
        for (int from = 0; from < operands(kind, g); ++from) {
            const double value = (double)(input(key, from, i) % 4);
            if (value > right.value) right = (Place){value, from};
        }
        if (!expect(out[i].value == right.value && out[i].index == right.index,
                    "%s of MAXLOC, %d elements: element %d", kNames[kind], count, i))
            break;
    }
    free(in), free(out);
}

static void try_group(const Group* g, uint64_t key, const int* counts, int many, MPI_Datatype type,
                      MPI_Op op) {
    for (int at = 0; at < many; ++at) {
        for (int kind = 0; kind < kKinds; ++kind) {
            for (int in_place = 0; in_place < 2; ++in_place, ++key) {
                // One near the given one, the same on all ranks.
                const int count = counts[at] + (int)(mix(key) % 3);
                test_long_long(kind, key, count, in_place, g);
                test_double(kind, key, count, in_place, g);
                test_short(kind, key, count, in_place, g);
                test_user(kind, key, count, in_place, type, op, g);
            }
            test_places(kind, key, counts[at], g);
        }
        call(kScan, at, NULL, NULL, 0, MPI_INT, MPI_SUM, g->comm);
        call(kExscan, at, NULL, NULL, 0, MPI_INT, MPI_SUM, g->comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Datatype type = make_affine_type();
    MPI_Op op;
    MPI_Op_create(compose, 0, &op);
    const int counts[] = {1, 4, 7, 40, 127, 1000, 5000, 40000};
    Group groups[kGroupsMax];
    const int count = make_groups(groups);
    for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < count; ++i) {
            if (groups[i].comm == MPI_COMM_NULL) continue;
            try_group(&groups[i], (uint64_t)(1000 * turn + 100 * i), counts, i == 0 ? 8 : 5, type,
                      op);
        }
    }
    free_groups(groups, count);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    return finish();
}
