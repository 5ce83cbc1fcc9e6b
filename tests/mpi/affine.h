// SPDX-License-Identifier: BSD-3-Clause
// A user's operator that does not commute, on a type with gaps: x -> a x + b modulo 2^32, composed.
// The gaps are not touched.
#ifndef AFFINE_H
#define AFFINE_H

#include "support.h"

typedef struct Affine {
    uint32_t a, gap, b, tail;
} Affine;

enum { kGap = 0x5A5A5A5A };

// x: any number; from: the rank that gives it.
static inline Affine affine(long long x, int from) {
    return (Affine){(uint32_t)(2 * x + 1), kGap, (uint32_t)(x * 7 + from), kGap};
}

static inline void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    const Affine* left = in;
    Affine* right = inout;
    for (int i = 0; i < *count; ++i) {
        right[i].b += right[i].a * left[i].b;
        right[i].a *= left[i].a;
    }
}

// As it should stand in a result.
static inline int is_affine(Affine x, Affine right) {
    return x.a == right.a && x.b == right.b && x.gap == kGap && x.tail == kGap;
}

// A committed type of one Affine without its gaps.
static inline MPI_Datatype make_affine_type(void) {
    int lengths[] = {1, 1, 2};
    const MPI_Aint places[] = {0, 8, 0};
    const MPI_Datatype parts[] = {MPI_UINT32_T, MPI_UINT32_T};
    MPI_Datatype bare, type;
    MPI_Type_create_struct(2, lengths, places, parts, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(Affine), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&bare);
    return type;
}

#endif
