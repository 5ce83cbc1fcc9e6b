// SPDX-License-Identifier: BSD-3-Clause
// TUTTI_VERIFY: whether two results of one call may both be right. Knows no MPI and no ranks.
//
// Data that is moved, and reductions of integers, agree in every bit. Floating point may not: the
// order of operands is free. Letters: p operands x_i, u = half the distance from 1 to the next
// number, g(k) = k u / (1 - k u). Source: Higham, Accuracy and Stability of Numerical Algorithms,
// 2002, section 4.2 (sums in any order) and section 3.1 (products).
//   sum      each result is within g(p-1) sum |x_i| of the true one, so two are within twice that
//   product  within g(p-1) of the true one, relatively; complex: g(4(p-1)) of the modulus, since
//            one complex product has an error below sqrt(5) u of it (Brent, Percival, Zimmermann)
//   min, max exact, where no operand is a NaN
// What overflows in one order need not in another: the magnitudes below say where that can be, and
// there nothing is decided ("uncertain").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tutti/tutti.h"

namespace tutti::mpi {

const char* dtype_name(tutti_dtype dtype);  // "int32", "double"
const char* op_name(tutti_op op);           // "sum"

// The bound needs to know how large the operands were: each rank's magnitudes, added up over all
// ranks as doubles.
bool needs_magnitudes(tutti_dtype dtype, tutti_op op);
size_t magnitudes_per_element(tutti_dtype dtype, tutti_op op);
void fill_magnitudes(tutti_dtype dtype, tutti_op op, const std::byte* operands, size_t count,
                     double* magnitudes);

// Integers of 8 and 16 bits: hosts are known to let their sums saturate, or to compare unsigned
// ones as signed. They are reduced as int64 instead, and cut again, which all operators allow.
bool is_narrow(tutti_dtype dtype);
void widen(tutti_dtype dtype, const std::byte* from, size_t count, int64_t* to);
void cut(tutti_dtype dtype, const int64_t* from, size_t count, std::byte* to);

struct Comparison {
    uint64_t different = 0;  // elements
    uint64_t uncertain = 0;
    uint64_t first = 0;  // the first element that differs; the rest is about it
    std::string tutti;
    std::string host;
    std::string allowed;  // by which they may differ; empty where they may not
};

struct Reduced {
    tutti_dtype dtype;
    tutti_op op;
    uint32_t ranks;
    const std::byte* tutti;
    const std::byte* host;
    const double* magnitudes;  // of all ranks together; null where none are needed
};
// Adds elements [first, first + count) to `to`; all arrays begin with element `first`.
void compare_reduced(const Reduced& what, uint64_t first, size_t count, Comparison& to);

// Bit by bit; `element_bytes` only says what an element is.
Comparison compare_bytes(const std::byte* tutti, const std::byte* host, size_t bytes,
                         size_t element_bytes);

// Whether call number `call` of communicator `number` is among the share: alike for all who know
// these.
bool is_chosen(double share, uint64_t seed, uint64_t number, uint64_t call);

}  // namespace tutti::mpi
