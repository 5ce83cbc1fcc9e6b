// SPDX-License-Identifier: BSD-3-Clause
// The reduction loops and the table of them. Included once by each of baseline.cpp, avx2.cpp and
// avx512.cpp, which are compiled for different instruction sets.
//
// Invariants:
//   L1  Everything here has internal linkage and calls no inline function from elsewhere. A shared
//       inline function would be emitted by all three sources and the linker would keep one copy,
//       perhaps the one that an older processor cannot run.
//   L2  The bits of a result depend on the operands alone: no contraction to fused multiply-add
//       (-ffp-contract=off), no reassociation, and minimum and maximum name their operand order.
//   L3  out[i] is stored after left[i] and right[i] were read and no other element is touched, so
//       out may be left or right. That is what `ivdep` promises to the compiler: no iteration
//       depends on another. Without it the compiler guards the vector loop by an overlap test
//       that an exact alias fails.
//   L4  Arrays may have any alignment: elements are reached through a packed struct. Padding is
//       neither read nor written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "run/node/kernels/table.h"

namespace tutti::node {
namespace {

template <class T>
struct [[gnu::packed, gnu::may_alias]] Slot {
    T value;
};

// Integers are added and multiplied in an unsigned type that is not promoted to int, so overflow
// wraps as it does in every MPI.
template <class T>
using Arithmetic =
    std::conditional_t<std::is_integral_v<T> && sizeof(T) < sizeof(uint32_t), uint32_t, T>;

// Where both operands are NaN, IEEE 754 leaves open whose payload the result carries. A processor
// takes one by operand order, and the compiler is free to swap the operands of + and *, differently
// in each loop. So NaN op anything is made NaN op the same NaN: the left payload wins.
template <class T>
T unless_nan(T left, T right) {
    if constexpr (std::is_floating_point_v<T>) {
        return left == left ? right : left;
    } else {
        return right;
    }
}

struct Sum {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>(static_cast<Arithmetic<T>>(left) +
                              static_cast<Arithmetic<T>>(unless_nan(left, right)));
    }
};

struct Product {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>(static_cast<Arithmetic<T>>(left) *
                              static_cast<Arithmetic<T>>(unless_nan(left, right)));
    }
};

// With a NaN on either side, or with two zeros of different sign, the right operand wins: this is
// what the processor's own minimum instruction does, in every vector width.
struct Minimum {
    template <class T>
    static T of(T left, T right) {
        return left < right ? left : right;
    }
};

struct Maximum {
    template <class T>
    static T of(T left, T right) {
        return left > right ? left : right;
    }
};

// Logical values: whatever is not zero is true, and true is written as 1.
struct LogicalAnd {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>((left != 0) & (right != 0));
    }
};

struct LogicalOr {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>((left | right) != 0);
    }
};

struct LogicalXor {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>((left != 0) != (right != 0));
    }
};

struct BitAnd {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>(left & right);
    }
};

struct BitOr {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>(left | right);
    }
};

struct BitXor {
    template <class T>
    static T of(T left, T right) {
        return static_cast<T>(left ^ right);
    }
};

template <class T, class Op>
void elements(void* out, const void* left, const void* right, size_t count) {
    auto* result = static_cast<Slot<T>*>(out);
    const auto* lefts = static_cast<const Slot<T>*>(left);
    const auto* rights = static_cast<const Slot<T>*>(right);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i)
        result[i].value = Op::template of<T>(lefts[i].value, rights[i].value);
}

template <class T>
void complex_sum(void* out, const void* left, const void* right, size_t count) {
    elements<T, Sum>(out, left, right, 2 * count);
}

// The plain formula. The C operator would branch into a library function for infinities, which
// does not vectorize.
template <class T>
void complex_product(void* out, const void* left, const void* right, size_t count) {
    auto* result = static_cast<Slot<T>*>(out);
    const auto* lefts = static_cast<const Slot<T>*>(left);
    const auto* rights = static_cast<const Slot<T>*>(right);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        const T left_real = lefts[2 * i].value;
        const T left_imaginary = lefts[2 * i + 1].value;
        const T right_real = rights[2 * i].value;
        const T right_imaginary = rights[2 * i + 1].value;
        const T real =
            Product::of(left_real, right_real) - Product::of(left_imaginary, right_imaginary);
        const T imaginary = Sum::of(Product::of(left_real, right_imaginary),
                                    Product::of(left_imaginary, right_real));
        result[2 * i].value = real;
        result[2 * i + 1].value = imaginary;
    }
}

template <class Value, class Index>
struct Pair {
    Value value;
    Index index;
};

struct Less {
    template <class T>
    static bool of(T left, T right) {
        return left < right;
    }
};

struct Greater {
    template <class T>
    static bool of(T left, T right) {
        return left > right;
    }
};

// The whole pair comes from one side, also where the values are zeros of different sign, so the
// result of a tie does not depend on the order of the operands. NaN: the right operand.
template <class Value, class Index, class Better>
bool left_wins(Value left, Index left_index, Value right, Index right_index) {
    // Without short circuit, so that no branch stands in the vectorizer's way.
    const bool better = Better::template of<Value>(left, right);
    const bool tie = left == right;
    const bool first = left_index <= right_index;
    return better | (tie & first);
}

template <class Value, class Index, class Better>
void locate(void* out, const void* left, const void* right, size_t count) {
    using Element = Slot<Pair<Value, Index>>;
    auto* result = static_cast<Element*>(out);
    const auto* lefts = static_cast<const Element*>(left);
    const auto* rights = static_cast<const Element*>(right);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        const Value left_value = lefts[i].value.value;
        const Value right_value = rights[i].value.value;
        const Index left_index = lefts[i].value.index;
        const Index right_index = rights[i].value.index;
        const bool take_left =
            left_wins<Value, Index, Better>(left_value, left_index, right_value, right_index);
        result[i].value.value = take_left ? left_value : right_value;
        result[i].value.index = take_left ? left_index : right_index;
    }
}

// FLOAT_INT, moved as plain words: the vectorizer splits an array into its even and odd elements
// only where both have one type (AVX2 and AVX-512: 2.5 times faster so).
template <class Better>
void locate_float_int(void* out, const void* left, const void* right, size_t count) {
    static_assert(sizeof(float) == sizeof(uint32_t));
    static_assert(sizeof(int) == sizeof(uint32_t));
    auto* result = static_cast<Slot<uint32_t>*>(out);
    const auto* lefts = static_cast<const Slot<uint32_t>*>(left);
    const auto* rights = static_cast<const Slot<uint32_t>*>(right);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        const uint32_t left_value = lefts[2 * i].value;
        const uint32_t right_value = rights[2 * i].value;
        const uint32_t left_index = lefts[2 * i + 1].value;
        const uint32_t right_index = rights[2 * i + 1].value;
        const bool take_left = left_wins<float, int, Better>(
            __builtin_bit_cast(float, left_value), static_cast<int>(left_index),
            __builtin_bit_cast(float, right_value), static_cast<int>(right_index));
        result[2 * i].value = take_left ? left_value : right_value;
        result[2 * i + 1].value = take_left ? left_index : right_index;
    }
}

using Row = Kernel[TUTTI_OP_COUNT];

template <class Unsigned>
constexpr void add_logical(Row& row) {
    row[TUTTI_LAND] = elements<Unsigned, LogicalAnd>;
    row[TUTTI_LOR] = elements<Unsigned, LogicalOr>;
    row[TUTTI_LXOR] = elements<Unsigned, LogicalXor>;
}

template <class Unsigned>
constexpr void add_bitwise(Row& row) {
    row[TUTTI_BAND] = elements<Unsigned, BitAnd>;
    row[TUTTI_BOR] = elements<Unsigned, BitOr>;
    row[TUTTI_BXOR] = elements<Unsigned, BitXor>;
}

// Only the order of two integers depends on their sign; the rest works on the unsigned type.
template <class T>
constexpr void add_integer(Row& row) {
    using Unsigned = std::make_unsigned_t<T>;
    row[TUTTI_SUM] = elements<Unsigned, Sum>;
    row[TUTTI_PROD] = elements<Unsigned, Product>;
    row[TUTTI_MIN] = elements<T, Minimum>;
    row[TUTTI_MAX] = elements<T, Maximum>;
    add_logical<Unsigned>(row);
    add_bitwise<Unsigned>(row);
}

template <class T>
constexpr void add_floating(Row& row) {
    row[TUTTI_SUM] = elements<T, Sum>;
    row[TUTTI_PROD] = elements<T, Product>;
    row[TUTTI_MIN] = elements<T, Minimum>;
    row[TUTTI_MAX] = elements<T, Maximum>;
}

template <class T>
constexpr void add_complex(Row& row) {
    row[TUTTI_SUM] = complex_sum<T>;
    row[TUTTI_PROD] = complex_product<T>;
}

template <class Value, class Index>
constexpr void add_pair(Row& row) {
    row[TUTTI_MINLOC] = locate<Value, Index, Less>;
    row[TUTTI_MAXLOC] = locate<Value, Index, Greater>;
}

// Lines that are asked for ahead. Measured between cores of an AMD Zen 4 that share a third-level
// cache: 8 to 48 are alike; without, 64 KiB in a ring of 2 MiB take three times as long.
constexpr size_t kLinesAhead = 16;

void copy_lines_ahead(void* out, const void* in, size_t bytes) {
    constexpr size_t kLine = 64;
    constexpr size_t kAhead = kLinesAhead * kLine;
    auto* to = static_cast<char*>(out);
    const auto* from = static_cast<const char*>(in);
    for (size_t at = kLine; at < bytes && at <= kAhead; at += kLine) __builtin_prefetch(from + at);
    size_t at = 0;
    for (; at + kAhead + kLine < bytes; at += kLine) {
        __builtin_prefetch(from + at + kAhead + kLine);
        __builtin_memcpy(to + at, from + at, kLine);
    }
    for (; at + kLine <= bytes; at += kLine) __builtin_memcpy(to + at, from + at, kLine);
    __builtin_memcpy(to + at, from + at, bytes - at);
}

// Source of what is legal: MPI-4.1, sections 6.9.2 (operators) and 6.9.4 (MINLOC and MAXLOC).
consteval KernelTable make_table() {
    KernelTable table{};
    auto& at = table.at;
    add_bitwise<uint8_t>(at[TUTTI_BYTE]);
    add_integer<int8_t>(at[TUTTI_INT8]);
    add_integer<int16_t>(at[TUTTI_INT16]);
    add_integer<int32_t>(at[TUTTI_INT32]);
    add_integer<int64_t>(at[TUTTI_INT64]);
    add_integer<uint8_t>(at[TUTTI_UINT8]);
    add_integer<uint16_t>(at[TUTTI_UINT16]);
    add_integer<uint32_t>(at[TUTTI_UINT32]);
    add_integer<uint64_t>(at[TUTTI_UINT64]);
    add_logical<uint8_t>(at[TUTTI_BOOL]);
    add_logical<uint8_t>(at[TUTTI_LOGICAL8]);
    add_logical<uint16_t>(at[TUTTI_LOGICAL16]);
    add_logical<uint32_t>(at[TUTTI_LOGICAL32]);
    add_logical<uint64_t>(at[TUTTI_LOGICAL64]);
    add_floating<float>(at[TUTTI_FLOAT]);
    add_floating<double>(at[TUTTI_DOUBLE]);
    add_floating<long double>(at[TUTTI_LONG_DOUBLE]);
    add_complex<float>(at[TUTTI_COMPLEX_FLOAT]);
    add_complex<double>(at[TUTTI_COMPLEX_DOUBLE]);
    add_complex<long double>(at[TUTTI_COMPLEX_LONG_DOUBLE]);
    at[TUTTI_FLOAT_INT][TUTTI_MINLOC] = locate_float_int<Less>;
    at[TUTTI_FLOAT_INT][TUTTI_MAXLOC] = locate_float_int<Greater>;
    add_pair<double, int>(at[TUTTI_DOUBLE_INT]);
    add_pair<long, int>(at[TUTTI_LONG_INT]);
    add_pair<int, int>(at[TUTTI_INT_INT]);
    add_pair<short, int>(at[TUTTI_SHORT_INT]);
    add_pair<long double, int>(at[TUTTI_LONG_DOUBLE_INT]);
    add_pair<float, float>(at[TUTTI_FLOAT_FLOAT]);
    add_pair<double, double>(at[TUTTI_DOUBLE_DOUBLE]);
    table.copy_ahead = copy_lines_ahead;
    return table;
}

}  // namespace
}  // namespace tutti::node
