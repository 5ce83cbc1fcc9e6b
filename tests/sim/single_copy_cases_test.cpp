// SPDX-License-Identifier: BSD-3-Clause
// Single copy in cases of their own: sizes that differ, ranks that disagree, what was lost, and
// numbers of calls that an offer cannot hold.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/simulate/node_simulator.h"
#include "run/bootstrap/node_shape.h"
#include "run/node/node_algorithms.h"
#include "run/node/offer.h"
#include "run/node/tuner.h"
#include "sim/peer_memory.h"
#include "sim/script.h"
#include "sim/seeds.h"

namespace tutti::test {
namespace {

using simulate::SimTeam;

constexpr size_t kChunk = 4096;

SimTeam team_of(uint32_t ranks, uint64_t patience, bool is_single = true) {
    SimTeam team{.ranks = ranks, .chunk_bytes = kChunk, .layout = {}};
    team.peers = all_read;
    if (is_single) {
        team.tuning.set_single(node::kInlineBytesMax + 1);
    }
    team.patience_polls = patience;
    return team;
}

struct Ranks {
    explicit Ranks(const SimTeam& team) : memory(team.ranks, team.chunk_bytes), ops(team.ranks) {
        for (uint32_t rank = 0; rank < team.ranks; ++rank) {
            teams.push_back(sim_rank(team, memory, rank));
        }
    }
    // One rank alone, up to so many steps.
    Step run(uint32_t rank, int steps = 2000) {
        Step last = Step::kAdvanced;
        for (int i = 0; i < steps && last != Step::kDone; ++i) {
            last = node::step(teams[rank], ops[rank]);
        }
        return last;
    }
    // All in turn; false where they do not come to an end.
    bool run_all() {
        std::vector<bool> is_done(teams.size());
        size_t left = teams.size();
        for (int i = 0; i < 4000 && left > 0; ++i) {
            for (uint32_t rank = 0; rank < teams.size(); ++rank) {
                if (is_done[rank] || node::step(teams[rank], ops[rank]) != Step::kDone) continue;
                is_done[rank] = true;
                --left;
            }
        }
        return left == 0;
    }

    simulate::SimSlice memory;
    std::vector<node::Team> teams;
    std::vector<node::Op> ops;
};

// ---- sizes that may differ (Team::tolerates) ----------------------------------------------------

struct Unequal {
    tutti_collective kind;
    size_t sent;
    size_t room;
    bool is_single;
    bool goes_on;  // the sender begins another call before the receiver comes
};

void run_unequal(const Unequal& one) {
    SCOPED_TRACE(std::to_string(one.kind) + " " + std::to_string(one.sent) +
                 (one.is_single ? " single" : " ring") + (one.goes_on ? ", goes on" : ""));
    // So that the sender leaves its data behind and goes.
    Ranks ranks(team_of(2, 3, one.is_single));
    std::vector<std::byte> from(2 * one.sent, std::byte{7});
    std::vector<std::byte> to(2 * one.room);
    std::vector<std::byte> own(one.room, std::byte{1});
    std::vector<std::byte> next(3000);
    const bool is_gather = one.kind == TUTTI_GATHER;
    const uint32_t sender = is_gather ? 1 : 0;
    node::Call give, take;
    give.collective = take.collective = one.kind;
    give.send = from.data();
    give.bytes = one.sent;
    take.recv = to.data();
    take.bytes = one.room;
    if (is_gather) take.send = own.data();
    node::start(ranks.teams[sender], ranks.ops[sender], give);
    ASSERT_EQ(ranks.run(sender), Step::kDone);
    if (one.goes_on) {
        node::Call more;
        more.collective = TUTTI_BCAST;
        more.root = sender;
        more.recv = next.data();
        more.bytes = next.size();
        node::start(ranks.teams[sender], ranks.ops[sender], more);
        ranks.run(sender, 1);
    }
    const uint32_t receiver = 1 - sender;
    node::start(ranks.teams[receiver], ranks.ops[receiver], take);
    ASSERT_EQ(ranks.run(receiver), Step::kDone) << "rival " << ranks.ops[receiver].rival;
    EXPECT_EQ(to[is_gather ? one.room : 0], std::byte{7});
    EXPECT_EQ(to[is_gather ? one.room + one.sent : one.sent], std::byte{});
    if (!one.goes_on) {
        const auto found = node::find_disagreement(ranks.teams[receiver], ranks.ops[receiver]);
        EXPECT_EQ(found.rank, node::kNoRank);
    }
}

TEST(SingleCopy, ReceiversMayHaveMoreRoom) {
    for (const tutti_collective kind : {TUTTI_GATHER, TUTTI_SCATTER}) {
        for (const bool is_single : {false, true}) {
            for (const bool goes_on : {false, true}) {
                // Of another rank's offer, of its ring, and of a slot.
                run_unequal({kind, 3000, 3500, is_single, goes_on});
                run_unequal({kind, 200, 3000, is_single, goes_on});
            }
        }
    }
}

// ---- ranks that disagree ------------------------------------------------------------------------

// The root waits for news without counting itself in again and again.
TEST(SingleCopy, ARootThatDisagreesClaimsOnce) {
    Ranks ranks(team_of(3, UINT64_MAX));
    std::vector<std::unique_ptr<Exchange>> calls;
    for (uint32_t rank = 0; rank < 3; ++rank) {
        const size_t bytes = rank == 2 ? 4000 : 3000;
        calls.push_back(
            std::make_unique<Exchange>(Spec{TUTTI_REDUCE, 0, bytes, Fold::kXorU64, 1}, 3));
        node::start(ranks.teams[rank], ranks.ops[rank], calls.back()->node_call(rank));
    }
    ranks.run(1, 5);
    ranks.run(2, 5);
    ranks.run(0, 10'000);
    const uint64_t word = ranks.memory.slice().offer(1).state.load();
    EXPECT_LE(node::readers_begun(word), 1u);
    EXPECT_EQ(word & node::kWithdrawn, 0u);
    EXPECT_EQ(ranks.ops[0].rival, 2u);
    EXPECT_NE(ranks.run(1), Step::kDone);
}

// As Control::look_for_disagreement sees a rank, at looks with steps between.
bool seems_to_disagree(node::Team& team, node::Op& op) {
    int suspected = 0;
    for (int look = 0; look < 3; ++look) {
        if (node::find_disagreement(team, op).rank != node::kNoRank) return true;
        const node::Rank awaited = std::exchange(op.awaited, node::kNoRank);
        if (awaited != node::kNoRank && node::has_finished(team, op, awaited)) ++suspected;
        for (int i = 0; i < 50; ++i) node::step(team, op);
    }
    return suspected >= 2;
}

// Ranks 0 and 1 look, or measure again, and rank 2 stops while it reads: nobody disagrees.
TEST(SingleCopy, ALookIsNoDisagreement) {
    const Seeds seeds = Seeds::wanted(200);
    size_t reached = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        simulate::SimClock clock;
        SimTeam team{.ranks = 3, .chunk_bytes = 64 * 1024, .layout = {}};
        team.tuning = {};
        team.patience_polls = 20;
        team.peers = all_read;
        Ranks ranks(team);
        Exchange exchange({TUTTI_BCAST, 0, 4000, Fold::kXorU64, 1}, 3);
        constexpr uint64_t kFirstLook = 64;
        for (uint32_t rank = 0; rank < 3; ++rank) {
            node::Team& mine = ranks.teams[rank];
            node::Figures once;
            once.barrier_ns = 1;
            mine.tuner = std::make_shared<node::Tuner>(
                clock, node::Tuning{}, node::TuningLimits{.has_long_rings = false}, once);
            node::Call call;
            call.collective = TUTTI_BCAST;
            for (uint64_t i = 1; i < kFirstLook; ++i) ASSERT_FALSE(mine.tuner->is_due(mine, call));
            node::start(mine, ranks.ops[rank], exchange.node_call(rank));
        }
        const auto reads = [&](uint32_t rank) {
            const node::Op& op = ranks.teams[rank].tuner->op();
            const bool is_single = std::string(node::algorithm_name(op)) == "single";
            return is_single && op.call.collective == TUTTI_ALLGATHER && op.line == 0 &&
                   node::readers_begun(node::own_offer(ranks.teams[0])) > 0;
        };
        bool is_stopped = false;
        for (int i = 0; i < 400'000; ++i) {
            const auto rank = static_cast<uint32_t>(prng.below(is_stopped ? 2 : 3));
            if (node::step(ranks.teams[rank], ranks.ops[rank]) == Step::kDone) break;
            if (rank == 0) clock.advance_to(clock.now_ns() + 20);
            if (is_stopped || rank != 2 || !reads(2) || prng.below(2) != 0) continue;
            is_stopped = true;
            i = 390'000;
        }
        if (!is_stopped) continue;
        ++reached;
        ASSERT_FALSE(seems_to_disagree(ranks.teams[0], ranks.ops[0])) << replay(seed);
    }
    EXPECT_GT(reached, 0u);
}

// ---- what was lost ------------------------------------------------------------------------------

// Fails from one read on.
class LostMemory final : public node::PeerMemory {
  public:
    explicit LostMemory(int reads) : left_(reads) {}
    bool read(node::Rank, std::byte* out, uint64_t address, size_t bytes) override {
        if (left_-- == 0) return false;
        std::memcpy(out, reinterpret_cast<const std::byte*>(address), bytes);
        return true;
    }

  private:
    int left_;
};

TEST(SingleCopy, WhatIsLostStaysLostInThatCallAlone) {
    constexpr int kTries = 4;  // both ends of a vector and of a result
    Ranks ranks(team_of(2, UINT64_MAX));
    ranks.teams[0].single_copy.peers = std::make_shared<LostMemory>(kTries);
    Exchange exchange({TUTTI_ALLREDUCE, 0, 40'000, Fold::kXorU64, 1}, 2);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        node::start(ranks.teams[rank], ranks.ops[rank], exchange.node_call(rank));
    }
    EXPECT_FALSE(ranks.run_all());
    EXPECT_TRUE(ranks.ops[0].is_lost);
    EXPECT_EQ(ranks.ops[0].awaited, 1u);
    node::start(ranks.teams[0], ranks.ops[0], node::Call{});
    EXPECT_FALSE(ranks.ops[0].is_lost);
}

// ---- the room that teams share ------------------------------------------------------------------

// While another thread folds there, who would fold waits, and goes on afterwards.
TEST(SingleCopy, WhoFindsTheRoomInUseComesAgain) {
    for (const tutti_collective kind : {TUTTI_REDUCE, TUTTI_ALLREDUCE}) {
        Ranks ranks(team_of(2, UINT64_MAX));
        const auto buffer = std::make_shared<node::FoldBuffer>();
        for (node::Team& team : ranks.teams) team.local.fold_buffer = buffer;
        Exchange exchange({kind, 0, 200'000, Fold::kXorU64, 1}, 2);
        for (uint32_t rank = 0; rank < 2; ++rank) {
            node::start(ranks.teams[rank], ranks.ops[rank], exchange.node_call(rank));
        }
        ASSERT_TRUE(buffer->reserve(1 << 20));  // all that they want
        auto hold = buffer->try_hold();
        ASSERT_TRUE(hold);
        EXPECT_FALSE(ranks.run_all());
        EXPECT_FALSE(ranks.ops[0].is_lost);
        hold.unlock();
        EXPECT_TRUE(ranks.run_all());
        EXPECT_EQ(exchange.check(), "");
    }
}

// ---- what is denied
// -------------------------------------------------------------------------------

class DeniedMemory final : public node::PeerMemory {
  public:
    bool read(node::Rank, std::byte*, uint64_t, size_t) override {
        ++tries;
        return false;
    }
    [[nodiscard]] node::Denial denial() const override {
        return tries > 0 ? node::Denial{EPERM, node::kNoRank, 0} : node::Denial{};
    }
    int tries = 0;
};

// Calls begin as single copy up to the next look, and then no more, on any rank; but for those that
// are to by name.
void run_denied(const node::Figures& once, node::Layout layout) {
    constexpr uint32_t kRanks = 3;
    constexpr uint32_t kReader = 1;
    constexpr int kFirstLook = 64;
    SimTeam team = team_of(kRanks, 3);
    team.layout = std::move(layout);
    Ranks ranks(team);
    const auto denied = std::make_shared<DeniedMemory>();
    ranks.teams[kReader].single_copy.peers = denied;
    simulate::SimClock clock;
    std::vector<node::Denial> told;
    for (node::Team& mine : ranks.teams) {
        mine.tuner = std::make_shared<node::Tuner>(
            clock, node::Tuning{}, node::TuningLimits{.is_always_single = true}, once,
            [&](const node::Denial& denial) { told.push_back(denial); });
    }
    const auto run_one = [&](const node::Algorithm* named) {
        Exchange exchange({TUTTI_ALLGATHER, 0, 3000, Fold::kXorU64, 1}, kRanks);
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            const node::Call call = exchange.node_call(rank);
            ranks.ops[rank].call = call;
            named ? node::start(ranks.teams[rank], ranks.ops[rank], *named)
                  : node::start(ranks.teams[rank], ranks.ops[rank]);
        }
        EXPECT_TRUE(ranks.run_all());
        EXPECT_EQ(exchange.check(), "");
        return std::string(node::algorithm_name(ranks.ops[0]));
    };
    for (int i = 1; i < kFirstLook; ++i) ASSERT_EQ(run_one(nullptr), "single") << i;
    EXPECT_EQ(told.size(), 0u);
    const int tries = denied->tries;
    for (int i = 0; i < 4 * kFirstLook; ++i) ASSERT_EQ(run_one(nullptr), "pipeline") << i;
    EXPECT_EQ(denied->tries, tries);
    ASSERT_EQ(told.size(), kRanks);
    for (const node::Denial& denial : told) {
        EXPECT_EQ(denial.failure, EPERM);
        EXPECT_EQ(denial.reader, kReader);
        EXPECT_EQ(denial.of, 0u);
    }
    EXPECT_EQ(run_one(node::find(TUTTI_ALLGATHER, "single")), "single");
    EXPECT_EQ(denied->tries, tries + 2);
}

TEST(SingleCopy, WhatIsDeniedIsTakenBackAtTheNextLook) {
    node::Figures measured;
    measured.barrier_ns = 1;  // as the clock, which stands, says at every look
    measured.way_ns = {1, 1, 1, 1};
    const std::vector<uint32_t> chain = {node::kNoRank, 0, 1, 0, 1, 2, 0, 0, 0};
    for (const node::Figures& figures : {node::Figures{}, measured}) {
        run_denied(figures, {});
        run_denied(figures, bootstrap::tree_layout(chain));
    }
}

// ---- numbers ------------------------------------------------------------------------------------

// An offer holds 40 bits of a call's number; beyond, teams go on by rings.
TEST(SingleCopy, CallsBeyondTheNumbersOfOffers) {
    Ranks ranks(team_of(2, UINT64_MAX));
    constexpr uint64_t kFirst = node::kOfferNumberMax - 3;
    for (node::Team& team : ranks.teams) {
        team.bases.call = team.known.done = kFirst;
        ranks.memory.slice().done(team.rank).calls_done.store(kFirst);
    }
    for (int i = 0; i < 6; ++i) {
        const tutti_collective kind = i % 2 == 0 ? TUTTI_BCAST : TUTTI_ALLREDUCE;
        Exchange exchange({kind, 0, 3000, Fold::kXorU64, 1}, 2);
        std::string name;
        for (uint32_t rank = 0; rank < 2; ++rank) {
            node::start(ranks.teams[rank], ranks.ops[rank], exchange.node_call(rank));
            name = node::algorithm_name(ranks.ops[rank]);
        }
        EXPECT_EQ(name == "single", i < 3) << name;
        ASSERT_TRUE(ranks.run_all()) << "call " << ranks.teams[0].bases.call;
        ASSERT_EQ(exchange.check(), "");
    }
}

}  // namespace
}  // namespace tutti::test
