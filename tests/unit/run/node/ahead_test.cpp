// SPDX-License-Identifier: BSD-3-Clause
// A rank that waits for nobody in a small call may be 64 calls ahead of the others, 8 with
// payloads of more than a line, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "lab/simulate/node_simulator.h"

namespace tutti::node {
namespace {

constexpr uint32_t kRanks = 3;

struct Ahead {
    tutti_collective collective;
    Rank rank;  // this one waits for nobody; the root is rank 0
};

// Ranks that make the same calls, each at its own pace.
class Members {
  public:
    Members(Layout layout, size_t bytes) : bytes_(bytes), memory_(kRanks, 4096, {}, kSpareCount) {
        simulate::SimTeam shape{.ranks = kRanks, .chunk_bytes = 4096, .layout = std::move(layout)};
        for (Rank rank = 0; rank < kRanks; ++rank) {
            teams_.push_back(simulate::sim_rank(shape, memory_, rank));
            sent_.emplace_back(bytes * kRanks);
            received_.emplace_back(bytes * kRanks);
        }
    }

    // Begins the rank's next call, which carries this value in each byte.
    void start(Rank rank, tutti_collective collective, uint8_t value) {
        start(rank, collective, value, bytes_);
    }
    void start(Rank rank, tutti_collective collective, uint8_t value, size_t bytes) {
        std::ranges::fill(sent_[rank], std::byte{value});
        std::ranges::fill(received_[rank], std::byte{0});
        Call call;
        call.collective = collective;
        call.bytes = bytes;
        call.send = sent_[rank].data();
        call.recv = received_[rank].data();
        if (collective == TUTTI_BCAST && rank == 0) call.recv = sent_[0].data();
        call.reducer.kernel = find_kernel(TUTTI_UINT8, TUTTI_MAX, Isa::kBaseline);
        call.reducer.element_bytes = 1;
        ops_[rank] = {};
        node::start(teams_[rank], ops_[rank], call);
    }
    Step step(Rank rank) { return node::step(teams_[rank], ops_[rank]); }
    [[nodiscard]] uint8_t first_byte(Rank rank) const { return uint8_t(received_[rank][0]); }
    [[nodiscard]] uint8_t byte(Rank rank, size_t at) const { return uint8_t(received_[rank][at]); }
    [[nodiscard]] std::vector<Rank> missing(Rank rank) const {
        return not_arrived(teams_[rank], ops_[rank]);
    }
    [[nodiscard]] uint8_t last_byte(Rank rank) const {
        return uint8_t(received_[rank][bytes_ - 1]);
    }

  private:
    size_t bytes_;
    simulate::SimSlice memory_;
    std::vector<Team> teams_;
    std::vector<std::vector<std::byte>> sent_, received_;
    Op ops_[kRanks];
};

void run_ahead(const Layout& layout, const Ahead& ahead, size_t bytes) {
    SCOPED_TRACE(std::to_string(ahead.collective) + " of " + std::to_string(bytes) + " bytes, " +
                 (layout.flat ? "flat" : "tree"));
    Members members(layout, bytes);
    const uint64_t most = bytes <= kLinePayloadBytes ? kSpareCount : kSlotCount;
    const auto value = [](uint64_t call) { return static_cast<uint8_t>(call % 255 + 1); };
    for (uint64_t call = 0; call < most; ++call) {
        members.start(ahead.rank, ahead.collective, value(call));
        ASSERT_EQ(members.step(ahead.rank), Step::kDone) << "call " << call;
    }
    members.start(ahead.rank, ahead.collective, value(most));
    ASSERT_EQ(members.step(ahead.rank), Step::kBlocked) << "what nobody has read";
    const bool is_down = ahead.collective == TUTTI_BCAST || ahead.collective == TUTTI_SCATTER;
    for (uint64_t call = 0; call <= most; ++call) {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            if (rank != ahead.rank) members.start(rank, ahead.collective, value(call));
        }
        // A rank that runs behind others of the call gets there in a few turns.
        std::vector<bool> is_done(kRanks, call < most);
        for (Rank rank = 0; rank < kRanks; ++rank) {
            if (rank != ahead.rank) is_done[rank] = false;
        }
        for (int turn = 0; turn < 8; ++turn) {
            for (Rank rank = 0; rank < kRanks; ++rank) {
                if (!is_done[rank]) is_done[rank] = members.step(rank) == Step::kDone;
            }
        }
        ASSERT_EQ(std::ranges::count(is_done, true), kRanks) << "call " << call;
        const Rank who = is_down ? 1 : 0;
        ASSERT_EQ(members.first_byte(who), value(call)) << "call " << call;
        ASSERT_EQ(members.last_byte(who), value(call)) << "call " << call;
    }
}

TEST(RunningAhead, AsFarAsThereAreSlots) {
    const Layout layouts[] = {
        {}, make_tree(std::vector<Rank>{kNoRank, 0, 0}, std::vector<Rank>{0, 0, 0})};
    for (const Layout& layout : layouts) {
        for (const Ahead ahead : {Ahead{TUTTI_BCAST, 0}, Ahead{TUTTI_SCATTER, 0},
                                  Ahead{TUTTI_REDUCE, 1}, Ahead{TUTTI_GATHER, 1}}) {
            for (const size_t bytes :
                 {size_t{1}, size_t{8}, size_t{56}, size_t{57}, size_t{1024}}) {
                run_ahead(layout, ahead, bytes);
            }
        }
    }
}

// A gather's root has capacity for more than a line, or than a slot, and finds what is less of one.
TEST(RunningAhead, WithLessThanThereIsRoomFor) {
    constexpr size_t kSent = 8;
    for (const size_t capacity : {size_t{64}, size_t{1024}, size_t{4096}}) {
        SCOPED_TRACE(capacity);
        Members members({}, capacity);
        for (uint8_t call = 1; call <= 20; ++call) {
            members.start(1, TUTTI_GATHER, call, kSent);
            ASSERT_EQ(members.step(1), Step::kDone);
        }
        for (uint8_t call = 1; call <= 20; ++call) {
            members.start(0, TUTTI_GATHER, call);
            for (int turn = 0; turn < 8; ++turn) ASSERT_NE(members.step(0), Step::kDone);
            ASSERT_EQ(members.missing(0), std::vector<Rank>{2}) << "call " << int(call);
            members.start(2, TUTTI_GATHER, call, kSent);
            ASSERT_EQ(members.step(2), Step::kDone);
            Step last = Step::kBlocked;
            for (int turn = 0; turn < 8 && last != Step::kDone; ++turn) last = members.step(0);
            ASSERT_EQ(last, Step::kDone) << "call " << int(call);
            for (const Rank rank : {1u, 2u}) {
                ASSERT_EQ(members.byte(0, rank * capacity), call);
                ASSERT_EQ(members.byte(0, rank * capacity + kSent - 1), call);
                ASSERT_EQ(members.byte(0, rank * capacity + kSent), 0);
            }
        }
    }
}

}  // namespace
}  // namespace tutti::node
