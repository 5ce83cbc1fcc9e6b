// SPDX-License-Identifier: BSD-3-Clause
// One word, and members who add to it and hear late what it was.
#include "run/adapt/roll_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace tutti::adapt {
namespace {

using Found = RollCall::Found;

std::vector<uint32_t> shuffled(Prng& prng, uint32_t count) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[prng.below(i + 1)]);
    return order;
}

// What a fetch-and-add does.
uint64_t add(uint64_t& word, uint64_t amount) {
    const uint64_t former = word;
    word += amount;
    return former;
}

TEST(RollCall, TheLastOneIsToldAndNobodyElse) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        const auto members = static_cast<uint32_t>(2 + prng.below(RollCall::kMembersMax - 1));
        std::vector<RollCall> all(members);
        uint64_t word = 0;
        for (uint64_t call = 0; call < 50; ++call) {
            const std::vector<uint32_t> order = shuffled(prng, members);
            const uint64_t what = prng.next();
            uint64_t come = 0;
            for (const uint32_t one : order) {
                const uint64_t former = add(word, all[one].arrive(members, one, what));
                come |= uint64_t{1} << one;
                const Found found = all[one].take(former);
                ASSERT_EQ(found, one == order.back() ? Found::kLast : Found::kSome);
                const uint64_t everybody = (uint64_t{1} << members) - 1;
                ASSERT_EQ(all[one].missing(), everybody & ~come);
                all[order[prng.below(members)]].look(word);  // whoever it is: no state changes
                all[order.front()].look(word);
                ASSERT_EQ(all[order.front()].missing(), everybody & ~come);
            }
        }
    }
}

// Some are told late, when others are in the next call: they name nobody who is not late.
TEST(RollCall, WhoLooksLateNamesNobody) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        Prng prng(seed);
        const auto members = static_cast<uint32_t>(3 + prng.below(23));
        std::vector<RollCall> all(members);
        uint64_t word = 0;
        for (uint32_t one = 0; one < members; ++one) {
            const uint64_t former = add(word, all[one].arrive(members, one, 5));
            all[one].take(former);
        }
        EXPECT_NE(all[0].missing(), 0u);
        const auto gone_on = static_cast<uint32_t>(1 + prng.below(members - 1));
        for (uint32_t one = 1; one <= gone_on; ++one) {
            all[one].take(add(word, all[one].arrive(members, one, 6)));
        }
        all[0].look(word);
        EXPECT_EQ(all[0].missing(), 0u) << "seed " << seed;
    }
}

TEST(RollCall, WhoComesBehindOneOfAnotherCallFindsThat) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        Prng prng(seed);
        const auto members = static_cast<uint32_t>(2 + prng.below(24));
        std::vector<RollCall> all(members);
        uint64_t word = 0;
        for (uint64_t call = 0; call < 3; ++call) {
            for (uint32_t one = 0; one < members; ++one) {
                all[one].take(add(word, all[one].arrive(members, one, call)));
            }
        }
        const std::vector<uint32_t> order = shuffled(prng, members);
        const uint64_t odd = prng.below(members - 1);
        for (uint64_t i = 0; i < members; ++i) {
            const uint64_t what = i == odd ? 99 : 4;
            const Found found =
                all[order[i]].take(add(word, all[order[i]].arrive(members, order[i], what)));
            // It finds it itself where it is not the first.
            const bool is_behind = i > odd || (i == odd && i > 0);
            ASSERT_EQ(found == Found::kDisagree, is_behind) << "seed " << seed << ", place " << i;
        }
    }
}

// The sum of marks passes 2^64 all the time; the bits below have nothing of it.
TEST(RollCall, ManyCalls) {
    std::vector<RollCall> all(3);
    uint64_t word = 0;
    for (uint64_t call = 0; call < 200'000; ++call) {
        for (uint32_t one = 0; one < 3; ++one) {
            const uint32_t who = (one + static_cast<uint32_t>(call)) % 3;
            const Found found = all[who].take(add(word, all[who].arrive(3, who, call)));
            ASSERT_EQ(found, one == 2 ? Found::kLast : Found::kSome) << call;
        }
        ASSERT_EQ(word & 7, call % 2 == 0 ? 7u : 0u);
    }
}

}  // namespace
}  // namespace tutti::adapt
