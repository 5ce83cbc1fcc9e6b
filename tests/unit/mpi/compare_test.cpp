// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

namespace tutti::mpi {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
const std::byte* bytes_of(const std::vector<T>& values) {
    return reinterpret_cast<const std::byte*>(values.data());
}

// What each rank gives, one vector a rank, and two results that are to be compared.
template <class T>
Comparison compare(tutti_dtype dtype, tutti_op op, const std::vector<std::vector<T>>& operands,
                   const std::vector<T>& tutti, const std::vector<T>& host) {
    const size_t count = tutti.size(), step = magnitudes_per_element(dtype, op);
    std::vector<double> all(count * step), one(count * step);
    for (const auto& operand : operands) {
        if (!needs_magnitudes(dtype, op)) break;
        fill_magnitudes(dtype, op, bytes_of(operand), count, one.data());
        for (size_t i = 0; i < all.size(); ++i) all[i] += one[i];
    }
    Comparison found;
    compare_reduced({dtype, op, static_cast<uint32_t>(operands.size()), bytes_of(tutti),
                     bytes_of(host), all.data()},
                    0, count, found);
    return found;
}

// One element: what the ranks give, what came out here and there.
template <class T>
char judge(tutti_dtype dtype, tutti_op op, const std::vector<T>& operands, T tutti, T host) {
    std::vector<std::vector<T>> ranks;
    for (const T& operand : operands) ranks.push_back({operand});
    const Comparison found = compare(dtype, op, ranks, std::vector<T>{tutti}, std::vector<T>{host});
    return found.different > 0 ? 'x' : found.uncertain > 0 ? '?' : '=';
}
char judge_sum(const std::vector<double>& operands, double tutti, double host) {
    return judge(TUTTI_DOUBLE, TUTTI_SUM, operands, tutti, host);
}
char judge_product(const std::vector<double>& operands, double tutti, double host) {
    return judge(TUTTI_DOUBLE, TUTTI_PROD, operands, tutti, host);
}

TEST(CompareBytes, NamesTheFirstElementThatDiffers) {
    std::vector<uint8_t> mine(40), theirs(40);
    const auto look = [&](size_t element) {
        return compare_bytes(bytes_of(mine), bytes_of(theirs), mine.size(), element);
    };
    EXPECT_EQ(look(8).different, 0u);
    mine[17] = 3;
    theirs[39] = 0xab;
    const Comparison found = look(8);
    EXPECT_EQ(found.different, 2u);
    EXPECT_EQ(found.first, 2u);
    EXPECT_EQ(found.tutti, "0x0003000000000000");
    EXPECT_EQ(found.host, "0x0000000000000000");
    EXPECT_EQ(look(0).first, 17u);
    // An element that is longer than what is shown is shown from where it differs.
    EXPECT_EQ(look(40).tutti, "0x03000000000000000000000000000000...");
}

TEST(CompareReduced, IntegersAgreeInEveryBit) {
    const std::vector<std::vector<int>> operands = {{1, 2, 3}, {4, 5, 6}};
    EXPECT_EQ(compare(TUTTI_INT32, TUTTI_SUM, operands, {5, 7, 9}, {5, 7, 9}).different, 0u);
    const Comparison found = compare(TUTTI_INT32, TUTTI_SUM, operands, {5, 8, 10}, {5, 7, 9});
    EXPECT_EQ(found.different, 2u);
    EXPECT_EQ(found.first, 1u);
    EXPECT_EQ(found.tutti, "8");
    EXPECT_EQ(found.host, "7");
    EXPECT_EQ(found.allowed, "");
    EXPECT_EQ(judge<uint64_t>(TUTTI_UINT64, TUTTI_BOR, {1, 2}, 3, 3), '=');
    EXPECT_EQ(judge<uint64_t>(TUTTI_UINT64, TUTTI_BOR, {1, 2}, 3, uint64_t{3} | uint64_t{1} << 63),
              'x');
}

TEST(CompareReduced, TruthHasManyNumbers) {
    EXPECT_EQ(judge<uint32_t>(TUTTI_LOGICAL32, TUTTI_LOR, {1, 0}, 1, UINT32_MAX), '=');
    EXPECT_EQ(judge<uint32_t>(TUTTI_LOGICAL32, TUTTI_LOR, {1, 0}, 1, 0), 'x');
    EXPECT_EQ(judge<uint32_t>(TUTTI_UINT32, TUTTI_LOR, {1, 0}, 1, UINT32_MAX), 'x');
}

TEST(CompareReduced, SumsThatCancelAreNoFalseAlarm) {
    // 1e16 + 1 - 1e16 is 0 in one order and 1 in another; 2 in none, but that is within the bound
    // of 2 g(2) (2e16 + 1) = 8.9.
    EXPECT_EQ(judge_sum({1e16, 1, -1e16}, 0, 1), '=');
    EXPECT_EQ(judge_sum({1e16, 1, -1e16}, 0, 8), '=');
    EXPECT_EQ(judge_sum({1e16, 1, -1e16}, 0, 10), 'x');
    EXPECT_EQ(judge_sum({1, 2, 3}, 6, 6 * (1 + DBL_EPSILON)), '=');
    EXPECT_EQ(judge_sum({1, 2, 3}, 6, 6 * (1 + 4 * DBL_EPSILON)), 'x');
    EXPECT_EQ(judge<float>(TUTTI_FLOAT, TUTTI_SUM, {1, 2, 3}, 6, 6.000001f), '=');
    EXPECT_EQ(judge<float>(TUTTI_FLOAT, TUTTI_SUM, {1, 2, 3}, 6, 6.00001f), 'x');
    EXPECT_EQ(judge<long double>(TUTTI_LONG_DOUBLE, TUTTI_SUM, {1, 2, 3}, 6, 6 + 1e-16L), 'x');
    EXPECT_EQ(judge_sum({0.0, -0.0}, 0.0, -0.0), '=');
}

TEST(CompareReduced, NoOrderOfASumIsAFalseAlarm) {
    std::mt19937_64 random(7);
    std::vector<double> values(33);
    for (int round = 0; round < 2000; ++round) {
        for (double& value : values) {
            const int exponent = static_cast<int>(random() % 120) - 60;
            value = std::ldexp(static_cast<double>(random() >> 11) - 0x1p52, exponent);
        }
        const auto sum = [&] {
            double total = 0;
            for (const double value : values) total += value;
            return total;
        };
        const double one = sum();
        std::shuffle(values.begin(), values.end(), random);
        ASSERT_EQ(judge_sum(values, one, sum()), '=') << round;
        double largest = 0;
        for (const double value : values) largest = std::max(largest, std::fabs(value));
        // An operand that is missing is found.
        ASSERT_EQ(judge_sum(values, one, one + largest), 'x') << round;
    }
}

TEST(CompareReduced, SumsOfWhatIsNotFinite) {
    EXPECT_EQ(judge_sum({1, kNan}, kNan, kNan), '=');
    EXPECT_EQ(judge_sum({1, kNan}, kNan, 1), 'x');
    EXPECT_EQ(judge_sum({1, 2}, kNan, 3), 'x');
    EXPECT_EQ(judge_sum({1, kInf}, kInf, kInf), '=');
    EXPECT_EQ(judge_sum({1, kInf}, kInf, 1), 'x');
    EXPECT_EQ(judge_sum({1, 2}, kInf, 3), 'x');
    EXPECT_EQ(judge_sum({kInf, -kInf}, kNan, kNan), '=');
    // The largest number twice, and once taken away: infinite in one order only.
    EXPECT_EQ(judge_sum({DBL_MAX, DBL_MAX, -DBL_MAX}, kInf, DBL_MAX), '?');
    EXPECT_EQ(judge<float>(TUTTI_FLOAT, TUTTI_SUM, {FLT_MAX, FLT_MAX, -FLT_MAX}, INFINITY, FLT_MAX),
              '?');
    EXPECT_EQ(judge<long double>(TUTTI_LONG_DOUBLE, TUTTI_SUM, {LDBL_MAX, 1}, LDBL_MAX, 0), '?');
    EXPECT_EQ(judge_sum({DBL_MIN, DBL_TRUE_MIN}, DBL_MIN, DBL_MIN + DBL_TRUE_MIN), '=');
}

TEST(CompareReduced, Products) {
    EXPECT_EQ(judge_product({3, 5, 7}, 105, 105 * (1 + DBL_EPSILON)), '=');
    EXPECT_EQ(judge_product({3, 5, 7}, 105, 105 * (1 + 8 * DBL_EPSILON)), 'x');
    EXPECT_EQ(judge_product({3, 5, 7}, 105, -105), 'x');
    EXPECT_EQ(judge_product({0, 5, 7}, 0, -0.0), '=');
    EXPECT_EQ(judge_product({0, 5, 7}, 0, 35), 'x');
    EXPECT_EQ(judge_product({kNan, 5}, kNan, 5), 'x');
    EXPECT_EQ(judge_product({kInf, 0}, kNan, kNan), '=');
    EXPECT_EQ(judge_product({kInf, 5}, kInf, -kInf), 'x');
    EXPECT_EQ(judge_product({1e200, 1e200, 1e-200}, kInf, 1e200), '?');
    EXPECT_EQ(judge_product({1e-200, 1e-200, 1e200}, 0, 1e-200), '?');
}

TEST(CompareReduced, ComplexNumbers) {
    using Complex = std::complex<double>;
    const auto sum = [](Complex tutti, Complex host) {
        return judge<Complex>(TUTTI_COMPLEX_DOUBLE, TUTTI_SUM, {{1e16, 1}, {1, 2}, {-1e16, 3}},
                              tutti, host);
    };
    EXPECT_EQ(sum({0, 6}, {1, 6}), '=');
    EXPECT_EQ(sum({0, 6}, {1, 7}), 'x');
    EXPECT_EQ(sum({0, 6}, {100, 6}), 'x');
    const auto product = [](Complex tutti, Complex host) {
        return judge<Complex>(TUTTI_COMPLEX_DOUBLE, TUTTI_PROD, {{1, 1}, {1, -1}, {3, 0}}, tutti,
                              host);
    };
    EXPECT_EQ(product({6, 0}, {6, 1e-15}), '=');
    EXPECT_EQ(product({6, 0}, {6, 1e-13}), 'x');
    EXPECT_EQ(product({6, 0}, {0, 6}), 'x');
    EXPECT_EQ(judge<Complex>(TUTTI_COMPLEX_DOUBLE, TUTTI_PROD, {{kInf, 1}, {1, 1}}, {kNan, kNan},
                             {kInf, kNan}),
              '?');
}

TEST(CompareReduced, SmallestAndLargest) {
    EXPECT_EQ(judge<double>(TUTTI_DOUBLE, TUTTI_MAX, {1, 2}, 2, 2), '=');
    EXPECT_EQ(judge<double>(TUTTI_DOUBLE, TUTTI_MAX, {1, 2}, 2, 2 * (1 + DBL_EPSILON)), 'x');
    EXPECT_EQ(judge<double>(TUTTI_DOUBLE, TUTTI_MIN, {0.0, -0.0}, 0.0, -0.0), '=');
    EXPECT_EQ(judge<double>(TUTTI_DOUBLE, TUTTI_MIN, {kNan, 1}, kNan, 1), '?');
    struct DoubleInt {
        double value;
        int index;
    };
    const auto minloc = [](DoubleInt a, DoubleInt b) {
        return judge<DoubleInt>(TUTTI_DOUBLE_INT, TUTTI_MINLOC, {{1, 3}, {1, 4}}, a, b);
    };
    EXPECT_EQ(minloc({1, 3}, {1, 3}), '=');
    EXPECT_EQ(minloc({1, 3}, {1, 4}), 'x');
    EXPECT_EQ(minloc({2, 3}, {1, 3}), 'x');
}

TEST(CompareReduced, ElementsAreNumberedOverAllSlices) {
    Comparison found;
    const std::vector<int> zeros(4), mine = {0, 0, 5, 0};
    const Reduced what{TUTTI_INT32, TUTTI_SUM, 2, bytes_of(mine), bytes_of(zeros), nullptr};
    compare_reduced(what, 100, 4, found);
    compare_reduced(what, 104, 4, found);
    EXPECT_EQ(found.first, 102u);
    EXPECT_EQ(found.different, 2u);
}

TEST(Narrow, WidenedAndCutAgain) {
    EXPECT_TRUE(is_narrow(TUTTI_UINT16));
    EXPECT_FALSE(is_narrow(TUTTI_INT32));
    const std::vector<int8_t> values = {-128, -1, 0, 127};
    std::vector<int64_t> wide(4);
    widen(TUTTI_INT8, bytes_of(values), 4, wide.data());
    EXPECT_EQ(wide, (std::vector<int64_t>{-128, -1, 0, 127}));
    wide[3] += 200;  // wraps as the operands would
    std::vector<int8_t> back(4);
    cut(TUTTI_INT8, wide.data(), 4, reinterpret_cast<std::byte*>(back.data()));
    EXPECT_EQ(back, (std::vector<int8_t>{-128, -1, 0, 71}));
    const std::vector<uint16_t> unsigned_values = {65535};
    widen(TUTTI_UINT16, bytes_of(unsigned_values), 1, wide.data());
    EXPECT_EQ(wide[0], 65535);
}

TEST(Chosen, AShareByNumbersThatAllKnow) {
    size_t chosen = 0, elsewhere = 0, by_other_seed = 0;
    for (uint64_t call = 1; call <= 100'000; ++call) {
        const bool is = is_chosen(0.01, 5, 1, call);
        EXPECT_EQ(is, is_chosen(0.01, 5, 1, call));
        chosen += is;
        elsewhere += is && is_chosen(0.01, 5, 2, call);
        by_other_seed += is && is_chosen(0.01, 6, 1, call);
        EXPECT_TRUE(is_chosen(1, 5, 1, call));
        EXPECT_FALSE(is_chosen(0, 5, 1, call));
    }
    // 1,000 are expected; the deviation is 31.
    EXPECT_NEAR(static_cast<double>(chosen), 1000, 160);
    EXPECT_LT(elsewhere, 50u);
    EXPECT_LT(by_other_seed, 50u);
}

}  // namespace
}  // namespace tutti::mpi
