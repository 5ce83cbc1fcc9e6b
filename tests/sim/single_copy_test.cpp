// SPDX-License-Identifier: BSD-3-Clause
// Single copy: offers, claims, withdrawals and refusals in every interleaving of few ranks, and in
// seeded ones of many.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/collectives.h"
#include "base/topo/node_topology.h"
#include "lab/simulate/node_simulator.h"
#include "run/node/node_algorithms.h"
#include "run/node/offer.h"
#include "sim/explorer.h"
#include "sim/mixed_calls.h"
#include "sim/peer_memory.h"
#include "sim/script.h"
#include "sim/seeds.h"

namespace tutti::test {
namespace {

using simulate::NodeSimulator;
using simulate::SimTeam;
using Peers = std::shared_ptr<node::PeerMemory> (*)(node::Rank);

constexpr tutti_collective kKinds[] = {TUTTI_BCAST,  TUTTI_REDUCE,  TUTTI_ALLREDUCE,
                                       TUTTI_GATHER, TUTTI_SCATTER, TUTTI_ALLGATHER};
constexpr tutti_collective kVectorForms[] = {TUTTI_GATHERV, TUTTI_SCATTERV, TUTTI_ALLGATHERV,
                                             TUTTI_ALLTOALLV};

SimTeam single_team(uint32_t ranks, size_t chunk_bytes, Peers peers) {
    SimTeam team{.ranks = ranks, .chunk_bytes = chunk_bytes, .layout = {}};
    team.peers = peers;
    team.tuning.set_single(node::kInlineBytesMax + 1);
    team.tuning.pieces.count = 2;
    return team;
}

uint32_t roots(tutti_collective kind, uint32_t ranks) { return has_root(kind) ? ranks : 1; }

// The most that read one rank's memory at the same time.
uint64_t readers_now(const node::Slice& slice) {
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < slice.geometry.ranks; ++rank) {
        most = std::max(most, node::readers_now(slice.offer(rank).state.load()));
    }
    return most;
}

void explore(const SimTeam& team, const std::vector<Spec>& script) {
    constexpr size_t kStatesMax = 400'000;
    Explorer explorer(team, script);
    explorer.demand([&](const node::Slice& slice) {
        return readers_now(slice) > team.tuning.readers_max ? "too many readers" : "";
    });
    const std::string wrong = explorer.explore(kStatesMax);
    std::string names;
    for (const Spec& spec : script) names += describe(spec) + "; ";
    ASSERT_EQ(wrong, "") << team.ranks << " ranks: " << names;
    ASSERT_GE(explorer.ends(), 1u) << names;
}

void explore_each(const SimTeam& team, size_t bytes) {
    for (const tutti_collective kind : kKinds) {
        for (uint32_t root = 0; root < roots(kind, team.ranks); ++root) {
            // Of an allgather of three, in place alone: placing the own block has too many states.
            const bool is_wide = kind == TUTTI_ALLGATHER && team.ranks > 2;
            for (uint64_t seed = 1; seed <= (is_wide ? 1u : 2u); ++seed) {
                explore(team, {{kind, root, bytes, Fold::kAffine, seed}});
            }
        }
    }
}

constexpr size_t kBytes = 1200;

TEST(EveryInterleavingOfSingleCopy, OneCallOfTwo) {
    for (const Peers peers : {all_read, rank_0_cannot_read, rank_1_cannot_read}) {
        explore_each(single_team(2, 1024, peers), kBytes);
    }
}

TEST(EveryInterleavingOfSingleCopy, OneCallOfThree) {
    for (const Peers peers : {all_read, rank_1_cannot_read}) {
        SimTeam team = single_team(3, 2048, peers);
        team.patience_polls = 0;  // the fewest states
        team.tuning.pieces.count = 1;
        explore_each(team, kBytes);
    }
}

// A broadcast along a tree: whoever has read it offers it.
TEST(EveryInterleavingOfSingleCopy, ATreeOfThree) {
    constexpr uint32_t kTop = node::kNoRank;
    const std::vector<uint32_t> chain = {1, kTop, 0};
    const std::vector<uint32_t> star = {kTop, 0, 0};
    for (const auto& parents : {chain, star}) {
        for (const Peers peers : {all_read, rank_0_cannot_read, rank_1_cannot_read}) {
            SimTeam team = single_team(3, 1024, peers);
            team.layout = node::make_tree(parents, std::vector<uint32_t>(parents.size(), 0));
            for (uint32_t root = 0; root < 3; ++root) {
                explore(team, {{TUTTI_BCAST, root, kBytes, Fold::kXorU64, 1}});
            }
        }
    }
}

// Givers wait for room in their rings.
TEST(EveryInterleavingOfSingleCopy, LongCallsOfTwo) {
    for (const Peers peers : {all_read, rank_1_cannot_read}) {
        SimTeam team = single_team(2, 128, peers);
        team.tuning.pieces.count = 16;
        team.tuning.pieces.bytes_min = 128;
        explore_each(team, kBytes);
    }
}

// Blocks of up to so many bytes, the shorter ones in cells and rings; a giver that withdraws writes
// the others behind these.
TEST(EveryInterleavingOfSingleCopy, OneVectorFormOfTwo) {
    for (const Peers peers : {all_read, rank_0_cannot_read, rank_1_cannot_read}) {
        for (const size_t chunk : {128, 1024}) {
            SimTeam team = single_team(2, chunk, peers);
            team.tuning.pieces.bytes_min = 512;
            for (const tutti_collective kind : kVectorForms) {
                for (uint32_t root = 0; root < roots(kind, 2); ++root) {
                    for (uint64_t seed = 1; seed <= 4; ++seed) {
                        explore(team, {{kind, root, 2 * kBytes, Fold::kXorU64, seed}});
                    }
                }
            }
        }
    }
}

TEST(EveryInterleavingOfSingleCopy, PairsWithVectorForms) {
    for (const Peers peers : {all_read, rank_1_cannot_read}) {
        SimTeam team = single_team(2, 2048, peers);
        team.patience_polls = 0;
        team.tuning.pieces.count = 1;
        for (const tutti_collective form : kVectorForms) {
            for (const tutti_collective other : {TUTTI_BCAST, TUTTI_ALLGATHER, TUTTI_ALLTOALLV}) {
                const Spec first{form, 0, 2 * kBytes, Fold::kXorU64, 1};
                const Spec second{other, roots(other, 2) - 1, kBytes, Fold::kXorU64, 2};
                explore(team, {first, second});
                explore(team, {second, first});
            }
        }
    }
}

// What one call left of offers and counters meets the next, whose roots differ. No patience: an
// offer is withdrawn as soon as nothing else can be done, or stands for ever.
TEST(EveryInterleavingOfSingleCopy, PairsOfTwo) {
    for (const uint64_t patience : {uint64_t{0}, UINT64_MAX}) {
        SimTeam team = single_team(2, 2048, all_read);
        team.patience_polls = patience;
        team.tuning.pieces.count = 1;
        for (const tutti_collective first : kKinds) {
            for (const tutti_collective second : kKinds) {
                const uint32_t root = roots(second, 2) - 1;
                explore(team, {{first, 0, kBytes, Fold::kAffine, 1},
                               {second, root, kBytes, Fold::kXorU64, 2}});
            }
        }
    }
}

// ---- readers in turn ----------------------------------------------------------------------------

TEST(EveryInterleavingOfReadersInTurn, OneCallOfThree) {
    for (const Peers peers : {all_read, rank_1_cannot_read}) {
        SimTeam team = single_team(3, 2048, peers);
        team.tuning.pieces.count = 1;
        for (const uint32_t limit : {1u, 2u}) {
            team.tuning.readers_max = limit;
            for (const uint64_t patience : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
                team.patience_polls = patience;
                for (uint32_t root = 0; root < 3; ++root) {
                    explore(team, {{TUTTI_BCAST, root, kBytes, Fold::kXorU64, 1}});
                    explore(team, {{TUTTI_SCATTER, root, kBytes, Fold::kXorU64, 1}});
                }
            }
            // Nobody is late: the fewest states.
            team.patience_polls = UINT64_MAX;
            explore(team, {{TUTTI_ALLGATHER, 0, kBytes, Fold::kAffine, 1}});
        }
    }
}

TEST(EveryInterleavingOfReadersInTurn, OneCallOfFour) {
    for (const uint32_t limit : {1u, 2u}) {
        for (const tutti_collective kind : {TUTTI_BCAST, TUTTI_SCATTER}) {
            SimTeam team = single_team(4, 2048, rank_1_cannot_read);
            team.patience_polls = 0;
            team.tuning.readers_max = limit;
            team.tuning.pieces.count = 1;
            explore(team, {{kind, 0, kBytes, Fold::kXorU64, 1}});
        }
    }
}

// Two calls, of different roots: what one left of the counters meets the next.
TEST(EveryInterleavingOfReadersInTurn, PairsOfThree) {
    for (const tutti_collective first : {TUTTI_BCAST, TUTTI_SCATTER}) {
        for (const tutti_collective second : {TUTTI_BCAST, TUTTI_GATHER}) {
            SimTeam team = single_team(3, 2048, all_read);
            team.patience_polls = 0;
            team.tuning.readers_max = 1;
            team.tuning.pieces.count = 1;
            explore(team,
                    {{first, 0, kBytes, Fold::kXorU64, 1}, {second, 1, kBytes, Fold::kXorU64, 2}});
        }
    }
}

TEST(EveryInterleavingOfReadersInTurn, ATreeOfThree) {
    constexpr uint32_t kTop = node::kNoRank;
    for (const uint64_t patience : {uint64_t{1}, UINT64_MAX}) {
        for (const Peers peers : {all_read, rank_1_cannot_read}) {
            SimTeam team = single_team(3, 1024, peers);
            team.layout =
                node::make_tree(std::vector<uint32_t>{kTop, 0, 0}, std::vector<uint32_t>(3, 0));
            team.patience_polls = patience;
            team.tuning.readers_max = 1;
            for (uint32_t root = 0; root < 3; ++root) {
                explore(team, {{TUTTI_BCAST, root, kBytes, Fold::kXorU64, 1}});
            }
        }
    }
}

// All in turn, step by step, through reads of several steps: the most readers of one giver.
uint64_t most_readers(tutti_collective kind, uint32_t limit, node::Layout layout) {
    constexpr uint32_t kRanks = 6;
    SimTeam team = single_team(kRanks, 4096, all_read);
    team.layout = std::move(layout);
    team.patience_polls = UINT64_MAX;
    team.tuning.readers_max = limit;
    const simulate::SimSlice memory(kRanks, 4096);
    std::vector<node::Team> ranks;
    std::vector<node::Op> ops(kRanks);
    Exchange exchange({kind, 0, 3 * node::kReadBytesMax, Fold::kXorU64, 1}, kRanks);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        ranks.push_back(sim_rank(team, memory, rank));
        node::start(ranks[rank], ops[rank], exchange.node_call(rank));
    }
    uint64_t most = 0;
    std::vector<bool> is_done(kRanks);
    for (int i = 0; i < 2000; ++i) {
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            if (is_done[rank]) continue;
            is_done[rank] = node::step(ranks[rank], ops[rank]) == Step::kDone;
            most = std::max(most, readers_now(memory.slice()));
        }
    }
    EXPECT_EQ(exchange.check(), "");
    EXPECT_EQ(std::count(is_done.begin(), is_done.end(), true), kRanks);
    return most;
}

TEST(ReadersInTurn, NeverMoreThanTheLimit) {
    constexpr uint32_t kTop = node::kNoRank;
    const node::Layout star =
        node::make_tree(std::vector<uint32_t>{kTop, 0, 0, 0, 0, 1}, std::vector<uint32_t>(6, 0));
    for (const tutti_collective kind : {TUTTI_BCAST, TUTTI_SCATTER}) {
        const uint64_t all = 5;
        EXPECT_EQ(most_readers(kind, node::kAllReaders, {}), all);
        for (uint32_t limit = 1; limit <= 6; ++limit) {
            EXPECT_EQ(most_readers(kind, limit, {}), std::min<uint64_t>(limit, all));
        }
    }
    EXPECT_EQ(most_readers(TUTTI_BCAST, node::kAllReaders, star), 4u);
    EXPECT_EQ(most_readers(TUTTI_BCAST, 3, star), 3u);
    // Each begins with its neighbour.
    EXPECT_EQ(most_readers(TUTTI_ALLGATHER, node::kAllReaders, {}), 1u);
    EXPECT_EQ(most_readers(TUTTI_ALLGATHER, 1, {}), 1u);
    EXPECT_EQ(most_readers(TUTTI_GATHER, 1, {}), 1u);
}

// One giver and its readers, of whom one may read at a time; patience as in programs.
struct Queue {
    static constexpr uint32_t kRanks = 4;
    static constexpr size_t kLong = node::kReadBytesMax + 50'000;  // two steps
    Queue()
        : team(single_team(kRanks, 64 * 1024, all_read)),
          memory(kRanks, 64 * 1024),
          exchange({TUTTI_BCAST, 0, kLong, Fold::kXorU64, 1}, kRanks),
          ops(kRanks),
          is_done(kRanks) {
        team.tuning.readers_max = 1;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            ranks.push_back(sim_rank(team, memory, rank));
            ranks[rank].single_copy.patience_polls.reset();
            node::start(ranks[rank], ops[rank], exchange.node_call(rank));
        }
        poll(0, 1);  // it offers
    }
    Step poll(uint32_t rank, int polls = 1) {
        Step last = Step::kAdvanced;
        for (int i = 0; i < polls && !is_done[rank]; ++i) {
            last = node::step(ranks[rank], ops[rank]);
            is_done[rank] = last == Step::kDone;
        }
        return last;
    }
    // All in turn; false where they do not come to an end.
    bool finish() {
        for (int i = 0; i < 100; ++i) {
            for (uint32_t rank = 0; rank < kRanks; ++rank) poll(rank);
        }
        return std::count(is_done.begin(), is_done.end(), true) == kRanks;
    }
    bool is_withdrawn() const { return (node::own_offer(ranks[0]) & node::kWithdrawn) != 0; }

    SimTeam team;
    simulate::SimSlice memory;
    Exchange exchange;
    std::vector<node::Team> ranks;
    std::vector<node::Op> ops;
    std::vector<bool> is_done;
};

// Far more polls than the giver's patience pass while others are read for.
TEST(ReadersInTurn, AQueueThatIsServedIsNotLate) {
    constexpr int kPolls = 2000;
    Queue queue;
    for (uint32_t reader = 1; reader < Queue::kRanks; ++reader) {
        EXPECT_EQ(queue.poll(reader), Step::kAdvanced);  // it has claimed
        for (uint32_t other = reader + 1; other < Queue::kRanks; ++other) {
            EXPECT_EQ(queue.poll(other), Step::kBlocked);
            EXPECT_EQ(queue.ops[other].awaited, 0u);
            EXPECT_TRUE(node::may_await(queue.ranks[other], queue.ops[other], reader));
        }
        queue.poll(0, kPolls);
        queue.poll(reader);
        queue.poll(0, kPolls);
        EXPECT_EQ(queue.poll(reader, 10), Step::kDone);
        queue.poll(0, 10);  // until the next one has seen that
    }
    EXPECT_TRUE(queue.is_done[0]);
    EXPECT_FALSE(queue.is_withdrawn());
    EXPECT_EQ(queue.ranks[0].single_copy.doubts, 0u);
    EXPECT_EQ(queue.exchange.check(), "");
}

// One is read for, then the next one does not come.
TEST(ReadersInTurn, ALateReaderHoldsNobody) {
    constexpr int kPollsMax = 400;  // of patience and of a turn, and the copy into the ring
    Queue queue;
    queue.poll(0, 100);  // all of them are somewhat late
    EXPECT_EQ(queue.poll(1, 10), Step::kDone);
    EXPECT_EQ(queue.poll(0, kPollsMax), Step::kDone);
    EXPECT_EQ(queue.ranks[0].single_copy.doubts, 1u);
    EXPECT_EQ(queue.poll(2, 100), Step::kDone);
    EXPECT_EQ(queue.poll(3, 100), Step::kDone);
    EXPECT_EQ(queue.exchange.check(), "");
}

// One that is stopped while it reads holds its giver, as without a limit, but not those behind it.
TEST(ReadersInTurn, AStoppedReaderHoldsNoOtherReader) {
    constexpr int kPollsMax = 100'000;
    Queue queue;
    EXPECT_EQ(queue.poll(1), Step::kAdvanced);
    EXPECT_EQ(queue.poll(0, kPollsMax), Step::kBlocked);
    EXPECT_TRUE(queue.is_withdrawn());
    EXPECT_EQ(queue.poll(2, 100), Step::kDone);
    EXPECT_EQ(queue.poll(3, 100), Step::kDone);
    EXPECT_EQ(queue.poll(1, 10), Step::kDone);
    EXPECT_EQ(queue.poll(0, 10), Step::kDone);
    EXPECT_EQ(queue.exchange.check(), "");
}

// Who cannot read makes room for the next one.
TEST(ReadersInTurn, ARefusalEndsATurn) {
    Queue queue;
    queue.ranks[1].single_copy.peers = std::make_shared<NoMemory>();
    EXPECT_EQ(queue.poll(1), Step::kAdvanced);
    EXPECT_EQ(queue.poll(2), Step::kBlocked);
    queue.poll(1);  // it gives back
    EXPECT_EQ(queue.poll(2), Step::kAdvanced);
    EXPECT_EQ(readers_now(queue.memory.slice()), 1u);
    EXPECT_TRUE(queue.finish());
    EXPECT_EQ(queue.exchange.check(), "");
}

// Without a limit, too: all have begun to read, and that takes longer than the giver's patience.
TEST(SingleCopy, WhereAllReadNobodyIsLate) {
    Queue queue;
    for (node::Team& team : queue.ranks) team.tuning.readers_max = node::kAllReaders;
    for (uint32_t reader = 1; reader < Queue::kRanks; ++reader) queue.poll(reader);
    queue.poll(0, 2000);
    EXPECT_FALSE(queue.is_withdrawn());
    for (uint32_t reader = 1; reader < Queue::kRanks; ++reader) {
        EXPECT_EQ(queue.poll(reader, 10), Step::kDone);
    }
    EXPECT_EQ(queue.poll(0, 10), Step::kDone);
    EXPECT_EQ(queue.ranks[0].single_copy.doubts, 0u);
    EXPECT_EQ(queue.exchange.check(), "");
}

// ---- seeded -------------------------------------------------------------------------------------

struct Plan {
    SimTeam team;
    Limits limits;
    uint32_t calls = 12;
    bool may_lose = false;  // reads may fail at any time: allreduce cannot end then
};

Plan draw_plan(Prng& prng, uint32_t ranks_max, Peers peers) {
    Plan plan;
    const auto ranks = static_cast<uint32_t>(2 + prng.below(ranks_max - 1));
    const size_t chunk = std::max<size_t>(node::kLineBytes * ranks, size_t{64} << prng.below(7));
    plan.team = single_team(ranks, chunk, peers);
    plan.team.tuning.pieces.count = static_cast<uint32_t>(1 + prng.below(8));
    plan.team.tuning.pieces.bytes_min = 64;
    plan.team.patience_polls = prng.below(3) == 0 ? UINT64_MAX : prng.below(6);
    if (prng.below(2) == 0) plan.team.tuning.single_one_way = 4096;
    if (prng.below(4) == 0) {
        plan.team.tuning.single_all_ways = node::kNever;
        plan.team.tuning.single_once = 2048;
    }
    if (prng.below(3) == 0) plan.team.layout = random_tree(prng, ranks);
    if (prng.below(2) == 0) plan.team.tuning.readers_max = static_cast<uint32_t>(1 + prng.below(3));
    plan.limits = {.ranks = ranks,
                   .chunk_bytes = chunk,
                   .bytes_max = std::min<size_t>(40 * chunk, 30'000),
                   .keeps_order = plan.team.layout.flat};
    plan.may_lose = peers == reads_fail;
    return plan;
}

// Two thirds are long enough for single copy.
Spec draw_call(const Plan& plan, Prng& prng) {
    Spec spec = draw_spec(prng, plan.limits);
    if (prng.below(3) != 0) {
        const size_t unit = is_reduction(spec.collective) ? fold_bytes(spec.fold) : 1;
        const size_t bytes = node::kInlineBytesMax + 1 + prng.below(8000);
        spec.bytes = (bytes + unit - 1) / unit * unit;
    }
    if (plan.may_lose && spec.collective == TUTTI_ALLREDUCE) spec.collective = TUTTI_REDUCE;
    if (spec.bytes == 0 && spec.collective != TUTTI_BARRIER) spec = Spec{};
    return spec;
}

void run_seeds(Seeds seeds, uint32_t ranks_max, Peers peers, bool is_lean = false) {
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Prng prng(seed);
        Plan plan = draw_plan(prng, ranks_max, peers);
        if (is_lean) plan.team.lean = simulate::SimLean{.teams = 3, .places = node::kChunksOut};
        const std::string wrong =
            run_drawn(plan.team, plan.calls, seed, [&] { return draw_call(plan, prng); });
        ASSERT_EQ(wrong, "") << plan.team.ranks << " ranks, chunks of " << plan.team.chunk_bytes
                             << replay(seed);
    }
}

TEST(SingleCopy, RandomMixed) { run_seeds(Seeds::wanted(1000), 8, all_read); }
TEST(SingleCopy, RandomMixedManyRanks) { run_seeds(Seeds::wanted(20), 48, all_read); }
TEST(SingleCopy, ReadersThatCannot) {
    run_seeds(Seeds::wanted(300), 6, rank_0_cannot_read);
    run_seeds(Seeds::wanted(300), 6, rank_1_cannot_read);
}
// What goes through a pool after all stays there until it is read, whichever team needs places.
TEST(SingleCopy, ReadersOfLeanTeamsThatCannot) {
    run_seeds(Seeds::wanted(300), 6, rank_0_cannot_read, true);
    run_seeds(Seeds::wanted(300), 6, rank_1_cannot_read, true);
    run_seeds(Seeds::wanted(100), 6, all_read, true);
}
TEST(SingleCopy, ReadsThatFailNowAndThen) { run_seeds(Seeds::wanted(500), 6, reads_fail); }

// What a call is for: nothing goes through the rings where nobody is late.
TEST(SingleCopy, NothingIsCopiedTwice) {
    constexpr size_t kLong = 100'000;
    for (const tutti_collective kind : kKinds) {
        SimTeam team = single_team(3, 4096, all_read);
        team.patience_polls = UINT64_MAX;
        NodeSimulator simulator(team, 1);
        Exchange exchange({kind, 0, kLong, Fold::kXorU64, 1}, team.ranks);
        for (uint32_t rank = 0; rank < team.ranks; ++rank) {
            simulator.add_call(rank, exchange.node_call(rank));
        }
        ASSERT_TRUE(simulator.run());
        EXPECT_EQ(exchange.check(), "");
        for (uint32_t rank = 0; rank < team.ranks; ++rank) {
            const node::Slice& slice = simulator.rank(rank).slice;
            const std::byte* ring = slice.chunk(rank, 0);
            const size_t bytes = slice.geometry.chunk_bytes * slice.geometry.chunk_count;
            EXPECT_TRUE(
                std::all_of(ring, ring + bytes, [](std::byte b) { return b == std::byte{}; }))
                << describe(exchange.spec()) << ", rank " << rank;
        }
    }
}

// Nothing of a broadcast is read twice over a link of the tree's outer levels: of each group one
// rank reads it outside. Counted: who reads whom.
class CountedMemory final : public node::PeerMemory {
  public:
    CountedMemory(std::vector<std::vector<size_t>>& bytes, node::Rank reader)
        : bytes_(bytes), reader_(reader) {}
    bool read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) override {
        bytes_[reader_][rank] += bytes;
        return memory_.read(rank, out, address, bytes);
    }

  private:
    std::vector<std::vector<size_t>>& bytes_;
    node::Rank reader_;
    OwnMemory memory_;
};

TEST(SingleCopy, ABroadcastCrossesEachLevelOnce) {
    // Two sockets of two dies of three ranks each.
    constexpr uint32_t kRanks = 12;
    constexpr size_t kLong = 70'000;
    const auto socket = [](uint32_t rank) { return rank / 6; };
    const auto die = [](uint32_t rank) { return rank / 3; };
    topo::Groups groups;
    groups.level.resize(2);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        groups.level[0].push_back(socket(rank));
        groups.level[1].push_back(die(rank));
    }
    const topo::Tree tree = topo::build_tree(groups, kRanks, 8);
    for (uint32_t root = 0; root < kRanks; ++root) {
        SimTeam team = single_team(kRanks, 4096, nullptr);
        team.layout = node::make_tree(tree.parent, groups.level.back());
        team.patience_polls = UINT64_MAX;
        const simulate::SimSlice memory(kRanks, 4096);
        std::vector<std::vector<size_t>> read(kRanks, std::vector<size_t>(kRanks));
        std::vector<node::Team> ranks;
        std::vector<node::Op> ops(kRanks);
        Exchange exchange({TUTTI_BCAST, root, kLong, Fold::kXorU64, 1}, kRanks);
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            ranks.push_back(sim_rank(team, memory, rank));
            ranks[rank].single_copy.peers = std::make_shared<CountedMemory>(read, rank);
            node::start(ranks[rank], ops[rank], exchange.node_call(rank));
        }
        std::vector<bool> is_done(kRanks);
        for (int i = 0; i < 200; ++i) {
            for (uint32_t rank = 0; rank < kRanks; ++rank) {
                if (!is_done[rank])
                    is_done[rank] = node::step(ranks[rank], ops[rank]) == Step::kDone;
            }
        }
        ASSERT_EQ(exchange.check(), "") << root;
        size_t between_sockets = 0;
        size_t between_dies = 0;
        size_t all = 0;
        for (uint32_t reader = 0; reader < kRanks; ++reader) {
            for (uint32_t giver = 0; giver < kRanks; ++giver) {
                const size_t bytes = read[reader][giver];
                all += bytes;
                if (socket(reader) != socket(giver)) between_sockets += bytes;
                if (die(reader) != die(giver)) between_dies += bytes;
            }
        }
        // The tree is that of rank 0: another root hands it to the tree's, and its own group gets
        // it from there.
        const bool is_apart = root != 0;
        EXPECT_EQ(all, (kRanks - 1) * kLong);
        EXPECT_LE(between_sockets, (is_apart ? 2 : 1) * kLong) << root;
        EXPECT_LE(between_dies, (is_apart ? 4 : 3) * kLong) << root;
    }
}

// The most bytes that a step reads, in calls of 3 * kReadBytesMax.
class StepMemory final : public node::PeerMemory {
  public:
    explicit StepMemory(size_t& step) : step_(step) {}
    bool read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) override {
        step_ += bytes;
        return memory_.read(rank, out, address, bytes);
    }

  private:
    size_t& step_;
    OwnMemory memory_;
};

size_t most_read_in_a_step(tutti_collective kind, uint32_t count) {
    constexpr size_t kChunk = 4096;
    SimTeam team = single_team(count, kChunk, nullptr);
    team.patience_polls = UINT64_MAX;
    const simulate::SimSlice memory(count, kChunk);
    std::vector<node::Team> ranks;
    std::vector<node::Op> ops(count);
    Exchange exchange({kind, 0, 3 * node::kReadBytesMax, Fold::kXorU64, 1}, count);
    size_t step = 0;
    for (uint32_t rank = 0; rank < count; ++rank) {
        ranks.push_back(sim_rank(team, memory, rank));
        ranks[rank].single_copy.peers = std::make_shared<StepMemory>(step);
        node::start(ranks[rank], ops[rank], exchange.node_call(rank));
    }
    size_t most = 0;
    std::vector<bool> is_done(count);
    for (int i = 0; i < 2000; ++i) {
        for (uint32_t rank = 0; rank < count; ++rank) {
            if (is_done[rank]) continue;
            step = 0;
            is_done[rank] = node::step(ranks[rank], ops[rank]) == Step::kDone;
            most = std::max(most, step);
        }
    }
    EXPECT_EQ(exchange.check(), "") << count;
    return most;
}

TEST(SingleCopy, AStepReadsNoMoreThanItMay) {
    for (const tutti_collective kind :
         {TUTTI_BCAST, TUTTI_GATHER, TUTTI_SCATTER, TUTTI_ALLGATHER}) {
        EXPECT_EQ(most_read_in_a_step(kind, 6), node::kReadBytesMax);
    }
    // Pieces of 64 KiB of each other rank, up to four of them; then less, in whole elements of 8.
    EXPECT_EQ(most_read_in_a_step(TUTTI_REDUCE, 3), 2 * 64u * 1024);
    EXPECT_EQ(most_read_in_a_step(TUTTI_ALLREDUCE, 4), 3 * 64u * 1024);
    EXPECT_EQ(most_read_in_a_step(TUTTI_ALLREDUCE, 5), node::kReadBytesMax);
    EXPECT_EQ(most_read_in_a_step(TUTTI_ALLREDUCE, 6), 5 * 52'424u);
    EXPECT_EQ(most_read_in_a_step(TUTTI_ALLREDUCE, 12), 11 * 23'824u);
    EXPECT_EQ(most_read_in_a_step(TUTTI_ALLREDUCE, 48), 47 * 5'576u);
}

// A reader that comes late holds nobody: the giver has left by then, as far as its ring holds the
// data.
TEST(SingleCopy, ALateReaderHoldsNobody) {
    for (const tutti_collective kind : {TUTTI_BCAST, TUTTI_SCATTER, TUTTI_GATHER, TUTTI_REDUCE}) {
        SimTeam team = single_team(2, 4096, all_read);
        team.patience_polls = 3;
        const simulate::SimSlice memory(2, 4096);
        node::Team ranks[] = {sim_rank(team, memory, 0), sim_rank(team, memory, 1)};
        const uint32_t giver = kind == TUTTI_BCAST || kind == TUTTI_SCATTER ? 0 : 1;
        Exchange exchange({kind, 0, 6000, Fold::kXorU64, 1}, 2);
        node::Op ops[2];
        node::start(ranks[giver], ops[giver], exchange.node_call(giver));
        Step last = Step::kAdvanced;
        for (int i = 0; i < 100 && last != Step::kDone; ++i) {
            last = node::step(ranks[giver], ops[giver]);
        }
        ASSERT_EQ(last, Step::kDone) << describe(exchange.spec());
        node::start(ranks[1 - giver], ops[1 - giver], exchange.node_call(1 - giver));
        last = Step::kAdvanced;
        for (int i = 0; i < 100 && last != Step::kDone; ++i) {
            last = node::step(ranks[1 - giver], ops[1 - giver]);
        }
        ASSERT_EQ(last, Step::kDone) << describe(exchange.spec());
        EXPECT_EQ(exchange.check(), "");
        EXPECT_EQ(ranks[giver].single_copy.doubts, 1u);
    }
}

}  // namespace
}  // namespace tutti::test
