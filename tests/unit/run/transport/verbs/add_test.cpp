// SPDX-License-Identifier: BSD-3-Clause
// Additions to a word of another end, over the fake, by its rules at their loosest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "conformance/fake_verbs.h"
#include "run/transport/verbs/device.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kAdders = 4;
constexpr uint64_t kAddsEach = 8;

// End 0 has a pair with each of the others.
class Adders {
  public:
    explicit Adders(const test::FakeRules& rules) : verbs(kAdders + 1, rules) {
        for (uint32_t i = 0; i <= kAdders; ++i) {
            Need need;
            need.pairs = i == 0 ? kAdders : 1;
            need.sends = need.recvs = kAddsEach;
            need.pair_bytes = 64;
            need.words = 2;
            need.mtu_bytes = 1024;
            ends.push_back(std::move(verbs.device(i).make_endpoint(need).value()));
        }
        for (uint32_t i = 1; i <= kAdders; ++i) {
            EXPECT_TRUE(ends[0]->connect(i - 1, verbs.device(i).port(), ends[i]->card(0)));
            EXPECT_TRUE(ends[i]->connect(0, verbs.device(0).port(), ends[0]->card(i - 1)));
        }
    }
    // Of one end; nothing else comes.
    std::vector<Completion> take(uint32_t end) {
        std::array<Completion, 2 * kAddsEach> found;
        const int count = ends[end]->poll(found);
        return {found.begin(), found.begin() + std::max(count, 0)};
    }

    test::FakeVerbs verbs;
    std::vector<std::unique_ptr<Endpoint>> ends;
};

TEST(Add, NoneIsLostAndEachIsToldAnotherSum) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        Adders all({.seed = seed});
        std::vector<uint64_t> formers;
        std::array<uint64_t, kAdders + 1> posted{};
        // One at a time of each, so that its former value is there to be read.
        const auto add = [&](uint32_t i) {
            Add one{.word = 1, .amount = 1, .former = 0, .is_signaled = true, .number = 0};
            one.number = ++posted[i];
            ASSERT_EQ(all.ends[i]->add(0, one), 0);
        };
        for (uint32_t i = 1; i <= kAdders; ++i) add(i);
        uint64_t seen = 0;
        while (formers.size() < kAdders * kAddsEach) {
            all.verbs.pump();
            ASSERT_GE(all.ends[0]->words()[1], seen) << "seed " << seed;
            seen = all.ends[0]->words()[1];
            for (uint32_t i = 1; i <= kAdders; ++i) {
                for (const Completion& one : all.take(i)) {
                    ASSERT_EQ(one.status, 0);
                    ASSERT_EQ(one.number, posted[i]);
                    formers.push_back(all.ends[i]->words()[0]);
                    if (posted[i] < kAddsEach) add(i);
                }
            }
        }
        while (!all.verbs.is_idle()) all.verbs.pump();
        EXPECT_EQ(all.ends[0]->words()[1], kAdders * kAddsEach) << "seed " << seed;
        std::ranges::sort(formers);
        std::vector<uint64_t> expected(formers.size());
        std::iota(expected.begin(), expected.end(), 0u);
        EXPECT_EQ(formers, expected) << "seed " << seed;
        EXPECT_EQ(all.ends[0]->words()[0], 0u);
        EXPECT_EQ(all.verbs.adds(), kAdders * kAddsEach);
        EXPECT_EQ(all.verbs.fault(), "");
    }
}

TEST(Add, WhatDoesNotArriveFailsAndAllBehindItIsFlushed) {
    Adders all({.seed = 1});
    all.verbs.cut(0);
    for (uint64_t number = 1; number <= 3; ++number) {
        ASSERT_EQ(all.ends[1]->add(0, {.word = 0, .is_signaled = number == 3, .number = number}),
                  0);
    }
    std::vector<int> statuses;
    while (statuses.size() < 3) {
        all.verbs.pump();
        for (const Completion& one : all.take(1)) {
            if (!one.is_recv) statuses.push_back(one.status);
        }
    }
    EXPECT_EQ(statuses, (std::vector<int>{test::kRetryExceeded, test::kFlushed, test::kFlushed}));
    EXPECT_EQ(all.ends[0]->words()[0], 0u);
}

TEST(Add, ADeviceThatCannotHasNoWords) {
    Adders all({.seed = 1, .can_add = false});
    EXPECT_TRUE(all.ends[0]->words().empty());
    EXPECT_EQ(all.ends[0]->card(0).words, 0u);
}

}  // namespace
}  // namespace tutti::transport::verbs
