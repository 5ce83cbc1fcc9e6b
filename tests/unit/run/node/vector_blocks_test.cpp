// SPDX-License-Identifier: BSD-3-Clause
// The vector forms on one node: blocks of every length next to each other, how far ranks run ahead,
// and ranks that differ in what they exchange.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/collectives.h"
#include "lab/simulate/node_simulator.h"
#include "run/node/detail.h"
#include "sim/script.h"

namespace tutti::node {
namespace {

using InLength = Disagreement::InLength;

constexpr tutti_collective kForms[] = {TUTTI_GATHERV,   TUTTI_SCATTERV,  TUTTI_ALLGATHERV,
                                       TUTTI_ALLTOALLV, TUTTI_ALLTOALLW, TUTTI_REDUCE_SCATTER};

// ---- every length -------------------------------------------------------------------------------

// Beside what decides how a block travels: lines, cells of several a line, slots, chunks, rings.
std::vector<size_t> borders(const simulate::SimTeam& shape) {
    const size_t cells = kInlineBytesMax / std::max(shape.ranks - 1, 1u);
    const size_t ring = shape.chunk_bytes * kChunkCountMin;
    return {8, 16, 56, 64, cells / 8 * 8, 1024, shape.chunk_bytes, ring, 3 * ring + 64};
}

test::Spec spec_of(tutti_collective form, Rank root, size_t bytes, uint64_t seed) {
    const bool folds = is_reduction(form);
    return {form, has_root(form) ? root : 0, folds ? bytes / 8 * 8 : bytes, test::Fold::kXorU64,
            seed};
}

// All forms one after the other, between calls that use the same rings.
void run_forms(const simulate::SimTeam& shape, const std::vector<size_t>& lengths) {
    SCOPED_TRACE(std::to_string(shape.ranks) + " ranks" + (shape.lean ? ", lean" : ""));
    simulate::NodeSimulator simulator(shape, shape.ranks);
    std::vector<std::unique_ptr<test::Exchange>> calls;
    const auto add = [&](const test::Spec& spec) {
        calls.push_back(std::make_unique<test::Exchange>(spec, shape.ranks));
        for (Rank rank = 0; rank < shape.ranks; ++rank) {
            simulator.add_call(rank, calls.back()->node_call(rank));
        }
    };
    for (const size_t bytes : lengths) {
        for (const tutti_collective form : kForms) {
            const auto seed = static_cast<uint64_t>(calls.size());
            add(spec_of(form, static_cast<Rank>(seed % shape.ranks), bytes, seed));
        }
        add({TUTTI_BCAST, shape.ranks - 1, 9 * shape.chunk_bytes, test::Fold::kXorU64, bytes});
        add({TUTTI_ALLGATHER, 0, 2 * shape.chunk_bytes + 1, test::Fold::kXorU64, bytes});
    }
    const auto done = simulator.run();
    ASSERT_TRUE(done) << done.error().message;
    for (const auto& call : calls) ASSERT_EQ(call->check(), "");
}

TEST(VectorBlocks, OfEveryLength) {
    for (Rank ranks = 2; ranks <= 9; ++ranks) {
        for (const bool is_lean : {false, true}) {
            simulate::SimTeam shape{.ranks = ranks, .chunk_bytes = 1024, .layout = {}};
            if (is_lean) shape.lean = simulate::SimLean{};
            std::vector<size_t> lengths;
            for (const size_t border : borders(shape)) {
                for (const size_t bytes : {border - 1, border, border + 1}) {
                    lengths.push_back(bytes);
                }
            }
            run_forms(shape, lengths);
        }
    }
}

// Three cells share a line, and of a lean team 39 of no bytes.
TEST(VectorBlocks, OfFortyRanks) {
    for (const bool is_lean : {false, true}) {
        simulate::SimTeam shape{.ranks = 40, .chunk_bytes = 4096, .layout = {}};
        if (is_lean) shape.lean = simulate::SimLean{};
        run_forms(shape, {1, 7, 8, 15, 16, 17, 56, 57, 1025, 5000});
    }
}

// Pieces are longer of longer blocks, so the longest need not have most rounds.
TEST(VectorBlocks, AShorterBlockMayNeedMoreRounds) {
    simulate::SimTeam shape{.ranks = 3, .chunk_bytes = 2048, .layout = {}};
    shape.tuning.pieces.bytes_min = 64;
    simulate::NodeSimulator simulator(shape, 1);
    std::vector<std::unique_ptr<test::Exchange>> calls;
    for (size_t bytes = 1600; bytes < 4000; bytes += 37) {
        calls.push_back(std::make_unique<test::Exchange>(spec_of(TUTTI_ALLGATHERV, 0, bytes, bytes),
                                                         shape.ranks));
        for (Rank rank = 0; rank < shape.ranks; ++rank) {
            simulator.add_call(rank, calls.back()->node_call(rank));
        }
    }
    ASSERT_TRUE(simulator.run());
    for (const auto& call : calls) ASSERT_EQ(call->check(), "");
}

// A team of one only copies. In place there is nothing to copy.
TEST(VectorBlocks, OfOneRank) {
    for (const tutti_collective form : kForms) {
        for (uint64_t seed = 0; seed < 8; ++seed) {
            simulate::SimTeam shape{.ranks = 1, .chunk_bytes = 1024, .layout = {}};
            simulate::NodeSimulator simulator(shape, 1);
            const test::Exchange call(spec_of(form, 0, 2000, seed), 1);
            simulator.add_call(0, call.node_call(0));
            ASSERT_TRUE(simulator.run());
            EXPECT_EQ(call.check(), "");
        }
    }
}

// ---- by hand ------------------------------------------------------------------------------------

// Of one rank: a byte for each, wherever blocks begin.
struct Buffers {
    explicit Buffers(Rank ranks)
        : send_bytes(ranks), send_offsets(ranks), recv_bytes(ranks), recv_offsets(ranks) {}
    std::vector<uint64_t> send_bytes, send_offsets, recv_bytes, recv_offsets;
    std::vector<std::byte> send, recv;
    tutti_blocks blocks{};
};

// Ranks that move when the test says so, each with lengths of its own.
class Members {
  public:
    static constexpr size_t kBlockMax = 64 * 1024;
    explicit Members(Rank ranks, bool is_lean = false)
        : shape_{.ranks = ranks, .chunk_bytes = 1024, .layout = {}},
          memory_(ranks, 1024, is_lean ? std::optional(simulate::SimLean{}) : std::nullopt,
                  kSpareCount),
          ops_(ranks) {
        if (is_lean) shape_.lean = simulate::SimLean{};
        for (Rank rank = 0; rank < ranks; ++rank) {
            teams_.push_back(simulate::sim_rank(shape_, memory_, rank));
            buffers_.emplace_back(ranks);
            Buffers& own = buffers_.back();
            own.send.assign(ranks * kBlockMax, std::byte{0});
            own.recv.assign(ranks * kBlockMax, std::byte{0});
            for (Rank other = 0; other < ranks; ++other) {
                own.send_offsets[other] = own.recv_offsets[other] = other * kBlockMax;
                std::fill_n(own.send.begin() + static_cast<long>(other * kBlockMax), kBlockMax,
                            std::byte(value(rank, other)));
            }
            own.blocks = {own.send_bytes.data(), own.send_offsets.data(), own.recv_bytes.data(),
                          own.recv_offsets.data()};
        }
    }
    static uint8_t value(Rank from, Rank to) { return static_cast<uint8_t>(16 * from + to + 1); }

    // What `from` gives, and what `to` waits for.
    void exchange(Rank from, Rank to, size_t given, size_t taken) {
        buffers_[from].send_bytes[to] = given;
        buffers_[to].recv_bytes[from] = taken;
    }
    void start(Rank rank, tutti_collective form = TUTTI_ALLTOALLV, Rank root = 0) {
        Buffers& own = buffers_[rank];
        Call call;
        call.collective = form;
        call.root = root;
        call.send = own.send.data();
        call.recv = own.recv.data();
        call.blocks = &own.blocks;
        if (form == TUTTI_GATHERV) call.own_bytes = own.send_bytes[root];
        if (form == TUTTI_SCATTERV) call.own_bytes = own.recv_bytes[root];
        if (form == TUTTI_GATHERV) call.send = own.send.data() + root * kBlockMax;
        start_call(rank, call);
    }
    void start_call(Rank rank, const Call& call) {
        ops_[rank] = {};
        node::start(teams_[rank], ops_[rank], call);
    }
    Step step(Rank rank) { return node::step(teams_[rank], ops_[rank]); }
    // Until it is done, or has nothing to do for a while.
    Step run(Rank rank) {
        Step last = Step::kBlocked;
        for (int vain = 0; vain < 3;) {
            last = step(rank);
            if (last == Step::kDone) return last;
            vain = last == Step::kBlocked ? vain + 1 : 0;
        }
        return last;
    }
    // All in turn; whether every one of them has ended.
    bool run_all() {
        std::vector<bool> is_done(teams_.size());
        for (int turn = 0; turn < 40; ++turn) {
            for (Rank rank = 0; rank < teams_.size(); ++rank) {
                if (!is_done[rank]) is_done[rank] = run(rank) == Step::kDone;
            }
        }
        return is_done == std::vector<bool>(teams_.size(), true);
    }
    // Of what `to` has from `from`: bytes from the begin on that are right.
    [[nodiscard]] size_t received(Rank from, Rank to, bool is_one = false) const {
        const std::byte* at = buffers_[to].recv.data() + (is_one ? 0 : from * kBlockMax);
        size_t bytes = 0;
        while (bytes < kBlockMax && at[bytes] == std::byte(value(from, to))) ++bytes;
        return bytes;
    }
    [[nodiscard]] Disagreement disagreement(Rank rank) const {
        return find_disagreement(teams_[rank], ops_[rank]);
    }
    [[nodiscard]] std::vector<Rank> missing(Rank rank) const {
        return not_arrived(teams_[rank], ops_[rank]);
    }
    Team& team(Rank rank) { return teams_[rank]; }
    Op& op(Rank rank) { return ops_[rank]; }

  private:
    simulate::SimTeam shape_;
    simulate::SimSlice memory_;
    std::vector<Team> teams_;
    std::vector<Buffers> buffers_;
    std::vector<Op> ops_;
};

// Two ranks have so long a block for each other, cut into lines, that no counter has room for its
// rounds. Nothing of it is touched.
TEST(VectorBlocks, OfTooManyRoundsAreRefusedAtBothEnds) {
    constexpr size_t kTooLong = size_t{1} << 40;
    Members members(9);
    members.exchange(0, 1, kTooLong, kTooLong);
    members.exchange(2, 3, 8, 8);
    for (Rank rank = 0; rank < 4; ++rank) members.start(rank);
    EXPECT_EQ(members.step(0), Step::kFailed);
    EXPECT_EQ(members.step(1), Step::kFailed);
    EXPECT_EQ(members.step(1), Step::kFailed) << "and stay so";
    EXPECT_EQ(members.run(2), Step::kDone);
    EXPECT_EQ(members.run(3), Step::kDone);
}

// A giver of short blocks may be as far ahead as in other calls; one that gives nothing has no
// limit.
TEST(VectorBlocks, GiversRunAhead) {
    struct Row {
        size_t bytes;
        uint64_t calls;
    };
    for (const Row& row : {Row{0, 300}, Row{56, kSpareCount}, Row{57, kSlotCount}}) {
        Members members(3);
        members.exchange(1, 0, row.bytes, row.bytes);
        members.exchange(2, 0, 8, 8);
        for (uint64_t call = 0; call < row.calls; ++call) {
            members.start(1, TUTTI_GATHERV);
            ASSERT_EQ(members.run(1), Step::kDone) << row.bytes << " bytes, call " << call;
        }
        if (row.bytes == 0) continue;
        members.start(1, TUTTI_GATHERV);
        ASSERT_EQ(members.run(1), Step::kBlocked) << row.bytes;
        for (const Rank rank : {2u, 0u}) {
            members.start(rank, TUTTI_GATHERV);
            ASSERT_EQ(members.run(rank), Step::kDone);
        }
        EXPECT_EQ(members.received(1, 0), row.bytes);
        ASSERT_EQ(members.run(1), Step::kDone);
    }
}

// One of long blocks fills its ring call after call. When it begins the ring anew it is two calls
// ahead at most.
TEST(VectorBlocks, GiversOfLongBlocksRunAheadByTheRing) {
    constexpr size_t kBytes = 1'500;
    constexpr uint64_t kRounds = 2;
    Members members(3);
    members.exchange(1, 0, kBytes, kBytes);
    members.exchange(2, 0, 8, 8);
    const auto run_others = [&] {
        for (const Rank rank : {2u, 0u}) {
            members.start(rank, TUTTI_GATHERV);
            ASSERT_EQ(members.run(rank), Step::kDone);
        }
        EXPECT_EQ(members.received(1, 0), kBytes);
    };
    constexpr uint64_t kAhead = kChunkCountMin / kRounds;
    for (uint64_t call = 0; call < 5 * kAhead; ++call) {
        members.start(1, TUTTI_GATHERV);
        if (call < kAhead) {
            ASSERT_EQ(members.run(1), Step::kDone) << "call " << call;
            continue;
        }
        for (uint64_t i = call == kAhead ? kAhead - 1 : 1; i > 0; --i) {
            ASSERT_EQ(members.run(1), Step::kBlocked) << "call " << call;
            run_others();
        }
        ASSERT_EQ(members.run(1), Step::kDone) << "call " << call;
    }
    for (int call = 0; call < 2; ++call) run_others();
}

// Other calls between two vector forms take places in the ring, too.
TEST(VectorBlocks, PlacesInTheRingGoOnOrBeginAnew) {
    Members members(2);
    std::vector<std::byte> sent(4'000, std::byte{0x42}), received(8'000);
    for (int turn = 0; turn < 6; ++turn) {
        for (int i = 0; i <= turn; ++i) {
            members.exchange(0, 1, 3'000 - 400 * static_cast<size_t>(i), 3'000);
            members.exchange(1, 0, 1'100, 1'100);
            for (Rank rank = 0; rank < 2; ++rank) members.start(rank);
            ASSERT_TRUE(members.run_all());
            EXPECT_EQ(members.received(1, 0), 1'100u);
        }
        Call call;
        call.collective = TUTTI_GATHER;
        call.bytes = sent.size();
        call.send = sent.data();
        call.recv = received.data();
        std::ranges::fill(received, std::byte{0});
        for (Rank rank = 0; rank < 2; ++rank) members.start_call(rank, call);
        ASSERT_TRUE(members.run_all());
        EXPECT_EQ(std::ranges::count(received, std::byte{0x42}), 8'000);
    }
}

// In an alltoallv whole slots are in use, so no call goes to spare lines.
TEST(VectorBlocks, RanksThatOnlyGiveRunAheadByTheSlots) {
    Members members(3);
    members.exchange(1, 2, 8, 8);
    for (uint64_t call = 0; call < kSlotCount; ++call) {
        members.start(1);
        ASSERT_EQ(members.run(1), Step::kDone) << call;
    }
    members.start(1);
    ASSERT_EQ(members.run(1), Step::kBlocked);
    members.start(0);
    members.start(2);
    ASSERT_EQ(members.run(0), Step::kDone);
    ASSERT_EQ(members.run(2), Step::kDone);
    EXPECT_EQ(members.received(1, 2), 8u);
    ASSERT_EQ(members.run(1), Step::kDone);
}

// A ring of long blocks is not overwritten while one reader is late.
TEST(VectorBlocks, WritersWaitForTheLastReader) {
    Members members(3);
    members.exchange(0, 1, 20'000, 20'000);
    members.exchange(0, 2, 30'000, 30'000);
    for (Rank rank = 0; rank < 3; ++rank) members.start(rank);
    ASSERT_EQ(members.run(0), Step::kBlocked);
    ASSERT_EQ(members.run(1), Step::kBlocked);
    ASSERT_EQ(members.run(0), Step::kBlocked);
    EXPECT_EQ(members.op(0).posted, kChunkCountMin);
    EXPECT_EQ(members.op(1).taken, kChunkCountMin);
    ASSERT_TRUE(members.run_all());
    EXPECT_EQ(members.received(0, 1), 20'000u);
    EXPECT_EQ(members.received(0, 2), 30'000u);
}

// A rank that reads nothing says so at once, though it has long blocks to give: two such ranks
// would wait for each other otherwise.
TEST(VectorBlocks, WritersDoNotWaitForThoseWhoReadNothing) {
    Members members(3);
    members.exchange(0, 1, 20'000, 20'000);
    members.exchange(2, 1, 30'000, 30'000);
    for (Rank rank = 0; rank < 3; ++rank) members.start(rank);
    ASSERT_TRUE(members.run_all());
    EXPECT_EQ(members.received(0, 1), 20'000u);
    EXPECT_EQ(members.received(2, 1), 30'000u);
}

TEST(VectorBlocks, ACallThatHasNotBegunIsTakenBack) {
    Members members(2);
    members.exchange(0, 1, 5'000, 5'000);
    const Bases before = members.team(0).bases;
    members.start(0);
    retract(members.team(0), members.op(0));
    EXPECT_EQ(members.team(0).bases.events, before.events);
    EXPECT_EQ(members.team(0).bases.chunks, before.chunks);
    members.team(0).bases.history = before.history;
    members.start(0);
    members.start(1);
    ASSERT_TRUE(members.run_all());
    EXPECT_EQ(members.received(0, 1), 5'000u);
}

// ---- ranks that differ --------------------------------------------------------------------------

struct Difference {
    size_t given;
    size_t taken;
};

// What is sent decides where it came in a cell.
TEST(VectorBlocks, LessIsTaken) {
    for (const Difference& one : {Difference{8, 56},
                                  {56, 57},
                                  {57, 1000},
                                  {1, 1024},
                                  {400, 3000},
                                  {8, 20'000},
                                  {1'100, 1'200},
                                  {3'000, 20'000}}) {
        for (const tutti_collective form : {TUTTI_ALLTOALLV, TUTTI_GATHERV, TUTTI_SCATTERV}) {
            SCOPED_TRACE(std::string(collective_name(form)) + ": " + std::to_string(one.given) +
                         " of " + std::to_string(one.taken));
            const Rank giver = form == TUTTI_SCATTERV ? 0 : 1;
            const Rank taker = 1 - giver;
            Members members(3);
            members.exchange(giver, taker, one.given, one.taken);
            if (form == TUTTI_ALLTOALLV) {
                // A long block beside it, which its reader waits for.
                members.exchange(2, taker, 9'000, 9'000);
                members.exchange(giver, 2, 9'000, 9'000);
            }
            for (Rank rank = 0; rank < 3; ++rank) members.start(rank, form);
            ASSERT_TRUE(members.run_all());
            EXPECT_EQ(members.received(giver, taker, form == TUTTI_SCATTERV), one.given);
        }
    }
}

// All else that can be seen is an error that names the giver. is_over: it is seen only once the
// giver has left.
TEST(VectorBlocks, OtherLengthsAreFoundOut) {
    struct Row {
        size_t given, taken;
    };
    for (const bool is_lean : {false, true}) {
        for (const Row& row :
             {Row{40, 8}, {1000, 8}, {5'000, 8}, {20'000, 40}, {0, 8}, {0, 5'000}}) {
            SCOPED_TRACE(std::to_string(row.given) + " for " + std::to_string(row.taken) +
                         (is_lean ? ", lean" : ""));
            Members members(2, is_lean);
            members.exchange(1, 0, row.given, row.taken);
            members.exchange(0, 1, 16, 16);
            members.start(0);
            members.start(1);
            EXPECT_FALSE(members.run_all());
            const Disagreement with = members.disagreement(0);
            EXPECT_EQ(with.rank, 1u);
            EXPECT_EQ(with.in_length, InLength::kSent);
            EXPECT_FALSE(with.is_known);
        }
    }
}

TEST(VectorBlocks, ALongerBlockIsFoundOutInTheRing) {
    Members members(2);
    members.exchange(1, 0, 20'000, 5'000);
    for (Rank rank = 0; rank < 2; ++rank) members.start(rank);
    EXPECT_FALSE(members.run_all());
    EXPECT_EQ(members.disagreement(0).in_length, InLength::kSent);
    EXPECT_EQ(members.disagreement(0).rank, 1u);
}

// A giver that moves long blocks has none for a rank that waits for one.
TEST(VectorBlocks, ALongBlockThatNeverComesIsFoundOut) {
    Members members(3);
    members.exchange(1, 0, 0, 5'000);
    members.exchange(1, 2, 20'000, 20'000);
    members.start(0);
    members.start(1);
    EXPECT_EQ(members.run(1), Step::kBlocked);
    EXPECT_EQ(members.run(0), Step::kBlocked);
    EXPECT_EQ(members.disagreement(0).in_length, InLength::kSent);
    EXPECT_EQ(members.disagreement(0).rank, 1u);
}

// An end that waits in another form does not take it for one of lengths.
TEST(VectorBlocks, OtherFormsAreFoundOut) {
    Members members(2);
    members.exchange(1, 0, 8, 8);
    members.exchange(0, 1, 8, 8);
    members.start(0, TUTTI_ALLTOALLV);
    members.start(1, TUTTI_ALLTOALLW);
    EXPECT_FALSE(members.run_all());
    const Disagreement with = members.disagreement(0);
    EXPECT_EQ(with.rank, 1u);
    EXPECT_TRUE(with.is_known);
    EXPECT_EQ(with.in_length, InLength::kNo);
    EXPECT_EQ(with.note.collective, TUTTI_ALLTOALLW);
}

// The inbox of a lean team's rank is where its own slot is.
TEST(VectorBlocks, WhoHasBeenSentSomethingNeedNotHaveCome) {
    for (const bool is_lean : {false, true}) {
        Members members(3, is_lean);
        members.exchange(0, 1, 8, 8);
        members.exchange(0, 2, 9'000, 9'000);
        members.start(0, TUTTI_SCATTERV);
        members.run(0);
        EXPECT_EQ(members.missing(0), (std::vector<Rank>{1, 2}));
    }
}

}  // namespace
}  // namespace tutti::node
