// SPDX-License-Identifier: BSD-3-Clause
// Messages that are counted, over the fake: of several peers, one of which may have no additions.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "run/transport/verbs/rc.h"
#include "unit/run/transport/verbs/ends.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kRanks = 5;

// Rank 0 is counted at, and connected with all others.
class Counted : public Ranks {
  public:
    explicit Counted(const test::FakeRules& rules) : Ranks(kRanks, rules) {
        add({1, 2, 3, 4});
        for (Rank rank = 1; rank < kRanks; ++rank) add({0});
        connect_all();
    }
    static MessageId id_of(uint64_t call) {
        MessageId id;
        id.call = static_cast<uint32_t>(call);
        id.word = {call, call * 77 + 1, 0};
        id.is_counted = true;
        return id;
    }
    void count(Rank rank, uint64_t call) {
        ends[rank]->send(0, id_of(call), nullptr, 0, sent[rank]);
    }
    void await(Rank rank, uint64_t call) {
        ends[0]->recv(rank, id_of(call), nullptr, 0, heard[rank]);
    }
    [[nodiscard]] uint32_t pending() const {
        uint32_t count = 0;
        for (Rank rank = 1; rank < kRanks; ++rank) {
            count += heard[rank].state == State::kPending ? 1 : 0;
        }
        return count;
    }

    std::array<Ticket, kRanks> sent;
    std::array<Ticket, kRanks> heard;
};

std::vector<Rank> shuffled(Prng& prng) {
    std::vector<Rank> order = {1, 2, 3, 4};
    for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[prng.below(i + 1)]);
    return order;
}

// A call: those who count and the one who is counted at come in any order; then a message from rank
// 0 releases each, as a barrier has it.
void run_call(Counted& all, Prng& prng, uint64_t call) {
    const std::vector<Rank> order = shuffled(prng);
    std::vector<Rank> waits = shuffled(prng);
    uint32_t counted = 0;
    while (counted < order.size() || !waits.empty()) {
        if (counted < order.size() && prng.below(2) == 0) all.count(order[counted++], call);
        if (!waits.empty() && prng.below(2) == 0) {
            all.await(waits.back(), call);
            waits.pop_back();
        }
        for (uint64_t turns = prng.below(40); turns > 0; --turns) all.turn();
        if (counted < order.size() && waits.empty()) {
            ASSERT_GT(all.pending(), 0u);
        }
    }
    ASSERT_TRUE(all.run_until([&] { return all.pending() == 0; })) << "call " << call;
    for (Rank rank = 1; rank < kRanks; ++rank) {
        ASSERT_EQ(all.heard[rank].state, State::kDone) << all.ends[0]->error();
        ASSERT_EQ(all.sent[rank].state, State::kDone);
    }
}

TEST(RcCount, AllHaveComeWhenTheWordSaysSo) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        Counted all({.seed = seed});
        for (uint64_t call = 0; call < 12 && !testing::Test::HasFailure(); ++call) {
            run_call(all, prng, call);
        }
        // One request each, and no other but looks whether the other end is there.
        EXPECT_EQ(all.verbs.adds(), 12u * (kRanks - 1));
        EXPECT_EQ(all.verbs.slot_bytes(), 0u);
        EXPECT_EQ(all.verbs.fault(), "");
        if (testing::Test::HasFailure()) return;
    }
}

TEST(RcCount, GoesByMessagesWhereADeviceCannotAdd) {
    Counted all({.seed = 7, .can_add = false});
    for (uint64_t call = 0; call < 12; ++call) {
        for (Rank rank = 1; rank < kRanks; ++rank) all.count(rank, call);
        for (Rank rank = 1; rank < kRanks; ++rank) all.await(rank, call);
        ASSERT_TRUE(all.run_until([&] { return all.pending() == 0; }));
    }
    EXPECT_EQ(all.verbs.adds(), 0u);
    EXPECT_EQ(all.ends[0]->error(), "");
}

// 16 bits count, beyond which there is another sum: 70,000 calls of four.
TEST(RcCount, TheCountRollsOver) {
    Counted all({.seed = 3, .delay_ns_max = 10});
    for (uint64_t call = 0; call < 70'000; ++call) {
        for (Rank rank = 1; rank < kRanks; ++rank) all.await(rank, call);
        for (Rank rank = 1; rank < kRanks; ++rank) all.count(rank, call);
        ASSERT_TRUE(all.run_until([&] { return all.pending() == 0; })) << "call " << call;
        ASSERT_EQ(all.heard[1].state, State::kDone) << "call " << call << all.ends[0]->error();
    }
}

TEST(RcCount, WhoRunsAnotherCallIsFoundOut) {
    Counted all({.seed = 4});
    for (Rank rank = 1; rank < kRanks; ++rank) all.await(rank, 5);
    for (Rank rank = 1; rank < kRanks; ++rank) all.count(rank, rank == 3 ? 6 : 5);
    ASSERT_TRUE(all.run_until([&] { return all.pending() == 0; }));
    EXPECT_EQ(all.heard[1].state, State::kFailed);
    EXPECT_EQ(all.ends[0]->error(), "a rank that was counted runs another call");
    const Disagreement with = all.ends[0]->disagreement();
    EXPECT_TRUE(with.is_there && with.is_counted && !with.has_word);
}

// What came for a receive that is given back counts for the next one.
TEST(RcCount, ReceivesMayBeGivenBack) {
    Counted all({.seed = 5});
    for (Rank rank = 1; rank < kRanks; ++rank) all.await(rank, 1);
    all.count(1, 1);
    all.count(2, 1);
    for (int i = 0; i < 100; ++i) all.turn();
    ASSERT_EQ(all.pending(), kRanks - 1);
    for (Rank rank = 1; rank < kRanks; ++rank) {
        EXPECT_EQ(
            all.ends[0]->withdraw_receive(rank, Counted::id_of(1), nullptr, 0, all.heard[rank]),
            State::kDone);
    }
    for (int i = 0; i < 100; ++i) all.turn();
    for (Rank rank = 1; rank < kRanks; ++rank) all.await(rank, 1);
    all.count(3, 1);
    all.count(4, 1);
    ASSERT_TRUE(all.run_until([&] { return all.pending() == 0; }));
    EXPECT_EQ(all.heard[1].state, State::kDone) << all.ends[0]->error();
}

// Who only waits to be told that all are there looks whether they are: within seconds of its clock.
TEST(RcCount, APeerThatIsGoneIsNoticedAndNamed) {
    Counted all({.seed = 6});
    for (Rank rank = 1; rank < kRanks; ++rank) all.await(rank, 1);
    all.count(1, 1);
    all.ends[3].reset();
    ASSERT_TRUE(all.run_until([&] { return all.heard[3].state != State::kPending; }));
    EXPECT_EQ(all.heard[3].state, State::kFailed);
    EXPECT_EQ(all.ends[0]->error(),
              "RDMA to rank 3 failed: transport retry counter exceeded (status 12)");
    all.ends[0]->cancel(all.heard[1]);
    EXPECT_EQ(all.heard[1].state, State::kFailed);
}

}  // namespace
}  // namespace tutti::transport::verbs
