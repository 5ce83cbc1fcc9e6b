// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/prng.h"

namespace tutti::node {
namespace {

// What the tests know about one element type, written apart from the kernels.
struct Element {
    const char* name;
    size_t bytes;
    bool (*legal)(tutti_op op);
    void (*generate)(Prng& prng, std::byte* out);
    // Writes the fields, not the padding.
    void (*combine)(tutti_op op, std::byte* out, const std::byte* left, const std::byte* right);
    bool (*same)(const std::byte* a, const std::byte* b);
};

template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

// The bytes of a value that carry it: an x87 number fills 10 of its 16.
template <class T>
constexpr size_t significant_bytes() {
    if (std::is_same_v<T, long double> && std::numeric_limits<T>::digits == 64) return 10;
    return sizeof(T);
}

template <class T>
void store(std::byte* to, T value) {
    std::memcpy(to, &value, significant_bytes<T>());
}

// Any NaN equals any NaN here: IEEE 754 leaves the payload open. That it is the same payload in
// every instruction set is tested separately.
template <class T>
bool same_value(const std::byte* a, const std::byte* b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(load<T>(a)) && std::isnan(load<T>(b))) return true;
    }
    return std::memcmp(a, b, significant_bytes<T>()) == 0;
}

bool is_arithmetic(tutti_op op) {
    return op == TUTTI_SUM || op == TUTTI_PROD || op == TUTTI_MIN || op == TUTTI_MAX;
}
bool is_logical(tutti_op op) { return op == TUTTI_LAND || op == TUTTI_LOR || op == TUTTI_LXOR; }
bool is_bitwise(tutti_op op) { return op == TUTTI_BAND || op == TUTTI_BOR || op == TUTTI_BXOR; }
bool is_integer(tutti_op op) { return is_arithmetic(op) || is_logical(op) || is_bitwise(op); }
bool is_complex(tutti_op op) { return op == TUTTI_SUM || op == TUTTI_PROD; }
bool is_location(tutti_op op) { return op == TUTTI_MINLOC || op == TUTTI_MAXLOC; }

template <class T>
T random_integer(Prng& prng) {
    switch (prng.below(8)) {
        case 0:
            return 0;
        case 1:
            return std::numeric_limits<T>::min();
        case 2:
            return std::numeric_limits<T>::max();
        case 3:
            return static_cast<T>(prng.below(4));
        default:
            return static_cast<T>(prng.next());
    }
}

template <class T>
T random_nan(Prng& prng) {
    if constexpr (std::is_same_v<T, long double>) {
        return std::nanl(std::to_string(prng.below(1000)).c_str());
    } else {
        using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
        constexpr Bits kPayload = (Bits{1} << (std::numeric_limits<T>::digits - 1)) - 1;
        const Bits infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
        const Bits sign = prng.below(2) == 0 ? 0 : Bits{1} << (sizeof(T) * 8 - 1);
        // Quiet and signalling ones.
        const Bits payload = (static_cast<Bits>(prng.next()) & kPayload) | 1;
        return std::bit_cast<T>(static_cast<Bits>(sign | infinity | payload));
    }
}

template <class T>
T random_floating(Prng& prng) {
    using Limits = std::numeric_limits<T>;
    const T sign = prng.below(2) == 0 ? T{1} : T{-1};
    switch (prng.below(12)) {
        case 0:
            return sign * T{0};
        case 1:
            return sign * Limits::infinity();
        case 2:
        case 3:
            return random_nan<T>(prng);
        case 4:
            return sign * Limits::denorm_min() * static_cast<T>(1 + prng.below(100));
        case 5:
            return sign * Limits::max();
        case 6:
            return sign * Limits::min();
        case 7:
        case 8:
            return sign * static_cast<T>(prng.below(4));
        default:
            return sign * static_cast<T>(prng.next() >> 11) /
                   static_cast<T>(uint64_t{1} << prng.below(64));
    }
}

template <class T>
T random_value(Prng& prng) {
    if constexpr (std::is_floating_point_v<T>) {
        return random_floating<T>(prng);
    } else {
        return random_integer<T>(prng);
    }
}

template <class T>
T combine_integers(tutti_op op, T left, T right) {
    // Modulo 2^64, of which every narrower result is the low part.
    const auto a = static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(left));
    const auto b = static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(right));
    switch (op) {
        case TUTTI_SUM:
            return static_cast<T>(a + b);
        case TUTTI_PROD:
            return static_cast<T>(a * b);
        case TUTTI_MIN:
            return std::min(left, right);
        case TUTTI_MAX:
            return std::max(left, right);
        case TUTTI_LAND:
            return left && right ? T{1} : T{0};
        case TUTTI_LOR:
            return left || right ? T{1} : T{0};
        case TUTTI_LXOR:
            return !left != !right ? T{1} : T{0};
        case TUTTI_BAND:
            return static_cast<T>(a & b);
        case TUTTI_BOR:
            return static_cast<T>(a | b);
        case TUTTI_BXOR:
            return static_cast<T>(a ^ b);
        default:
            ADD_FAILURE() << "no reference for operator " << op;
            return T{};
    }
}

template <class T>
T combine_floating(tutti_op op, T left, T right) {
    switch (op) {
        case TUTTI_SUM:
            return left + right;
        case TUTTI_PROD:
            return left * right;
        case TUTTI_MIN:
            return std::isless(left, right) ? left : right;
        case TUTTI_MAX:
            return std::isgreater(left, right) ? left : right;
        default:
            ADD_FAILURE() << "no reference for operator " << op;
            return T{};
    }
}

template <class T>
Element integer(const char* name, bool (*legal)(tutti_op)) {
    return {name,
            sizeof(T),
            legal,
            [](Prng& prng, std::byte* out) { store<T>(out, random_integer<T>(prng)); },
            [](tutti_op op, std::byte* out, const std::byte* left, const std::byte* right) {
                store<T>(out, combine_integers<T>(op, load<T>(left), load<T>(right)));
            },
            same_value<T>};
}

Element boolean() {
    Element element = integer<uint8_t>("BOOL", is_logical);
    element.bytes = sizeof(bool);
    element.generate = [](Prng& prng, std::byte* out) { store<bool>(out, prng.below(2) == 1); };
    return element;
}

template <class T>
Element floating(const char* name) {
    return {name,
            sizeof(T),
            is_arithmetic,
            [](Prng& prng, std::byte* out) { store<T>(out, random_floating<T>(prng)); },
            [](tutti_op op, std::byte* out, const std::byte* left, const std::byte* right) {
                store<T>(out, combine_floating<T>(op, load<T>(left), load<T>(right)));
            },
            same_value<T>};
}

template <class T>
void combine_complex(tutti_op op, std::byte* out, const std::byte* left, const std::byte* right) {
    const T a = load<T>(left);
    const T b = load<T>(left + sizeof(T));
    const T c = load<T>(right);
    const T d = load<T>(right + sizeof(T));
    if (op == TUTTI_SUM) {
        store<T>(out, a + c);
        store<T>(out + sizeof(T), b + d);
        return;
    }
    // Each product is rounded before it is used, whatever this file is compiled with.
    const volatile T ac = a * c;
    const volatile T bd = b * d;
    const volatile T ad = a * d;
    const volatile T bc = b * c;
    store<T>(out, ac - bd);
    store<T>(out + sizeof(T), ad + bc);
}

template <class T>
Element complex_number(const char* name) {
    return {name,
            2 * sizeof(T),
            is_complex,
            [](Prng& prng, std::byte* out) {
                store<T>(out, random_floating<T>(prng));
                store<T>(out + sizeof(T), random_floating<T>(prng));
            },
            combine_complex<T>,
            [](const std::byte* a, const std::byte* b) {
                return same_value<T>(a, b) && same_value<T>(a + sizeof(T), b + sizeof(T));
            }};
}

template <class Value, class Index>
struct PairType {
    Value value;
    Index index;
};

template <class Value, class Index>
void combine_pairs(tutti_op op, std::byte* out, const std::byte* left, const std::byte* right) {
    using Layout = PairType<Value, Index>;
    constexpr size_t kIndexOffset = offsetof(Layout, index);
    const auto left_value = load<Value>(left);
    const auto right_value = load<Value>(right);
    const auto left_index = load<Index>(left + kIndexOffset);
    const auto right_index = load<Index>(right + kIndexOffset);
    bool take_left = false;
    if (left_value == right_value) {
        take_left = left_index <= right_index;
    } else if (op == TUTTI_MINLOC) {
        take_left = left_value < right_value;
    } else {
        take_left = left_value > right_value;
    }
    store<Value>(out, take_left ? left_value : right_value);
    store<Index>(out + kIndexOffset, take_left ? left_index : right_index);
}

template <class Value, class Index>
void generate_pair(Prng& prng, std::byte* out) {
    using Layout = PairType<Value, Index>;
    constexpr size_t kIndexOffset = offsetof(Layout, index);
    // Half of the values come from a handful, so that ties happen.
    const bool small = prng.below(2) == 0;
    store<Value>(out, small ? static_cast<Value>(prng.below(3)) : random_value<Value>(prng));
    store<Index>(out + kIndexOffset, static_cast<Index>(prng.below(5)));
}

template <class Value, class Index>
bool same_pair(const std::byte* a, const std::byte* b) {
    using Layout = PairType<Value, Index>;
    constexpr size_t kIndexOffset = offsetof(Layout, index);
    return same_value<Value>(a, b) && same_value<Index>(a + kIndexOffset, b + kIndexOffset);
}

template <class Value, class Index>
Element pair_of(const char* name) {
    return {name,
            sizeof(PairType<Value, Index>),
            is_location,
            generate_pair<Value, Index>,
            combine_pairs<Value, Index>,
            same_pair<Value, Index>};
}

Element element_of(tutti_dtype dtype) {
    switch (dtype) {
        case TUTTI_BYTE:
            return integer<uint8_t>("BYTE", is_bitwise);
        case TUTTI_INT8:
            return integer<int8_t>("INT8", is_integer);
        case TUTTI_INT16:
            return integer<int16_t>("INT16", is_integer);
        case TUTTI_INT32:
            return integer<int32_t>("INT32", is_integer);
        case TUTTI_INT64:
            return integer<int64_t>("INT64", is_integer);
        case TUTTI_UINT8:
            return integer<uint8_t>("UINT8", is_integer);
        case TUTTI_UINT16:
            return integer<uint16_t>("UINT16", is_integer);
        case TUTTI_UINT32:
            return integer<uint32_t>("UINT32", is_integer);
        case TUTTI_UINT64:
            return integer<uint64_t>("UINT64", is_integer);
        case TUTTI_BOOL:
            return boolean();
        case TUTTI_LOGICAL8:
            return integer<uint8_t>("LOGICAL8", is_logical);
        case TUTTI_LOGICAL16:
            return integer<uint16_t>("LOGICAL16", is_logical);
        case TUTTI_LOGICAL32:
            return integer<uint32_t>("LOGICAL32", is_logical);
        case TUTTI_LOGICAL64:
            return integer<uint64_t>("LOGICAL64", is_logical);
        case TUTTI_FLOAT:
            return floating<float>("FLOAT");
        case TUTTI_DOUBLE:
            return floating<double>("DOUBLE");
        case TUTTI_LONG_DOUBLE:
            return floating<long double>("LONG_DOUBLE");
        case TUTTI_COMPLEX_FLOAT:
            return complex_number<float>("COMPLEX_FLOAT");
        case TUTTI_COMPLEX_DOUBLE:
            return complex_number<double>("COMPLEX_DOUBLE");
        case TUTTI_COMPLEX_LONG_DOUBLE:
            return complex_number<long double>("COMPLEX_LONG_DOUBLE");
        case TUTTI_FLOAT_INT:
            return pair_of<float, int>("FLOAT_INT");
        case TUTTI_DOUBLE_INT:
            return pair_of<double, int>("DOUBLE_INT");
        case TUTTI_LONG_INT:
            return pair_of<long, int>("LONG_INT");
        case TUTTI_INT_INT:
            return pair_of<int, int>("INT_INT");
        case TUTTI_SHORT_INT:
            return pair_of<short, int>("SHORT_INT");
        case TUTTI_LONG_DOUBLE_INT:
            return pair_of<long double, int>("LONG_DOUBLE_INT");
        case TUTTI_FLOAT_FLOAT:
            return pair_of<float, float>("FLOAT_FLOAT");
        case TUTTI_DOUBLE_DOUBLE:
            return pair_of<double, double>("DOUBLE_DOUBLE");
        case TUTTI_DTYPE_COUNT:
            break;
    }
    ADD_FAILURE() << "no element for type " << dtype;
    return integer<uint8_t>("?", is_bitwise);
}

std::vector<Isa> isas_here() {
    std::vector<Isa> isas;
    for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512})
        if (isa <= best_isa(IsaChoice::kAuto)) isas.push_back(isa);
    return isas;
}

std::vector<tutti_op> legal_ops(const Element& element) {
    std::vector<tutti_op> ops;
    for (int op = 0; op < TUTTI_OP_COUNT; ++op)
        if (element.legal(static_cast<tutti_op>(op))) ops.push_back(static_cast<tutti_op>(op));
    return ops;
}

enum class Alias { kNone, kLeft, kRight, kBoth };

// Everything around and between the fields holds this and must hold it afterwards.
constexpr std::byte kFill{0xa5};
constexpr size_t kGuardBytes = 192;

struct Case {
    tutti_op op;
    size_t count;
    size_t shift;  // bytes off alignment
    Alias alias;
    uint64_t seed;
};

std::vector<std::byte> operand(const Element& element, const Case& shape, Prng& prng) {
    std::vector<std::byte> bytes(2 * kGuardBytes + shape.shift + element.bytes * shape.count,
                                 kFill);
    for (size_t i = 0; i < shape.count; ++i)
        element.generate(prng, bytes.data() + kGuardBytes + shape.shift + i * element.bytes);
    return bytes;
}

// The buffer that the kernel wrote into, guards and padding included; checked with the reference.
std::vector<std::byte> run_case(const Element& element, const Case& shape, Kernel kernel) {
    Prng prng(shape.seed);
    std::vector<std::byte> left = operand(element, shape, prng);
    std::vector<std::byte> right = operand(element, shape, prng);
    if (shape.alias == Alias::kBoth) right = left;
    std::vector<std::byte> fresh(left.size(), kFill);
    const std::vector<std::byte> left_before = left;
    const std::vector<std::byte> right_before = right;

    std::vector<std::byte>* out = &fresh;
    if (shape.alias == Alias::kLeft) out = &left;
    if (shape.alias == Alias::kRight) out = &right;
    if (shape.alias == Alias::kBoth) out = &left;
    const size_t start = kGuardBytes + shape.shift;

    std::vector<std::byte> expected = *out;
    for (size_t i = 0; i < shape.count; ++i) {
        const size_t at = start + i * element.bytes;
        element.combine(shape.op, &expected[at], &left_before[at], &right_before[at]);
    }
    const std::byte* right_pointer = shape.alias == Alias::kBoth ? left.data() : right.data();
    kernel(out->data() + start, left.data() + start, right_pointer + start, shape.count);

    for (size_t i = 0; i < shape.count; ++i) {
        const size_t at = start + i * element.bytes;
        EXPECT_TRUE(element.same(&(*out)[at], &expected[at])) << "element " << i;
        // Now that the values are equal, let the bytes be, so that the rest can be compared.
        std::memcpy(&expected[at], &(*out)[at], element.bytes);
        if (testing::Test::HasFailure()) break;
    }
    EXPECT_TRUE(*out == expected) << "bytes outside of the array were written";
    if (out != &left) {
        EXPECT_TRUE(left == left_before) << "the left operand was written";
    }
    if (out != &right) {
        EXPECT_TRUE(right == right_before) << "the right operand was written";
    }
    return *out;
}

class Kernels : public testing::TestWithParam<int> {
  protected:
    [[nodiscard]] tutti_dtype dtype() const { return static_cast<tutti_dtype>(GetParam()); }
};

// Runs one case in every instruction set; the results must agree to the last bit, padding too.
void run_everywhere(tutti_dtype dtype, const Element& element, const Case& shape) {
    SCOPED_TRACE(testing::Message() << element.name << " operator " << shape.op << " count "
                                    << shape.count << " shift " << shape.shift << " alias "
                                    << static_cast<int>(shape.alias) << " seed " << shape.seed);
    std::vector<std::byte> first;
    for (const Isa isa : isas_here()) {
        SCOPED_TRACE(isa_name(isa));
        const Kernel kernel = find_kernel(dtype, shape.op, isa);
        ASSERT_NE(kernel, nullptr);
        const std::vector<std::byte> out = run_case(element, shape, kernel);
        if (isa == Isa::kBaseline) first = out;
        ASSERT_TRUE(out == first) << "other bits than the baseline";
        if (testing::Test::HasFailure()) return;
    }
}

TEST_P(Kernels, EqualTheReferenceInEveryInstructionSet) {
    const Element element = element_of(dtype());
    uint64_t seed = 1;
    for (const tutti_op op : legal_ops(element)) {
        // Around the widths of all vectors (64 elements of a byte at most) and of their tails.
        for (const size_t count :
             {0u,  1u,  2u,  3u,  4u,  5u,  7u,  8u,  9u,   15u,  16u,  17u,
              23u, 31u, 32u, 33u, 47u, 63u, 64u, 65u, 127u, 128u, 129u, 1031u}) {
            for (const size_t shift : {0u, 1u, 3u, 8u}) {
                for (const Alias alias :
                     {Alias::kNone, Alias::kLeft, Alias::kRight, Alias::kBoth}) {
                    run_everywhere(dtype(), element, {op, count, shift, alias, seed++});
                    if (HasFatalFailure() || HasNonfatalFailure()) return;
                }
            }
        }
    }
}

TEST_P(Kernels, ResultDoesNotDependOnPosition) {
    const Element element = element_of(dtype());
    constexpr size_t kCount = 203;
    for (const tutti_op op : legal_ops(element)) {
        const uint64_t seeds = std::getenv("TESTS_BRIEF") ? 60 : 300;
        for (uint64_t seed = 1; seed <= seeds; ++seed) {
            Prng prng(seed);
            std::vector<std::byte> left(element.bytes, kFill);
            std::vector<std::byte> right(element.bytes, kFill);
            element.generate(prng, left.data());
            element.generate(prng, right.data());
            std::vector<std::byte> lefts;
            std::vector<std::byte> rights;
            for (size_t i = 0; i < kCount; ++i) {
                lefts.insert(lefts.end(), left.begin(), left.end());
                rights.insert(rights.end(), right.begin(), right.end());
            }
            std::vector<std::byte> first(element.bytes, kFill);
            find_kernel(dtype(), op, Isa::kBaseline)(first.data(), left.data(), right.data(), 1);
            for (const Isa isa : isas_here()) {
                std::vector<std::byte> out(lefts.size(), kFill);
                find_kernel(dtype(), op, isa)(out.data(), lefts.data(), rights.data(), kCount);
                for (size_t i = 0; i < kCount; ++i)
                    ASSERT_EQ(std::memcmp(&out[i * element.bytes], first.data(), element.bytes), 0)
                        << element.name << " operator " << op << " element " << i << " seed "
                        << seed << " " << isa_name(isa);
            }
        }
    }
}

TEST_P(Kernels, OnlyLegalCombinationsExist) {
    const Element element = element_of(dtype());
    for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
        for (int op = 0; op <= TUTTI_OP_COUNT; ++op) {
            const auto code = static_cast<tutti_op>(op);
            EXPECT_EQ(find_kernel(dtype(), code, isa) != nullptr, element.legal(code))
                << element.name << " operator " << op << " " << isa_name(isa);
        }
    }
}

TEST_P(Kernels, BytesAreThoseOfTheType) {
    EXPECT_EQ(dtype_bytes(dtype()), element_of(dtype()).bytes);
}

INSTANTIATE_TEST_SUITE_P(Types, Kernels, testing::Range(0, static_cast<int>(TUTTI_DTYPE_COUNT)),
                         [](const testing::TestParamInfo<int>& param) {
                             return std::string(
                                 element_of(static_cast<tutti_dtype>(param.param)).name);
                         });

TEST(KernelsOutOfRange, HaveNoKernelAndNoSize) {
    EXPECT_EQ(find_kernel(TUTTI_DTYPE_COUNT, TUTTI_SUM, Isa::kBaseline), nullptr);
    EXPECT_EQ(find_kernel(TUTTI_INT32, TUTTI_OP_USER, Isa::kBaseline), nullptr);
    EXPECT_EQ(find_kernel(TUTTI_INT32, TUTTI_OP_COUNT, Isa::kBaseline), nullptr);
    EXPECT_EQ(dtype_bytes(TUTTI_DTYPE_COUNT), 0u);
}

TEST(KernelsKnownValues, ComplexProduct) {
    const double left[] = {1, 2, 0.5, -1};
    const double right[] = {3, 4, -2, 8};
    double out[4] = {};
    find_kernel(TUTTI_COMPLEX_DOUBLE, TUTTI_PROD, Isa::kBaseline)(out, left, right, 2);
    EXPECT_EQ(out[0], -5);
    EXPECT_EQ(out[1], 10);
    EXPECT_EQ(out[2], 7);
    EXPECT_EQ(out[3], 6);
}

// A product that a fused multiply-add would not round: with contraction the real part is not zero.
TEST(KernelsKnownValues, ComplexProductIsNotFused) {
    const double x = 1.0 + std::numeric_limits<double>::epsilon();
    const std::vector<double> operand(64, x);
    for (const Isa isa : isas_here()) {
        std::vector<double> out(64, 1.0);
        find_kernel(TUTTI_COMPLEX_DOUBLE, TUTTI_PROD, isa)(out.data(), operand.data(),
                                                           operand.data(), 32);
        for (size_t i = 0; i < 64; i += 2) EXPECT_EQ(out[i], 0.0) << isa_name(isa);
    }
}

TEST(KernelsKnownValues, TiesOfZerosTakeTheSmallerIndexFromEitherSide) {
    struct FloatInt {
        float value;
        int index;
    };
    const FloatInt early{-0.0f, 3};
    const FloatInt late{0.0f, 7};
    for (const tutti_op op : {TUTTI_MINLOC, TUTTI_MAXLOC}) {
        const Kernel kernel = find_kernel(TUTTI_FLOAT_INT, op, Isa::kBaseline);
        FloatInt out[2] = {{1, 1}, {1, 1}};
        kernel(&out[0], &early, &late, 1);
        kernel(&out[1], &late, &early, 1);
        EXPECT_EQ(out[0].index, 3);
        EXPECT_EQ(out[1].index, 3);
        EXPECT_TRUE(std::signbit(out[0].value));
        EXPECT_TRUE(std::signbit(out[1].value));
    }
}

TEST(BestIsa, KeepsToItsLimit) {
    EXPECT_EQ(best_isa(IsaChoice::kBaseline), Isa::kBaseline);
    EXPECT_LE(best_isa(IsaChoice::kAvx2), Isa::kAvx2);
    EXPECT_EQ(best_isa(IsaChoice::kAvx512), best_isa(IsaChoice::kAuto));
    EXPECT_EQ(best_isa(IsaChoice::kAvx2), std::min(best_isa(IsaChoice::kAuto), Isa::kAvx2));
}

TEST(BestIsa, HasNames) {
    EXPECT_STREQ(isa_name(Isa::kBaseline), "baseline");
    EXPECT_STREQ(isa_name(Isa::kAvx2), "avx2");
    EXPECT_STREQ(isa_name(Isa::kAvx512), "avx512");
}

}  // namespace
}  // namespace tutti::node
