// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter: predefined and user operators, in place and not, by all of its names, on blocks
// whose lengths are drawn at random, many of no elements. All ranks know all inputs by formula.
//
//   reduce_vectors [few]
#include "affine.h"

enum { kRanksMax = 16 };

static long long input(uint64_t key, int from, int i) {
    return (long long)(mix(key * 131 + (uint64_t)from * 977 + (uint64_t)i * 5) % 1000);
}

// Lengths of blocks, and where this rank's begins. The same on all ranks.
typedef struct Blocks {
    int counts[kRanksMax];
    MPI_Count large_counts[kRanksMax];
    int all, own, before;
} Blocks;

static Blocks draw_blocks(uint64_t key, int mode, const Group* g) {
    static const int kMost[] = {1, 4, 12, 150, 3000, 30000};
    Blocks b = {{0}, {0}, 0, 0, 0};
    for (int i = 0; i < g->size; ++i) {
        const uint64_t random = mix(key * 17 + (uint64_t)i);
        b.counts[i] = random % 3 ? (int)(random / 3 % (uint64_t)kMost[mode]) : 0;
        // One that holds nearly all.
        if (mode == 5 && key % 2) b.counts[i] = i == (int)(key % (uint64_t)g->size) ? 50000 : i % 3;
        b.large_counts[i] = b.counts[i];
        if (i < g->rank) b.before += b.counts[i];
        b.all += b.counts[i];
    }
    b.own = b.counts[g->rank];
    return b;
}

static void call(uint64_t way, const void* send, void* recv, const Blocks* b, MPI_Datatype type,
                 MPI_Op op, MPI_Comm comm) {
    int status;
    if (way % 3 == 1) {
        status = PMPI_Reduce_scatter(send, recv, b->counts, type, op, comm);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    } else if (way % 3 == 2) {
        status = MPI_Reduce_scatter_c(send, recv, b->large_counts, type, op, comm);
#endif
    } else {
        status = MPI_Reduce_scatter(send, recv, b->counts, type, op, comm);
    }
    expect(status == MPI_SUCCESS, "an error");
}

// The sum and the largest of whole numbers, exact in every type.
#define TEST_TYPE(function, c_type, mpi_type)                                                 \
    static void function(uint64_t key, const Blocks* b, int in_place, const Group* g) {       \
        const size_t all = (size_t)b->all * sizeof(c_type);                                   \
        const size_t own = (size_t)b->own * sizeof(c_type);                                   \
        for (int turn = 0; turn < 2; ++turn) {                                                \
            Buffer send = make_buffer(in_place ? 0 : all, sizeof(c_type) * (key % 3));        \
            Buffer recv = make_buffer(in_place ? all : own, sizeof(c_type) * (key % 5));      \
            c_type* given = (c_type*)(void*)(in_place ? recv.data : send.data);               \
            const c_type* got = (const c_type*)(void*)recv.data;                              \
            for (int i = 0; i < b->all; ++i) given[i] = (c_type)input(key, g->rank, i);       \
            call(key, in_place ? MPI_IN_PLACE : send.data, recv.data, b, mpi_type,            \
                 turn ? MPI_MAX : MPI_SUM, g->comm);                                          \
            for (int i = 0; i < b->own; ++i) {                                                \
                c_type right = (c_type)input(key, 0, b->before + i);                          \
                for (int from = 1; from < g->size; ++from) {                                  \
                    const c_type next = (c_type)input(key, from, b->before + i);              \
                    const c_type more = next > right ? next : right;                          \
                    right = turn ? more : (c_type)(right + next);                             \
                }                                                                             \
                if (!expect(got[i] == right,                                                  \
                            #mpi_type " on %s, %d of %d elements, in place %d, turn %d: %d",  \
                            g->name, b->own, b->all, in_place, turn, i))                      \
                    break;                                                                    \
            }                                                                                 \
            for (int i = 0; i < b->all && !in_place; ++i) {                                   \
                if (!expect(given[i] == (c_type)input(key, g->rank, i), "the input changed")) \
                    break;                                                                    \
            }                                                                                 \
            drop_buffer(&send, #mpi_type);                                                    \
            drop_buffer(&recv, #mpi_type);                                                    \
        }                                                                                     \
    }
TEST_TYPE(test_long_long, long long, MPI_LONG_LONG)
TEST_TYPE(test_double, double, MPI_DOUBLE)
TEST_TYPE(test_short, short, MPI_SHORT)

static void test_user(uint64_t key, const Blocks* b, int in_place, MPI_Datatype type, MPI_Op op,
                      const Group* g) {
    const size_t all = (size_t)b->all * sizeof(Affine), own = (size_t)b->own * sizeof(Affine);
    Buffer send = make_buffer(in_place ? 0 : all, 0), recv = make_buffer(in_place ? all : own, 0);
    Affine* given = (Affine*)(void*)(in_place ? recv.data : send.data);
    const Affine* got = (const Affine*)(void*)recv.data;
    for (int i = 0; i < b->all; ++i) given[i] = affine(input(key, g->rank, i), g->rank);
    call(key, in_place ? MPI_IN_PLACE : send.data, recv.data, b, type, op, g->comm);
    for (int i = 0; i < b->own; ++i) {
        Affine right = affine(input(key, 0, b->before + i), 0);
        for (int from = 1; from < g->size; ++from) {
            Affine next = affine(input(key, from, b->before + i), from);
            int one = 1;
            compose(&right, &next, &one, NULL);
            right = next;
        }
        if (!expect(is_affine(got[i], right), "user operator on %s, in place %d: element %d of %d",
                    g->name, in_place, i, b->own))
            break;
    }
    drop_buffer(&send, "user operator");
    drop_buffer(&recv, "user operator");
}

// C structs with padding, by a predefined operator. Of equal values the lower rank's index stays.
typedef struct Place {
    double value;
    int index;
} Place;

static void test_places(uint64_t key, const Blocks* b, int in_place, const Group* g) {
    Place *in = calloc((size_t)b->all + 1, sizeof *in),
          *out = calloc((size_t)b->all + 1, sizeof *out);
    Place* given = in_place ? out : in;
    for (int i = 0; i < b->all; ++i) {
        given[i] = (Place){(double)(input(key, g->rank, i) % 4), g->rank};
    }
    call(key, in_place ? MPI_IN_PLACE : in, out, b, MPI_DOUBLE_INT, MPI_MAXLOC, g->comm);
    for (int i = 0; i < b->own; ++i) {
        Place right = {-1, -1};
        for (int from = 0; from < g->size; ++from) {
            const double value = (double)(input(key, from, b->before + i) % 4);
            if (value > right.value) right = (Place){value, from};
        }
        if (!expect(out[i].value == right.value && out[i].index == right.index,
                    "MAXLOC on %s: element %d", g->name, i))
            break;
    }
    free(in), free(out);
}

static void try_group(const Group* g, uint64_t key, int turns, MPI_Datatype type, MPI_Op op) {
    for (int turn = 0; turn < turns; ++turn) {
        for (int mode = 0; mode < 6; ++mode) {
            for (int in_place = 0; in_place < 2; ++in_place, ++key) {
                const Blocks b = draw_blocks(key, mode, g);
                test_long_long(key, &b, in_place, g);
                test_double(key, &b, in_place, g);
                test_short(key, &b, in_place, g);
                test_user(key, &b, in_place, type, op, g);
                test_places(key, &b, in_place, g);
            }
        }
        const Blocks none = {{0}, {0}, 0, 0, 0};
        call((uint64_t)turn, NULL, NULL, &none, MPI_INT, MPI_SUM, g->comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Datatype type = make_affine_type();
    MPI_Op op;
    MPI_Op_create(compose, 0, &op);
    Group groups[kGroupsMax];
    const int count = make_groups(groups);
    for (int i = 0; i < count; ++i) {
        if (groups[i].comm == MPI_COMM_NULL) continue;
        try_group(&groups[i], (uint64_t)(1000 * i), i == 0 && argc == 1 ? 5 : 1, type, op);
    }
    free_groups(groups, count);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    return finish();
}
