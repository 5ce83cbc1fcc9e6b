// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/growth.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace tutti::price {
namespace {

constexpr uint64_t kOne = 1024;
constexpr int kOneBits = 10;

// How many times what the first doubling adds is added in all, in 1024ths.
uint64_t additions(Quotient quotient, Growth growth) {
    const uint64_t times = scaled(kOne, quotient);
    switch (growth) {
        case Growth::kLogarithmic:
            return log2_1024(quotient);
        case Growth::kLinear:
            return times - kOne;
        case Growth::kSaturating:
            return 2 * (kOne - scaled(kOne, {quotient.small, quotient.large}));
    }
    return 0;
}

// Signed: several schedules need less time among more.
int64_t of_1024(int64_t amount, uint64_t part) {
    const auto one = static_cast<int64_t>(kOne);
    const auto times = static_cast<int64_t>(part);
    return amount / one * times + amount % one * times / one;
}

uint64_t distance(uint64_t a, uint64_t b) {
    const uint64_t more = std::max(a, b);
    const uint64_t less = std::max<uint64_t>(std::min(a, b), 1);
    // As a quotient, in 1024ths.
    return scaled(kOne, {std::max<uint64_t>(more, 1), less});
}

}  // namespace

uint64_t scaled(uint64_t amount, Quotient by) {
    if (by.large == by.small) return amount;
    const uint64_t whole = amount / by.small;
    const uint64_t rest = amount % by.small;
    // rest < small: bits that the product would not have room for are dropped on both sides.
    const auto bits = static_cast<int>(std::bit_width(rest) + std::bit_width(by.large));
    const int dropped = std::max(bits - 63, 0);
    const uint64_t small = std::max<uint64_t>(by.small >> dropped, 1);
    return whole * by.large + (rest >> dropped) * by.large / small;
}

uint64_t log2_1024(Quotient quotient) {
    TUTTI_ASSERT(quotient.small > 0 && quotient.small <= quotient.large, "a quotient from 1 on");
    uint64_t whole = 0;
    while (quotient.large / quotient.small >= 2) {
        quotient.small *= 2;
        ++whole;
    }
    // The square of what is left, 1 to 2, has the next bit.
    constexpr int kBits = 30;
    uint64_t left = (quotient.large << kBits) / quotient.small;
    uint64_t part = 0;
    for (int bit = 0; bit < kOneBits; ++bit) {
        left = left * left >> kBits;
        part *= 2;
        if (left >> kBits >= 2) {
            left /= 2;
            ++part;
        }
    }
    return whole * kOne + part;
}

uint64_t grown(const Corners& corners, const Reach& reach, Growth growth) {
    const auto at = [&](size_t i) { return static_cast<int64_t>(corners[i]); };
    const uint64_t u = additions(reach.hosts, growth);
    const uint64_t v = additions(reach.switches, growth);
    int64_t by_hosts = at(1) - at(0);
    int64_t by_switches = at(2) - at(0);
    int64_t by_both = at(3) - at(2) - by_hosts;
    if (growth != Growth::kSaturating) {
        // Nothing that grows without end becomes less for it.
        by_hosts = std::max<int64_t>(by_hosts, 0);
        by_switches = std::max<int64_t>(by_switches, 0);
        by_both = growth == Growth::kLinear ? std::max<int64_t>(by_both, 0) : 0;
    }
    const int64_t sum =
        at(0) + of_1024(by_hosts, u) + of_1024(by_switches, v) + of_1024(of_1024(by_both, u), v);
    return static_cast<uint64_t>(std::max<int64_t>(sum, 0));
}

Growth growth_towards(const Corners& corners, const Reach& reach, uint64_t known) {
    Growth nearest = Growth::kLogarithmic;
    uint64_t least = UINT64_MAX;
    for (const Growth growth : {Growth::kLogarithmic, Growth::kLinear, Growth::kSaturating}) {
        const uint64_t off = distance(grown(corners, reach, growth), known);
        if (off < least) {
            least = off;
            nearest = growth;
        }
    }
    return nearest;
}

}  // namespace tutti::price
