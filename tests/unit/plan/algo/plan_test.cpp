// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/check/count.h"
#include "lab/check/prove.h"
#include "plan/algo/algorithms.h"
#include "property/shapes.h"
#include "unit/base/topo/switch_trees.h"

namespace tutti::algo {
namespace {

using topo::Placement;

std::vector<Placement> placements() {
    std::vector<Placement> result;
    result.push_back(Placement::blocks(1, 1));
    result.push_back(Placement::blocks(3, 1));
    result.push_back(Placement::blocks(4, 4));
    result.push_back(Placement::blocks(7, 3));
    result.push_back(Placement::round_robin(7, 3));
    result.push_back(Placement::blocks(12, 5));
    result.emplace_back(std::vector<uint64_t>{0, 1, 1, 1, 1, 2, 3, 3});
    result.emplace_back(std::vector<uint64_t>{5, 5, 7, 5, 9, 7, 5, 5, 2});
    const auto on_leaves = [&](Placement placement, const std::vector<uint32_t>& leaf_of_node) {
        placement.set_switches(topo::test::two_levels(leaf_of_node));
        result.push_back(std::move(placement));
    };
    on_leaves(Placement::blocks(5, 5), {0, 1, 0, 1, 2});
    on_leaves(Placement::blocks(5, 5), {1, 1, 0, 0, 0});
    on_leaves(Placement::blocks(7, 3), {0, 1, 0});
    on_leaves(Placement::blocks(7, 3), {0, 0, 1});
    on_leaves(Placement::round_robin(7, 3), {1, 0, 1});
    return result;
}

Shape shape_of(const Algorithm& algorithm, const Placement& placement, uint64_t bytes) {
    Shape shape;
    shape.collective = algorithm.collective;
    shape.ranks = placement.ranks();
    shape.bytes = algorithm.collective == TUTTI_BARRIER ? 0 : bytes;
    shape.element_bytes = 4;
    shape.has_multicast = true;
    return shape;
}

// Proves one plan and compares what it takes with what was announced.
void prove(const Algorithm& algorithm, const Shape& shape, const Placement& placement,
           const Tuning& tuning) {
    if (!plan_obstacle(algorithm, shape, placement, tuning).empty()) return;
    const Programs programs = make_plans(algorithm, shape, placement, tuning);
    const check::Faults faults = check::prove(shape, placement, programs);
    EXPECT_TRUE(faults.lines.empty())
        << "collective " << shape.collective << ' ' << algorithm.name << ", " << shape.bytes
        << " bytes, " << placement.ranks() << " ranks on " << placement.nodes() << " nodes, root "
        << shape.root << ", segments of " << tuning.segment_bytes << ", " << tuning.leaders
        << " leaders" << (shape.is_commutative ? "" : ", in order") << ": "
        << (faults.lines.empty() ? "" : faults.lines.front());
    const uint64_t scratch = plan_scratch_bytes(algorithm, shape, placement, tuning);
    for (const auto& program : programs) {
        const sched::Extent extent = program->extent();
        EXPECT_LE(extent.lanes_in_flight * extent.scratch_bytes, scratch);
    }
}

TEST(Plan, IsProvedForEveryPlacementRootAndCut) {
    for (const Placement& placement : placements()) {
        for (const Algorithm& algorithm : algorithms()) {
            for (const uint64_t bytes : {4, 52, 20'000}) {
                Shape shape = shape_of(algorithm, placement, bytes);
                for (const bool is_commutative : {true, false}) {
                    shape.is_commutative = is_commutative;
                    for (const Rank root :
                         {Rank{0}, placement.ranks() / 2, placement.ranks() - 1}) {
                        shape.root = root;
                        prove(algorithm, shape, placement, {});
                        const Tuning cut{bytes == 52 ? 12u : 8'000u, 3, 0, 2, false};
                        prove(algorithm, shape, placement, cut);
                        if (testing::Test::HasFailure()) return;
                    }
                }
            }
        }
    }
}

// With and without the node level, whatever the order of ranks on nodes.
TEST(Plan, IsProvedForBlocksOfAnyLengths) {
    for (const Placement& placement : placements()) {
        for (const Algorithm& algorithm : algorithms()) {
            if (!check::has_patterns(algorithm.collective)) continue;
            for (const uint64_t bytes : {4, 52, 20'000}) {
                Shape shape = shape_of(algorithm, placement, bytes);
                const Tuning cut{.segment_bytes = bytes == 52 ? 12u : 8'000u, .leaders = 2};
                for (const bool is_commutative : {true, false}) {
                    shape.is_commutative = is_commutative;
                    for (const Shape& one : with_lengths(shape)) {
                        prove(algorithm, one, placement, {});
                        prove(algorithm, one, placement, {.flat = true});
                        prove(algorithm, one, placement, cut);
                        if (testing::Test::HasFailure()) return;
                    }
                }
            }
        }
    }
}

const Algorithm& named(tutti_collective collective, std::string_view name) {
    const Algorithm* found = find(collective, name);
    TUTTI_ASSERT(found != nullptr, "an algorithm of this name");
    return *found;
}

check::Count most(const Algorithm& algorithm, const Shape& shape, const Placement& placement,
                  const Tuning& tuning) {
    std::vector<check::Count> counts;
    for (const auto& program : make_plans(algorithm, shape, placement, tuning)) {
        counts.push_back(check::count(*program));
    }
    return check::maximum(counts);
}

uint32_t edges_between_nodes(const sched::Round& round, const Placement& placement, Rank rank) {
    return static_cast<uint32_t>(std::ranges::count_if(round, [&](const sched::Operation& op) {
        return op.kind == sched::OperationKind::kMeetWith &&
               placement.node_of(op.peer) != placement.node_of(rank);
    }));
}

// Those who meet are joined to a tree, as is proved above: with one edge fewer between nodes than
// there are nodes, so each node is a stretch of it that hangs together. Not where the order of
// ranks is to be kept and is another one.
TEST(Plan, WhoMeetsGoesNodeByNode) {
    for (const Placement& placement : placements()) {
        for (const char* name : {"adaptive", "adaptive_multicast"}) {
            for (const uint32_t fan_in : {0u, 1u, 2u, 60u}) {
                const Algorithm& algorithm = named(TUTTI_ALLREDUCE, name);
                Shape shape = shape_of(algorithm, placement, 8);
                Tuning tuning;
                tuning.fan_in = fan_in;
                sched::Round round;
                uint32_t between = 0;
                uint64_t messages = 0;
                const auto count = [&] {
                    between = 0;
                    messages = 0;
                    for (Rank rank = 0; rank < placement.ranks(); ++rank) {
                        const auto program = make_plan(algorithm, shape, placement, rank, tuning);
                        program->read(0, 0, round);
                        between += edges_between_nodes(round, placement, rank);
                        messages += check::count(*program).messages_sent;
                    }
                };
                count();
                EXPECT_EQ(between, 2 * (placement.nodes() - 1)) << fan_in;
                // Those of one node tell each other what they have through its memory.
                EXPECT_EQ(messages, between);
                if (algorithm.has_multicast) {
                    shape.bytes = 8'000;
                    count();
                    EXPECT_EQ(messages, 2 * (placement.ranks() - 1)) << "too long for that";
                    shape.bytes = 8;
                }
                shape.is_commutative = false;
                count();
                EXPECT_GE(between, 2 * (placement.nodes() - 1)) << fan_in;
                prove(algorithm, shape, placement, tuning);
            }
        }
    }
}

// Only leaders talk to other nodes: the ring of 4 nodes with 4 ranks each sends what a ring of 4
// ranks sends.
TEST(Plan, KeepsTheNetworkToTheLeaders) {
    const Algorithm& ring = named(TUTTI_ALLREDUCE, "ring");
    const Placement nodes = Placement::blocks(16, 4);
    const Placement singles = Placement::blocks(4, 4);
    const check::Count shared = most(ring, shape_of(ring, nodes, 4096), nodes, {});
    const check::Count single = most(ring, shape_of(ring, singles, 4096), singles, {});
    EXPECT_EQ(shared.bytes_sent, single.bytes_sent);
    EXPECT_EQ(shared.bytes_sent, 2 * 3 * 4096 / 4);
    EXPECT_EQ(shared.messages_sent, single.messages_sent);
    EXPECT_EQ(shared.node_operations, 2u);
    EXPECT_EQ(shared.rounds, single.rounds + 2);
}

TEST(Plan, SharesLanesOutAmongLeaders) {
    const Algorithm& ring = named(TUTTI_ALLREDUCE, "ring");
    const Placement nodes = Placement::blocks(16, 4);
    const Shape shape = shape_of(ring, nodes, 16 * 1024);
    const check::Count one = most(ring, shape, nodes, {1024, 0, 0, 1, false});
    const check::Count four = most(ring, shape, nodes, {1024, 0, 0, 4, false});
    EXPECT_EQ(four.bytes_sent * 4, one.bytes_sent);
    EXPECT_EQ(four.node_operations, 2 * 16u);
    // More leaders than a node has ranks are all of them.
    EXPECT_EQ(most(ring, shape, nodes, {1024, 0, 0, 9, false}), four);
}

// A lane of an allreduce along a chain is under way until its result has come back over all hosts,
// and one of a canonical reduce at a root that is not the last likewise.
TEST(Plan, KeepsManyLanesInFlightWhereTheyReturn) {
    const Placement placement = Placement::blocks(16, 16);
    const auto lanes = [&](tutti_collective collective, const char* name, const Tuning& tuning) {
        const Algorithm& algorithm = named(collective, name);
        const Shape shape = shape_of(algorithm, placement, 16 << 20);
        return make_plan(algorithm, shape, placement, 3, tuning)->extent().lanes_in_flight;
    };
    EXPECT_EQ(lanes(TUTTI_ALLREDUCE, "chain", {}), 16u);
    EXPECT_EQ(lanes(TUTTI_REDUCE, "chain", {}), 16u);
    EXPECT_EQ(lanes(TUTTI_REDUCE, "rotated_chain", {}), 4u);
    EXPECT_EQ(lanes(TUTTI_BCAST, "chain", {}), 4u);
    EXPECT_EQ(lanes(TUTTI_ALLREDUCE, "chain", {0, 2, 0, 0, false}), 2u);
    // The scratch of many long segments would be too much.
    EXPECT_EQ(lanes(TUTTI_ALLREDUCE, "chain", {512 << 10, 0, 0, 0, false}), 4u);
}

TEST(Plan, RunsFlatWhereTheOrderOfRanksDemandsIt) {
    const Placement mixed = Placement::round_robin(8, 4);
    const Algorithm& pairwise = named(TUTTI_ALLREDUCE, "pairwise");
    Shape shape = shape_of(pairwise, mixed, 64);
    EXPECT_EQ(most(pairwise, shape, mixed, {}).node_operations, 2u);
    shape.is_commutative = false;
    EXPECT_EQ(most(pairwise, shape, mixed, {}).node_operations, 0u);
    const Placement blocks = Placement::blocks(8, 4);
    EXPECT_EQ(most(pairwise, shape, blocks, {}).node_operations, 2u);
    Tuning flat;
    flat.flat = true;
    EXPECT_EQ(most(pairwise, shape, blocks, flat).node_operations, 0u);
    // Blocks of nodes that are not contiguous are packed up to a limit.
    const Algorithm& ring = named(TUTTI_ALLGATHER, "ring");
    EXPECT_EQ(most(ring, shape_of(ring, mixed, kPackedBytesMax / 8), mixed, {}).node_operations,
              2u);
    EXPECT_EQ(most(ring, shape_of(ring, mixed, kPackedBytesMax / 8 + 1), mixed, {}).node_operations,
              0u);
}

// The bytes that each rank sends.
std::vector<uint64_t> bytes_sent(const Algorithm& algorithm, const Shape& shape,
                                 const Placement& placement) {
    std::vector<uint64_t> bytes;
    for (const auto& program : make_plans(algorithm, shape, placement, {})) {
        bytes.push_back(check::count(*program).bytes_sent);
    }
    return bytes;
}

// Node 2 has nothing but empty blocks. Each leader sends what all nodes have, but for the block of
// the node behind it, and of a reduce_scatter but for its own.
TEST(Plan, LeadersHaveOneBlockANodeWhereLengthsDiffer) {
    const Placement nodes = Placement::blocks(8, 4);
    const std::vector<uint64_t> lengths = {16, 0, 4, 20, 0, 0, 8, 12};
    const sched::OwnLengths own(lengths);
    const Algorithm& gather = named(TUTTI_ALLGATHERV, "ring");
    Shape shape = shape_of(gather, nodes, 20);
    shape.lengths = own.view();
    EXPECT_EQ(bytes_sent(gather, shape, nodes),
              (std::vector<uint64_t>{36, 0, 60, 0, 40, 0, 44, 0}));
    EXPECT_EQ(most(gather, shape, nodes, {}).node_operations, 2u);
    const Algorithm& scatter = named(TUTTI_REDUCE_SCATTER, "ring");
    shape.collective = TUTTI_REDUCE_SCATTER;
    EXPECT_EQ(bytes_sent(scatter, shape, nodes),
              (std::vector<uint64_t>{44, 0, 36, 0, 60, 0, 40, 0}));
    EXPECT_EQ(most(scatter, shape, nodes, {}).node_operations, 2u);
}

// With ranks in turn nodes have other blocks together.
TEST(Plan, BlocksThatDifferInLengthArePackedForNodes) {
    const Placement mixed = Placement::round_robin(8, 4);
    const std::vector<uint64_t> lengths = {16, 0, 4, 20, 0, 0, 8, 12};
    const sched::OwnLengths own(lengths);
    const Algorithm& gather = named(TUTTI_ALLGATHERV, "ring");
    Shape shape = shape_of(gather, mixed, 20);
    shape.lengths = own.view();
    // Nodes have 16, 0, 12 and 32 bytes, and their leaders are the first four ranks.
    EXPECT_EQ(bytes_sent(gather, shape, mixed),
              (std::vector<uint64_t>{60, 48, 28, 44, 0, 0, 0, 0}));
    const Algorithm& scatter = named(TUTTI_REDUCE_SCATTER, "ring");
    shape.collective = TUTTI_REDUCE_SCATTER;
    EXPECT_EQ(bytes_sent(scatter, shape, mixed),
              (std::vector<uint64_t>{44, 60, 48, 28, 0, 0, 0, 0}));
    EXPECT_EQ(most(scatter, shape, mixed, {}).node_operations, 2u);
}

// Long blocks of an allgather are handed on within the node one by one, as they arrive.
TEST(Plan, StreamsAnAllgather) {
    const Algorithm& ring = named(TUTTI_ALLGATHER, "ring");
    const Placement nodes = Placement::blocks(8, 4);
    EXPECT_EQ(most(ring, shape_of(ring, nodes, 1024), nodes, {}).node_operations, 2u);
    const Shape shape = shape_of(ring, nodes, 8192);
    EXPECT_EQ(most(ring, shape, nodes, {}).node_operations, 1 + 4u);
    // The first block is handed on in the round behind its arrival, and waits for nothing else.
    const auto leader = make_plan(ring, shape, nodes, 0, {});
    sched::Round round;
    leader->read(0, 2, round);
    const sched::Operation& last = round[round.size() - 1];
    EXPECT_EQ(last.kind, sched::OperationKind::kNodeBcast);
    EXPECT_EQ(last.after, sched::after_op(0));
}

// What leaders multicast reaches all ranks: no closing operation, and everybody receives it.
TEST(Plan, MulticastsInsteadOfClosing) {
    const Placement nodes = Placement::blocks(12, 4);
    for (const tutti_collective collective : {TUTTI_BARRIER, TUTTI_ALLREDUCE}) {
        const Algorithm& gather = named(collective, "gather_multicast");
        const Shape shape = shape_of(gather, nodes, 64);
        const auto programs = make_plans(gather, shape, nodes, {});
        for (Rank rank = 0; rank < 12; ++rank) {
            const check::Count count = check::count(*programs[rank]);
            EXPECT_EQ(count.node_operations, 1U);
            EXPECT_EQ(count.multicasts_sent, rank == 0 ? 1U : 0U);
            EXPECT_EQ(count.multicasts_received, rank == 0 ? 0U : 1U);
            EXPECT_EQ(count.messages_sent, rank % 3 == 0 && rank != 0 ? 1U : 0U);
            // Only leaders fold and hold what others sent.
            if (rank % 3 == 0) continue;
            EXPECT_EQ(programs[rank]->extent().scratch_bytes, 0U);
            EXPECT_EQ(programs[rank]->extent().rounds, 2U);
        }
    }
}

// Of a vector in lanes the multicasts go on being numbered from lane to lane, alike on all ranks.
TEST(Plan, NumbersMulticastsOverLanes) {
    const Placement nodes = Placement::round_robin(9, 3);
    for (const tutti_collective collective : {TUTTI_BCAST, TUTTI_ALLREDUCE}) {
        const Algorithm& multicast = named(collective, "multicast");
        const Shape shape = shape_of(multicast, nodes, 1000);
        const uint64_t lanes = 4;  // of 256, 256, 256 and 232 bytes
        const Tuning tuning{256, 2, 0, collective == TUTTI_BCAST ? 0u : 2u, false};
        for (const auto& program : make_plans(multicast, shape, nodes, tuning)) {
            const uint64_t each = collective == TUTTI_BCAST ? 1 : 3;  // one a node
            EXPECT_EQ(program->extent().multicasts, lanes * each);
            std::vector<uint64_t> orders;
            sched::Round round;
            for (uint64_t lane = 0; lane < lanes; ++lane) {
                for (uint64_t k = 0; k < program->extent().rounds; ++k) {
                    program->read(lane, k, round);
                    for (const sched::Operation& op : round) {
                        if (sched::is_multicast(op.kind)) orders.push_back(op.order);
                    }
                }
            }
            ASSERT_EQ(orders.size(), lanes * each);
            for (uint64_t i = 0; i < orders.size(); ++i) EXPECT_EQ(orders[i], i);
        }
    }
}

// A broadcast by multicast has no node level: the route reaches every rank.
TEST(Plan, RunsFlatWhereTheAlgorithmSaysSo) {
    const Placement nodes = Placement::blocks(8, 4);
    for (const tutti_collective collective : {TUTTI_BCAST, TUTTI_ALLGATHER}) {
        const Algorithm& multicast = named(collective, "multicast");
        EXPECT_EQ(most(multicast, shape_of(multicast, nodes, 64), nodes, {}).node_operations, 0U);
    }
}

TEST(Plan, CutsVectorsBetweenElements) {
    const Algorithm& chain = named(TUTTI_BCAST, "chain");
    const Placement placement = Placement::blocks(3, 3);
    Shape shape = shape_of(chain, placement, 100);
    shape.element_bytes = 20;
    const auto lanes = [&](uint64_t segment_bytes) {
        return make_plan(chain, shape, placement, 1, {segment_bytes, 0, 0, 0, false})
            ->extent()
            .lanes;
    };
    EXPECT_EQ(lanes(1), 5u);  // never less than an element
    EXPECT_EQ(lanes(39), 5u);
    EXPECT_EQ(lanes(40), 3u);
    EXPECT_EQ(lanes(99), 2u);
    EXPECT_EQ(lanes(1000), 1u);
}

// Blocks of an alltoall for a node go together, from all ranks of another: a message for each pair
// of nodes, and only leaders send.
TEST(Plan, LeadersSortTheBlocksOfAnAlltoall) {
    const Placement nodes(std::vector<uint64_t>{0, 0, 0, 1, 2, 2});
    for (const char* name : {"linear", "pairwise"}) {
        const Algorithm& algorithm = named(TUTTI_ALLTOALL, name);
        const Shape shape = shape_of(algorithm, nodes, 100);
        const Programs programs = make_plans(algorithm, shape, nodes, {});
        const auto sent = [&](Rank rank) { return check::count(*programs[rank]); };
        EXPECT_EQ(sent(0).messages_sent, 2u);
        EXPECT_EQ(sent(0).bytes_sent, 3 * 3 * 100u) << "three ranks of others, from three";
        EXPECT_EQ(sent(0).node_operations, 2u);
        EXPECT_EQ(sent(1).messages_sent, 0u);
        EXPECT_EQ(sent(1).node_operations, 2u);
        EXPECT_EQ(sent(3).bytes_sent, 5 * 100u);
        EXPECT_EQ(sent(3).node_operations, 0u) << "alone, it has nothing to sort";
        EXPECT_EQ(sent(4).bytes_sent, 2 * 4 * 100u);
        EXPECT_EQ(plan_sorted_bytes(algorithm, shape, nodes, {}), 3 * 6 * 100u);
        EXPECT_EQ(plan_scratch_bytes(algorithm, shape, nodes, {}), 2 * align_up(3 * 6 * 100));
    }
}

TEST(Plan, EveryRankIsAParticipantWhereLeadersCannotSort) {
    const auto participants = [](const char* name, const Placement& placement, uint64_t bytes) {
        const Algorithm& algorithm = named(TUTTI_ALLTOALL, name);
        return inner_lane(algorithm, shape_of(algorithm, placement, bytes), placement, {})
            .shape.ranks;
    };
    EXPECT_EQ(participants("linear", Placement::blocks(8, 4), 8), 4u);
    EXPECT_EQ(participants("linear", Placement::blocks(7, 3), 8), 3u);
    EXPECT_EQ(participants("linear", Placement::round_robin(8, 4), 8), 8u);
    EXPECT_EQ(participants("linear", Placement::blocks(8, 4), kPackedBytesMax / 16), 4u);
    EXPECT_EQ(participants("linear", Placement::blocks(8, 4), kPackedBytesMax / 16 + 1), 8u);
    EXPECT_EQ(participants("bruck", Placement::blocks(8, 4), 8), 4u);
    EXPECT_EQ(participants("bruck", Placement::blocks(7, 3), 8), 7u) << "unequal blocks";
}

// The leaders, each the last rank of its node, scan the folds of nodes as that many ranks would.
TEST(Plan, LeadersScanTheFoldsOfNodes) {
    const Placement nodes(std::vector<uint64_t>{0, 0, 0, 1, 2, 2, 3, 3, 3});
    const Placement singles = Placement::blocks(4, 4);
    for (const char* name : {"doubling", "doubling_123", "chain", "tree"}) {
        for (const tutti_collective collective : {TUTTI_SCAN, TUTTI_EXSCAN}) {
            const Algorithm* found = find(collective, name);
            if (found == nullptr) continue;
            const Shape shape = shape_of(*found, nodes, 800);
            const Algorithm& among = named(TUTTI_EXSCAN, name);
            const Programs programs = make_plans(*found, shape, nodes, {});
            const Programs few = make_plans(among, shape_of(among, singles, 800), singles, {});
            for (Rank rank = 0; rank < 9; ++rank) {
                const uint32_t node = nodes.node_of(rank);
                const bool is_leader = nodes.members(node).back() == rank;
                const check::Count count = check::count(*programs[rank]);
                const check::Count one = check::count(*few[node]);
                EXPECT_EQ(count.messages_sent, is_leader ? one.messages_sent : 0) << name;
                EXPECT_EQ(count.bytes_received, is_leader ? one.bytes_received : 0) << name;
                // The first node gets nothing from others.
                EXPECT_EQ(count.node_operations, rank == 3 ? 0 : rank < 3 ? 1 : 2) << name;
                EXPECT_EQ(programs[rank]->name(), found->name);
            }
        }
    }
}

TEST(Plan, ScansKeepTheOrderOfRanks) {
    const Algorithm& doubling = named(TUTTI_SCAN, "doubling");
    const auto participants = [&](const Placement& placement) {
        return inner_lane(doubling, shape_of(doubling, placement, 8), placement, {}).shape.ranks;
    };
    EXPECT_EQ(participants(Placement::blocks(8, 4)), 4u);
    EXPECT_EQ(participants(Placement::blocks(7, 3)), 3u);
    EXPECT_EQ(participants(Placement::round_robin(8, 4)), 8u);
    // Nodes that follow each other in another order along the switches than by ranks.
    Placement switched = Placement::blocks(8, 4);
    switched.set_switches(topo::test::two_levels({0, 1, 0, 1}));
    EXPECT_EQ(participants(switched), 4u);
    prove(doubling, shape_of(doubling, switched, 8), switched, {});
}

// One rank of very many is planned without looking at the others: its Program's memory would show
// in the extent's rounds only.
TEST(Plan, ReadsNoMoreThanItsOwnPart) {
    const Placement placement = Placement::blocks(65'536, 16'384);
    for (const Algorithm& algorithm : algorithms()) {
        const Shape shape = shape_of(algorithm, placement, 64);
        if (!plan_obstacle(algorithm, shape, placement, {}).empty()) continue;
        const auto leader = make_plan(algorithm, shape, placement, 32'768, {});
        const auto member = make_plan(algorithm, shape, placement, 32'769, {});
        sched::Round round;
        leader->read(0, leader->extent().rounds - 1, round);
        const Rank participants = inner_lane(algorithm, shape, placement, {}).shape.ranks;
        if (participants == placement.ranks()) continue;  // All take part alike.
        EXPECT_LE(member->extent().rounds, 2u + 65'536u / sched::kRoundOpsMax);
    }
}

}  // namespace
}  // namespace tutti::algo
