// SPDX-License-Identifier: BSD-3-Clause
// A reduction that is repeated on one communicator gives the same bits each time, from the first
// call on (MPI 4.1, section 6.9.1, "Advice to implementors"). Each kind of call has a new
// communicator, on which it is the first.
//
//   same_bits CALLS [COUNT...]
//
// Operands are such that their sum depends on the order: magnitudes from 2^-20 to 2^20.
#include <complex.h>

#include "support.h"

enum { kBlocksMax = 16 };

static int rank, size;

// Not exact, and user-defined: the MPI cannot know that the order matters.
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    const double* left = in;
    double* right = inout;
    for (int i = 0; i < *count; ++i) right[i] += left[i];
}

static double operand(uint64_t seed) {
    const uint64_t bits = mix(seed);
    const double fraction = (double)(bits >> 11) / (double)(1ull << 53) - 0.5;
    return fraction * (double)(1ull << (bits % 41)) / (double)(1ull << 20);
}

typedef struct {
    const char* name;
    MPI_Datatype type;
    size_t bytes;
    size_t value_bytes;  // of one number; padding has no value
} Element;

static void fill_operands(void* data, const Element* element, int count) {
    char* at = data;
    for (int i = 0; i < count; ++i, at += element->bytes) {
        const double value = operand((uint64_t)rank * 7919 + (uint64_t)i * 31);
        if (element->type == MPI_FLOAT) {
            *(float*)at = (float)value;
        } else if (element->type == MPI_DOUBLE) {
            *(double*)at = value;
        } else if (element->type == MPI_LONG_DOUBLE) {
            *(long double*)at = (long double)value;
        } else {
            *(double complex*)at = value + I * operand((uint64_t)i * 17 + (uint64_t)rank);
        }
    }
}

static int call(int kind, const void* in, void* out, int count, const Element* element, MPI_Op op,
                MPI_Comm comm) {
    switch (kind) {
        case 0:
            return MPI_Allreduce(in, out, count, element->type, op, comm);
        case 1:
            return MPI_Reduce(in, out, count, element->type, op, 0, comm);
        case 2:
            return MPI_Reduce(in, out, count, element->type, op, size - 1, comm);
        case 3:
            return MPI_Reduce_scatter_block(in, out, count, element->type, op, comm);
        case 4:
            return MPI_Scan(in, out, count, element->type, op, comm);
        default:
            return MPI_Exscan(in, out, count, element->type, op, comm);
    }
}

static int has_result(int kind) {
    if (kind == 5) return rank > 0;
    return kind == 1 ? rank == 0 : kind == 2 ? rank == size - 1 : 1;
}

// Of what counts as the value of a number; a long double has 10 bytes of 16.
static int differ(const char* a, const char* b, const Element* element, int count) {
    for (int i = 0; i < count; ++i) {
        if (memcmp(a + i * element->bytes, b + i * element->bytes, element->value_bytes)) return 1;
    }
    return 0;
}

static void repeat(int kind, const Element* element, MPI_Op op, int count, int calls) {
    static const char* const kNames[] = {
        "allreduce", "reduce to 0", "reduce to the last", "reduce_scatter_block", "scan", "exscan"};
    const int given = kind == 3 ? count * size : count;
    const size_t bytes = (size_t)count * element->bytes;
    char* in = calloc((size_t)given, element->bytes);
    char *first = calloc(1, bytes), *out = calloc(1, bytes);
    fill_operands(in, element, given);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int changed_at = -1;
    for (int turn = 0; turn < calls; ++turn) {
        char* to = turn == 0 ? first : out;
        call(kind, in, to, count, element, op, comm);
        if (turn > 0 && changed_at < 0 && has_result(kind) && differ(first, out, element, count)) {
            changed_at = turn;
        }
    }
    expect(changed_at < 0, "%s of %d %s has other bits from call %d on", kNames[kind], count,
           element->name, changed_at);
    MPI_Comm_free(&comm);
    free(in), free(first), free(out);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const Element elements[] = {
        {"float", MPI_FLOAT, sizeof(float), sizeof(float)},
        {"double", MPI_DOUBLE, sizeof(double), sizeof(double)},
        {"long double", MPI_LONG_DOUBLE, sizeof(long double), 10},
        {"double complex", MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double), 2 * sizeof(double)},
    };
    MPI_Op user;
    MPI_Op_create(add, 1, &user);
    const int calls = argc > 1 ? atoi(argv[1]) : 6;
    for (int kind = 0; kind < 6; ++kind) {
        for (int i = 2; i < (argc > 2 ? argc : 3); ++i) {
            const int count = argc > 2 ? atoi(argv[i]) : 3;
            for (int e = 0; e < 4; ++e) repeat(kind, &elements[e], MPI_SUM, count, calls);
            repeat(kind, &elements[1], user, count, calls);
        }
    }
    MPI_Op_free(&user);
    return finish();
}
