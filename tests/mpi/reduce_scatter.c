// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter_block: predefined and user operators, in place and not, by all of its names, on
// blocks of every length. All ranks know all inputs by formula.
#include "affine.h"

static int rank, size;

static long long input(uint64_t key, int from, int block, int i) {
    return (long long)(mix(key * 131 + (uint64_t)from * 977 + (uint64_t)(block * 5 + i)) % 1000);
}

static int call(int way, const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm) {
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    if (way % 3 == 2) return MPI_Reduce_scatter_block_c(send, recv, count, type, op, comm);
#endif
    if (way % 3 == 1) return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
    return MPI_Reduce_scatter_block(send, recv, count, type, op, comm);
}

// The sum and the largest of whole numbers, exact in every type.
#define TEST_TYPE(name, c_type, mpi_type)                                                          \
    static void name(uint64_t key, int count, int in_place, MPI_Comm comm) {                       \
        const size_t all = (size_t)count * (size_t)size;                                           \
        c_type* send = malloc((all + 1) * sizeof *send);                                           \
        c_type* recv = malloc((all + 2) * sizeof *recv);                                           \
        for (int turn = 0; turn < 2; ++turn) {                                                     \
            c_type* given = in_place ? recv : send;                                                \
            memset(recv, 0x5A, (all + 2) * sizeof *recv);                                          \
            for (size_t i = 0; i < all; ++i) {                                                     \
                given[i] =                                                                         \
                    (c_type)input(key, rank, (int)(i / (size_t)count), (int)(i % (size_t)count));  \
            }                                                                                      \
            const c_type behind = recv[in_place ? all : (size_t)count];                            \
            call((int)key, in_place ? MPI_IN_PLACE : send, recv, count, mpi_type,                  \
                 turn ? MPI_MAX : MPI_SUM, comm);                                                  \
            for (int i = 0; i < count; ++i) {                                                      \
                c_type right = (c_type)input(key, 0, rank, i);                                     \
                for (int from = 1; from < size; ++from) {                                          \
                    const c_type next = (c_type)input(key, from, rank, i);                         \
                    if (turn) {                                                                    \
                        right = next > right ? next : right;                                       \
                    } else {                                                                       \
                        right = (c_type)(right + next);                                            \
                    }                                                                              \
                }                                                                                  \
                if (!expect(recv[i] == right, #mpi_type ", %d elements, in place %d, turn %d: %d", \
                            count, in_place, turn, i))                                             \
                    break;                                                                         \
            }                                                                                      \
            expect(recv[in_place ? all : (size_t)count] == behind, "written beyond the end");      \
        }                                                                                          \
        free(send);                                                                                \
        free(recv);                                                                                \
    }
TEST_TYPE(test_long_long, long long, MPI_LONG_LONG)
TEST_TYPE(test_double, double, MPI_DOUBLE)
TEST_TYPE(test_short, short, MPI_SHORT)

static void test_user(uint64_t key, int count, int in_place, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm) {
    const size_t all = (size_t)count * (size_t)size;
    Affine* send = malloc((all + 1) * sizeof *send);
    Affine* recv = malloc((all + 1) * sizeof *recv);
    memset(recv, 0x5A, (all + 1) * sizeof *recv);
    Affine* given = in_place ? recv : send;
    for (size_t i = 0; i < all; ++i) {
        const int block = (int)(i / (size_t)count), at = (int)(i % (size_t)count);
        given[i] = affine(input(key, rank, block, at), rank);
    }
    call((int)key, in_place ? MPI_IN_PLACE : send, recv, count, type, op, comm);
    for (int i = 0; i < count; ++i) {
        Affine right = affine(input(key, 0, rank, i), 0);
        for (int from = 1; from < size; ++from) {
            Affine next = affine(input(key, from, rank, i), from);
            int one = 1;
            compose(&right, &next, &one, NULL);
            right = next;
        }
        const int holds = is_affine(recv[i], right);
        if (!expect(holds, "user operator, %d elements, in place %d: element %d", count, in_place,
                    i))
            break;
    }
    free(send);
    free(recv);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Datatype type = make_affine_type();
    MPI_Op op;
    MPI_Op_create(compose, 0, &op);
    const int counts[] = {1, 7, 8, 40, 128, 129, 1000, 5000, 40000};
    uint64_t key = 1;
    for (int turn = 0; turn < 3; ++turn) {
        for (size_t at = 0; at < sizeof counts / sizeof *counts; ++at) {
            for (int in_place = 0; in_place < 2; ++in_place, ++key) {
                test_long_long(key, counts[at], in_place, MPI_COMM_WORLD);
                test_double(key, counts[at], in_place, MPI_COMM_WORLD);
                test_short(key, counts[at], in_place, MPI_COMM_WORLD);
                test_user(key, counts[at], in_place, type, op, MPI_COMM_WORLD);
            }
        }
        int none, nothing;
        call(turn, &none, &nothing, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    return finish();
}
