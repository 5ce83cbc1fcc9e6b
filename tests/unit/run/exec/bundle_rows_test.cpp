// SPDX-License-Identifier: BSD-3-Clause
// What stands in bundles: rows of a node's ranks, and what is believed of those that came.
#include "run/exec/bundle_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"

namespace tutti::exec {
namespace {

using topo::Placement;

// Two nodes of three ranks and two: what ranks 0 to 2 have for ranks 3 and 4.
const Placement kPlacement = Placement::blocks(5, 2);
constexpr uint64_t kMost = sched::kBundledBytesMax;
// Of what comes to them.
const BundlePlace kOthers{&kPlacement, 1, 0, 2, kMost};

// Ranks 0 to 2 have only leader 0 for node 1.
std::vector<std::byte> row_of(uint32_t rank, const std::vector<uint64_t>& lengths) {
    const BundlePlace place{&kPlacement, 0, rank, 3, kMost};
    std::vector<BundledPart> sent(5);
    const std::vector<BundledPart> received(5);
    std::vector<std::byte> input(1000);
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(rank * 70 + i);
    uint64_t at = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
        sent[3 + i] = {lengths[i] > 0, at, lengths[i]};
        at += lengths[i];
    }
    std::vector<std::byte> rows(sched::bundle_bytes_max(3, 2, kMost));
    MemberExchange exchange;
    exchange.start(3);
    pack_rows(place, sent, received, input.data(), rows.data(), exchange);
    EXPECT_EQ(exchange.given[1] + exchange.given[2], 0u);
    rows.resize(exchange.given[0]);
    return rows;
}

// As a leader puts them together.
std::vector<std::byte> bundle_of(const std::vector<std::vector<std::byte>>& rows) {
    std::vector<std::byte> bundle;
    for (const std::vector<std::byte>& row : rows) {
        const std::byte* from = row.data();
        const uint32_t bytes = row_bytes(get<uint32_t>(from));
        const auto* word = reinterpret_cast<const std::byte*>(&bytes);
        bundle.insert(bundle.end(), word, word + sizeof bytes);
        bundle.insert(bundle.end(), from, from + bytes);
    }
    return bundle;
}

TEST(BundleRows, OfNoBytesHaveAWordAlone) {
    EXPECT_EQ(row_of(0, {0, 0}).size(), 4u);
    EXPECT_EQ(row_of(0, {0, 7}).size(), 4u + 2 * 2 + 7);
}

TEST(BundleRows, SayWhatThereIs) {
    const BundlePlace place{&kPlacement, 0, 0, 3, kMost};
    const auto word_of = [&](const std::vector<BundledPart>& sent,
                             const std::vector<BundledPart>& received) {
        std::vector<std::byte> row(1000);
        MemberExchange exchange;
        exchange.start(3);
        pack_rows(place, sent, received, row.data() + 500, row.data(), exchange);
        const std::byte* at = row.data();
        return get<uint32_t>(at);
    };
    const std::vector<BundledPart> none(5);
    std::vector<BundledPart> by_itself(5);
    by_itself[4].is_there = true;
    EXPECT_EQ(word_of(none, none), 0u);
    EXPECT_EQ(word_of(by_itself, none), kRowSends);
    EXPECT_EQ(word_of(none, by_itself), kRowReceives);
}

TEST(BundleRows, GoOnToTheRanksTheyAreFor) {
    const auto bundle = bundle_of({row_of(0, {3, 0}), row_of(1, {0, 0}), row_of(2, {kMost, 5})});
    ASSERT_TRUE(is_bundle(kOthers, bundle.data(), 3));
    std::vector<uint64_t> given(2);
    add_given(bundle.data(), 3, given);
    EXPECT_EQ(given, (std::vector<uint64_t>{2 * 3 + 3 + kMost, 2 * 3 + 5}));
    std::vector<std::byte> first(given[0]);
    std::vector<std::byte> second(given[1]);
    std::vector<std::byte*> ends = {first.data(), second.data()};
    hand_on(bundle.data(), 3, ends);
    EXPECT_EQ(ends[0], first.data() + first.size());
    EXPECT_EQ(ends[1], second.data() + second.size());
    const std::byte* at = first.data();
    EXPECT_EQ(get<uint16_t>(at), 3);
    EXPECT_EQ(at[2], std::byte{2});
    at += 3;
    EXPECT_EQ(get<uint16_t>(at), 0);
    EXPECT_EQ(get<uint16_t>(at), kMost);
    EXPECT_EQ(*at, std::byte{140});
    at = second.data() + 4;
    EXPECT_EQ(get<uint16_t>(at), 5);
    EXPECT_EQ(*at, static_cast<std::byte>((140 + kMost) % 256));
}

// Nothing is read beyond the room for a bundle, whatever stands there.
TEST(BundleRows, WrongLengthsAreNotBelieved) {
    const auto right = bundle_of({row_of(0, {3, 9}), row_of(1, {100, 0}), row_of(2, {1, 5})});
    for (const size_t at : {0, 1, 3, 4, 5, 6, 7}) {
        std::vector<std::byte> wrong = right;
        wrong.resize(sched::bundle_bytes_max(3, 2, kMost));
        wrong[at] ^= at == 3 ? std::byte{0x20} : std::byte{1};
        EXPECT_FALSE(is_bundle(kOthers, wrong.data(), 3)) << at;
    }
    Prng prng(1);
    std::vector<std::byte> any(sched::bundle_bytes_max(3, 2, kMost));
    for (int turn = 0; turn < 1000; ++turn) {
        for (std::byte& one : any) one = static_cast<std::byte>(prng.below(3));
        if (!is_bundle(kOthers, any.data(), 3)) continue;
        std::vector<uint64_t> given(2);
        add_given(any.data(), 3, given);
        EXPECT_LE(std::accumulate(given.begin(), given.end(), uint64_t{0}),
                  sched::bundle_bytes_max(3, 2, kMost));
    }
}

}  // namespace
}  // namespace tutti::exec
