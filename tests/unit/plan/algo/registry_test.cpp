// SPDX-License-Identifier: BSD-3-Clause
// The examples that the algorithms' files open with. That they are right for all shapes is the
// property tests' business (tests/property).
#include "plan/algo/registry.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "plan/sched/program.h"
#include "plan/sched/program_text.h"

namespace tutti::algo {
namespace {

// "recv 3, send 1; send 2": the messages of each round with their peers; "all 0", "hear 2/1": the
// multicasts with their order.
std::string peers(const Algorithm& algorithm, const Shape& shape, Rank rank,
                  const Tuning& tuning = {}) {
    const auto program = algorithm.make(shape, rank, tuning);
    std::string text;
    sched::Round round;
    for (uint64_t k = 0; k < program->extent().rounds; ++k) {
        program->read(0, k, round);
        text += k == 0 ? "" : "; ";
        bool is_first = true;
        for (const sched::Operation& op : round) {
            if (!sched::is_message(op.kind) && !sched::is_multicast(op.kind)) continue;
            text += is_first ? "" : ", ";
            is_first = false;
            if (sched::is_multicast(op.kind)) {
                const std::string from = std::to_string(op.peer) + "/";
                text += op.kind == sched::OperationKind::kMulticast ? "all " : "hear " + from;
                text += std::to_string(op.order);
                continue;
            }
            text += op.kind == sched::OperationKind::kSend ? "send " : "recv ";
            text += std::to_string(op.peer);
        }
    }
    return text;
}

Shape shape_of(tutti_collective collective, Rank ranks, Rank root) {
    return {.collective = collective, .ranks = ranks, .root = root, .bytes = 240};
}

TEST(Registry, NamesAreFoundAndNoneStandsTwice) {
    std::set<std::string> seen;
    for (const Algorithm& one : algorithms()) {
        EXPECT_EQ(find(one.collective, one.name), &one);
        EXPECT_TRUE(
            seen.insert(std::to_string(one.collective) + " " + std::string(one.name)).second);
        EXPECT_FALSE(one.summary.empty());
        const Shape shape = shape_of(one.collective, 4, 0);
        EXPECT_EQ(one.make(shape, 0, {})->name(), one.name);
    }
    EXPECT_EQ(find(TUTTI_BCAST, "no such"), nullptr);
    EXPECT_EQ(find(TUTTI_BARRIER, "ring"), nullptr);
}

TEST(Registry, PapersNamesMeanTheirAlgorithms) {
    for (const auto& [collective, theirs, ours] :
         std::to_array<std::tuple<tutti_collective, std::string_view, std::string_view>>(
             {{TUTTI_BARRIER, "rds", "dissemination"},
              {TUTTI_BARRIER, "rpe", "pairwise"},
              {TUTTI_ALLREDUCE, "rpe", "pairwise"},
              {TUTTI_BARRIER, "rgm", "gather_multicast"},
              {TUTTI_ALLREDUCE, "rgm", "gather_multicast"}})) {
        EXPECT_EQ(name_here(theirs), ours);
        EXPECT_NE(find(collective, ours), nullptr) << ours;
        EXPECT_EQ(find(collective, theirs), nullptr) << "hides an algorithm: " << theirs;
    }
    EXPECT_EQ(name_here("ring"), "ring");
    EXPECT_EQ(name_here(""), "");
}

TEST(Registry, EveryCollectiveHasOneForAnyOperator) {
    for (int collective = 0; collective < TUTTI_COLLECTIVE_COUNT; ++collective) {
        Shape shape = shape_of(static_cast<tutti_collective>(collective), 7, 0);
        shape.is_commutative = false;
        bool is_there = false;
        for (const Algorithm& one : algorithms()) {
            if (one.collective == shape.collective && one.obstacle(shape).empty()) is_there = true;
        }
        EXPECT_TRUE(is_there) << collective;
    }
}

TEST(Obstacles, TheRingNeedsAnOperatorThatCommutes) {
    Shape shape = shape_of(TUTTI_ALLREDUCE, 7, 0);
    EXPECT_EQ(find(TUTTI_ALLREDUCE, "ring")->obstacle(shape), "");
    shape.is_commutative = false;
    EXPECT_EQ(find(TUTTI_ALLREDUCE, "ring")->obstacle(shape), "needs an operator that commutes");
    EXPECT_EQ(find(TUTTI_ALLREDUCE, "rabenseifner")->obstacle(shape), "");
}

// Where a team has none, no algorithm that needs it runs, whatever else is right.
TEST(Obstacles, MulticastNeedsARoute) {
    size_t there = 0;
    for (const Algorithm& one : algorithms()) {
        Shape shape = shape_of(one.collective, 7, 0);
        if (one.collective == TUTTI_BARRIER) shape.bytes = 0;
        EXPECT_EQ(one.obstacle(shape),
                  one.has_multicast ? "needs hardware multicast, and there is none" : "")
            << one.name;
        shape.has_multicast = true;
        EXPECT_EQ(one.obstacle(shape), "") << one.name;
        there += one.has_multicast ? 1 : 0;
    }
    EXPECT_EQ(there, 10U);
}

TEST(Obstacles, SomeNeedReceivesThatCanBeGivenBack) {
    sched::Shape shape;
    shape.ranks = 4;
    shape.has_multicast = true;
    for (const auto collective : {TUTTI_BARRIER, TUTTI_ALLREDUCE}) {
        shape.gives_back = true;
        EXPECT_EQ(find(collective, "adaptive_multicast")->obstacle(shape), "");
        shape.gives_back = false;
        EXPECT_EQ(find(collective, "adaptive_multicast")->obstacle(shape),
                  "needs receives that can be cancelled; this embedder has none");
        EXPECT_EQ(find(collective, "gather_multicast")->obstacle(shape), "");
    }
}

TEST(Obstacles, MulticastsEndAt16Kibibytes) {
    for (const tutti_collective collective : {TUTTI_BCAST, TUTTI_ALLREDUCE}) {
        const Algorithm& one =
            *find(collective, collective == TUTTI_BCAST ? "multicast" : "gather_multicast");
        Shape shape = shape_of(collective, 7, 0);
        shape.has_multicast = true;
        shape.bytes = sched::kMulticastBytesMax;
        EXPECT_EQ(one.obstacle(shape), "");
        ++shape.bytes;
        EXPECT_EQ(one.obstacle(shape), "a multicast would be longer than 16 KiB");
    }
    Shape shape = shape_of(TUTTI_ALLREDUCE, 7, 0);
    shape.has_multicast = true;
    shape.element_bytes = 20'000;
    shape.bytes = 140'000;
    EXPECT_EQ(find(TUTTI_ALLREDUCE, "multicast")->obstacle(shape),
              "a multicast would be longer than 16 KiB");
    shape.element_bytes = 7;
    EXPECT_EQ(find(TUTTI_ALLREDUCE, "multicast")->obstacle(shape), "");
    shape.is_commutative = false;
    EXPECT_EQ(find(TUTTI_ALLREDUCE, "multicast")->obstacle(shape),
              "needs an operator that commutes");
}

// What the longest message of an algorithm holds, in blocks of 8 ranks, root 3.
TEST(Obstacles, MessagesOfBlocksEndAtOneGibibyte) {
    const struct {
        tutti_collective collective;
        const char* name;
        uint64_t blocks;
    } cases[] = {{TUTTI_GATHER, "direct", 1},  {TUTTI_GATHER, "binomial", 4},
                 {TUTTI_SCATTER, "direct", 1}, {TUTTI_SCATTER, "binomial", 4},
                 {TUTTI_ALLGATHER, "ring", 1}, {TUTTI_ALLGATHER, "recursive_doubling", 4}};
    for (const auto& [collective, name, blocks] : cases) {
        Shape shape = shape_of(collective, 8, collective == TUTTI_ALLGATHER ? 0 : 3);
        shape.bytes = sched::kBlockBytesMax / blocks;
        EXPECT_EQ(find(collective, name)->obstacle(shape), "") << name;
        ++shape.bytes;
        EXPECT_EQ(find(collective, name)->obstacle(shape), "a message would be longer than 1 GiB");
        // Two ranks a node: a participant's block holds two.
        const topo::Placement nodes = topo::Placement::blocks(16, 8);
        shape.nodes = &nodes;
        shape.bytes = sched::kBlockBytesMax / blocks / 2;
        EXPECT_EQ(find(collective, name)->obstacle(shape), "") << name;
        ++shape.bytes;
        EXPECT_NE(find(collective, name)->obstacle(shape), "") << name;
    }
}

TEST(Examples, BcastBinomial) {
    const Algorithm& binomial = *find(TUTTI_BCAST, "binomial");
    EXPECT_EQ(peers(binomial, shape_of(TUTTI_BCAST, 8, 0), 0), "send 4; send 2; send 1");
    EXPECT_EQ(peers(binomial, shape_of(TUTTI_BCAST, 8, 0), 4), "recv 0; send 6; send 5");
}

TEST(Examples, AllreduceRing) {
    const Algorithm& ring = *find(TUTTI_ALLREDUCE, "ring");
    const auto program = ring.make(shape_of(TUTTI_ALLREDUCE, 3, 0), 0, {});
    sched::Round round;
    const uint64_t sent[] = {2, 1, 0, 2};
    const uint64_t received[] = {1, 0, 2, 1};
    ASSERT_EQ(program->extent().rounds, 4U);
    for (uint64_t k = 0; k < 4; ++k) {
        program->read(0, k, round);
        ASSERT_EQ(round.size(), 2U);
        EXPECT_EQ(round[0].to.offset, received[k] * 80);
        EXPECT_EQ(round[1].left.offset, sent[k] * 80);
        EXPECT_EQ(round[0].kind,
                  k < 2 ? sched::OperationKind::kRecvReduce : sched::OperationKind::kRecv);
    }
}

TEST(Examples, AllreducePairwise) {
    const Algorithm& pairwise = *find(TUTTI_ALLREDUCE, "pairwise");
    const Shape shape = shape_of(TUTTI_ALLREDUCE, 5, 0);
    EXPECT_EQ(peers(pairwise, shape, 0), "recv 1; ; recv 2, send 2; ; recv 3, send 3; ; send 1");
    EXPECT_EQ(peers(pairwise, shape, 1), "send 0; recv 0");
    EXPECT_EQ(peers(pairwise, shape, 4), "recv 3, send 3; ; recv 2, send 2; ");
}

TEST(Examples, ReduceBinomial) {
    const Algorithm& binomial = *find(TUTTI_REDUCE, "binomial");
    EXPECT_EQ(peers(binomial, shape_of(TUTTI_REDUCE, 4, 2), 2), "recv 3; recv 0; ");
    EXPECT_EQ(peers(binomial, shape_of(TUTTI_REDUCE, 4, 2), 0), "recv 1; ; send 2");
}

TEST(Examples, Direct) {
    Tuning tuning;
    tuning.fan_in = 2;
    EXPECT_EQ(peers(*find(TUTTI_GATHER, "direct"), shape_of(TUTTI_GATHER, 5, 3), 3, tuning),
              "recv 4, recv 0; recv 1, recv 2");
    EXPECT_EQ(peers(*find(TUTTI_SCATTER, "direct"), shape_of(TUTTI_SCATTER, 5, 3), 3, tuning),
              "send 4, send 0; send 1, send 2");
}

TEST(Examples, AllgatherRing) {
    const Algorithm& ring = *find(TUTTI_ALLGATHER, "ring");
    const auto program = ring.make(shape_of(TUTTI_ALLGATHER, 4, 0), 0, {});
    sched::Round round;
    for (uint64_t s = 0; s < 3; ++s) {
        program->read(0, s, round);
        EXPECT_EQ(round[0].to.offset, (3 - s) * 240);
        EXPECT_EQ(round[1].left.offset, s == 0 ? 0 : (4 - s) * 240);
    }
}

TEST(Examples, BarrierTree) {
    Tuning tuning;
    tuning.fan_in = 3;
    const Algorithm& tree = *find(TUTTI_BARRIER, "tree");
    const Shape shape = shape_of(TUTTI_BARRIER, 8, 0);
    EXPECT_EQ(peers(tree, shape, 0, tuning),
              "recv 1, recv 2, recv 3, recv 4; send 4, send 3, send 2, send 1");
    EXPECT_EQ(peers(tree, shape, 4, tuning),
              "recv 5, recv 6, recv 7; send 0; recv 0; send 7, send 6, send 5");
    EXPECT_EQ(peers(tree, shape, 6, tuning), "send 4; recv 4");
}

TEST(Examples, GatherMulticast) {
    Tuning tuning;
    tuning.fan_in = 3;
    const Algorithm& barrier = *find(TUTTI_BARRIER, "gather_multicast");
    const Shape shape = shape_of(TUTTI_BARRIER, 8, 0);
    EXPECT_EQ(peers(barrier, shape, 0, tuning), "recv 1, recv 2, recv 3, recv 4; all 0");
    EXPECT_EQ(peers(barrier, shape, 4, tuning), "recv 5, recv 6, recv 7; hear 0/0, send 0");
    EXPECT_EQ(peers(barrier, shape, 6, tuning), "hear 0/0, send 4");
    const Algorithm& allreduce = *find(TUTTI_ALLREDUCE, "gather_multicast");
    const Shape vector = shape_of(TUTTI_ALLREDUCE, 8, 0);
    EXPECT_EQ(peers(allreduce, vector, 0, tuning), "recv 1, recv 2, recv 3; ; ; ; recv 4; ; all 0");
    EXPECT_EQ(peers(allreduce, vector, 4, tuning),
              "recv 5, recv 6, recv 7; ; ; ; send 0; hear 0/0");
    EXPECT_EQ(peers(allreduce, vector, 6, tuning), "send 4; hear 0/0");
}

TEST(Examples, Multicast) {
    EXPECT_EQ(peers(*find(TUTTI_BCAST, "multicast"), shape_of(TUTTI_BCAST, 4, 2), 2), "all 0");
    EXPECT_EQ(peers(*find(TUTTI_BCAST, "multicast"), shape_of(TUTTI_BCAST, 4, 2), 3), "hear 2/0");
    Tuning tuning;
    tuning.segment_bytes = 120;
    tuning.fan_in = 2;
    EXPECT_EQ(
        peers(*find(TUTTI_ALLGATHER, "multicast"), shape_of(TUTTI_ALLGATHER, 3, 0), 1, tuning),
        "hear 0/0, hear 0/1; all 2, all 3; hear 2/4, hear 2/5");
    EXPECT_EQ(
        peers(*find(TUTTI_ALLREDUCE, "multicast"), shape_of(TUTTI_ALLREDUCE, 3, 0), 0, tuning),
        "recv 2, send 1; recv 2, send 1; all 0, hear 1/1; hear 2/2");
}

// A rank's first piece waits for all numbers but the two before it, which stand first in the round
// before; its other pieces wait for nothing more.
TEST(Examples, ATurnBeginsBehindTheLastButOnePieceOfTheRankBefore) {
    Tuning tuning;
    tuning.segment_bytes = 80;
    tuning.fan_in = 2;
    const auto program =
        find(TUTTI_ALLGATHER, "multicast")->make(shape_of(TUTTI_ALLGATHER, 3, 0), 1, tuning);
    sched::Round round;
    program->read(0, 1, round);
    ASSERT_EQ(round.size(), 2U);
    EXPECT_EQ(round[1].kind, sched::OperationKind::kMulticast);
    EXPECT_EQ(round[1].order, 3U);
    EXPECT_EQ(round[1].after, sched::after_op(0) | sched::after_op(1));
    program->read(0, 2, round);
    EXPECT_EQ(round[0].order, 4U);
    EXPECT_EQ(round[0].after, sched::kAfterNone);
}

TEST(Examples, BarrierDirect) {
    const Algorithm& direct = *find(TUTTI_BARRIER, "direct");
    const Shape shape = {.collective = TUTTI_BARRIER, .ranks = 4};
    EXPECT_EQ(peers(direct, shape, 1), "recv 0, recv 3, recv 2, send 2, send 3, send 0");
    EXPECT_EQ(peers(direct, {.collective = TUTTI_BARRIER, .ranks = 1}, 0), "");
}

TEST(Examples, BarrierCounter) {
    const Algorithm& counter = *find(TUTTI_BARRIER, "counter");
    const Shape shape = {.collective = TUTTI_BARRIER, .ranks = 4};
    EXPECT_EQ(peers(counter, shape, 0), "recv 1, recv 2, recv 3; send 3, send 2, send 1");
    EXPECT_EQ(peers(counter, shape, 2), "send 0; recv 0");
    // One counter up to 25; then a tree of them. Ranks that share nodes are connected otherwise.
    const Shape more = {.collective = TUTTI_BARRIER, .ranks = 25};
    EXPECT_EQ(peers(counter, more, 24), "send 0; recv 0");
    const Shape many = {.collective = TUTTI_BARRIER, .ranks = 26};
    EXPECT_EQ(peers(counter, many, 25), "send 24; recv 24");
    EXPECT_EQ(peers(counter, many, 25, {.fan_in = 30}), "send 0; recv 0");
    const auto placement = topo::Placement::blocks(40, 10);
    const Shape nodes = {.collective = TUTTI_BARRIER, .ranks = 10, .nodes = &placement};
    EXPECT_EQ(peers(counter, nodes, 9), "send 8; recv 8");
    sched::Round round;
    const auto program = counter.make(shape, 2, {});
    program->read(0, 0, round);
    EXPECT_EQ(sched::print(round[0]), "send 0 to 0 - counted");
    program->read(0, 1, round);
    EXPECT_EQ(sched::print(round[0]), "recv 0 from 0 - after none");
}

TEST(Examples, BarrierPairwise) {
    const Algorithm& pairwise = *find(TUTTI_BARRIER, "pairwise");
    const Shape shape = shape_of(TUTTI_BARRIER, 5, 0);
    EXPECT_EQ(peers(pairwise, shape, 0), "recv 4; recv 1, send 1; recv 2, send 2; send 4");
    EXPECT_EQ(peers(pairwise, shape, 3), "recv 2, send 2; recv 1, send 1");
    EXPECT_EQ(peers(pairwise, shape, 4), "send 0; recv 0");
}

TEST(Examples, BcastScatterAllgather) {
    const Algorithm& algorithm = *find(TUTTI_BCAST, "scatter_allgather");
    const Shape shape = shape_of(TUTTI_BCAST, 4, 0);
    EXPECT_EQ(peers(algorithm, shape, 0), "send 2; send 1; send 1; send 1; send 1");
    EXPECT_EQ(peers(algorithm, shape, 2), "recv 0; send 3; recv 1, send 3; recv 1, send 3; send 3");
}

TEST(Examples, Circulant) {
    const auto of = [](tutti_collective collective, Rank rank, uint64_t blocks) {
        const Shape shape = shape_of(collective, 5, 0);
        Tuning tuning;
        tuning.segment_bytes = shape.bytes / blocks;
        return peers(*find(collective, "circulant"), shape, rank, tuning);
    };
    EXPECT_EQ(of(TUTTI_BCAST, 0, 2), "send 3; send 1; send 2; send 3");
    EXPECT_EQ(of(TUTTI_BCAST, 4, 2), "; recv 3; send 1; recv 1, send 2");
    EXPECT_EQ(of(TUTTI_REDUCE, 0, 2), "recv 3; recv 2; recv 1; recv 3");
    EXPECT_EQ(of(TUTTI_REDUCE, 4, 2), "recv 2, send 1; recv 1; send 3; ");
    // What passes the end of the output is two messages.
    EXPECT_EQ(of(TUTTI_ALLGATHERV, 3, 1), "recv 2, send 4; recv 1, send 0; recv 0, recv 0, send 1");
    EXPECT_EQ(of(TUTTI_ALLGATHERV, 0, 1), "recv 4, send 1; recv 3, send 2; recv 2, send 3, send 3");
}

TEST(Examples, Chains) {
    EXPECT_EQ(peers(*find(TUTTI_BCAST, "chain"), shape_of(TUTTI_BCAST, 4, 2), 0), "recv 3; send 1");
    EXPECT_EQ(peers(*find(TUTTI_REDUCE, "chain"), shape_of(TUTTI_REDUCE, 4, 1), 1),
              "recv 0; send 2; recv 3");
    EXPECT_EQ(peers(*find(TUTTI_ALLREDUCE, "chain"), shape_of(TUTTI_ALLREDUCE, 3, 0), 1),
              "recv 0; send 2; recv 2; send 0");
    EXPECT_EQ(peers(*find(TUTTI_SCAN, "chain"), shape_of(TUTTI_SCAN, 4, 0), 1), "recv 0; send 2");
    EXPECT_EQ(peers(*find(TUTTI_EXSCAN, "chain"), shape_of(TUTTI_EXSCAN, 4, 0), 1),
              "; recv 0; send 2");
}

// Nodes run it where a scan has a node level.
TEST(Registry, EveryScanHasAnExclusiveOneOfItsName) {
    for (const Algorithm& one : algorithms()) {
        if (one.collective != TUTTI_SCAN) continue;
        EXPECT_NE(find(TUTTI_EXSCAN, one.name), nullptr) << one.name;
    }
}

TEST(Examples, ScanTrees) {
    for (const auto collective : {TUTTI_SCAN, TUTTI_EXSCAN}) {
        const Algorithm& tree = *find(collective, "tree");
        const Shape shape = shape_of(collective, 7, 0);
        EXPECT_EQ(peers(tree, shape, 1), "recv 0, recv 2; ; send 3; ; send 2");
        EXPECT_EQ(peers(tree, shape, 3), "recv 1; ; ; ; send 5");
        EXPECT_EQ(peers(tree, shape, 4), "; ; recv 5, send 5; ; ");
        EXPECT_EQ(peers(tree, shape, 5), "recv 4; ; recv 3; send 4; send 6");
    }
}

TEST(Examples, Doubling) {
    const Algorithm& scan = *find(TUTTI_SCAN, "doubling");
    EXPECT_EQ(peers(scan, shape_of(TUTTI_SCAN, 5, 0), 0), "send 1; send 2; send 4");
    EXPECT_EQ(peers(scan, shape_of(TUTTI_SCAN, 5, 0), 2), "recv 1, send 3; ; recv 0, send 4; ");
    EXPECT_EQ(peers(scan, shape_of(TUTTI_SCAN, 5, 0), 4), "recv 3; ; recv 2; ; recv 0; ");
    const Shape shape = shape_of(TUTTI_EXSCAN, 8, 0);
    EXPECT_EQ(peers(*find(TUTTI_EXSCAN, "doubling"), shape, 1), "recv 0, send 2; send 3; send 5");
    const Algorithm& fewer_folds = *find(TUTTI_EXSCAN, "doubling_123");
    EXPECT_EQ(peers(fewer_folds, shape, 1), "recv 0, send 2; send 3; send 4; send 7");
    EXPECT_EQ(peers(fewer_folds, shape, 7), "recv 6; recv 5; ; recv 4; ; recv 1; ");
}

TEST(Examples, BinomialBlocks) {
    EXPECT_EQ(peers(*find(TUTTI_GATHER, "binomial"), shape_of(TUTTI_GATHER, 4, 2), 0),
              "recv 1; send 2");
    EXPECT_EQ(peers(*find(TUTTI_SCATTER, "binomial"), shape_of(TUTTI_SCATTER, 4, 2), 2),
              "send 0; send 3");
}

TEST(Examples, AllgatherRecursiveDoubling) {
    const Algorithm& doubling = *find(TUTTI_ALLGATHER, "recursive_doubling");
    const Shape shape = shape_of(TUTTI_ALLGATHER, 5, 0);
    EXPECT_EQ(peers(doubling, shape, 0), "recv 1, send 1; recv 2, send 2; recv 3, send 3");
    EXPECT_EQ(peers(doubling, shape, 2), "recv 0, send 0, send 1; recv 3");
    EXPECT_EQ(peers(doubling, shape, 3), "recv 4, send 4; recv 0, send 0, send 2");
}

TEST(Examples, AllreduceRabenseifner) {
    const Algorithm& algorithm = *find(TUTTI_ALLREDUCE, "rabenseifner");
    Shape shape = shape_of(TUTTI_ALLREDUCE, 4, 0);
    EXPECT_EQ(peers(algorithm, shape, 1),
              "recv 0, send 0; recv 3, send 3; recv 3, send 3; recv 0, send 0");
    const auto program = algorithm.make(shape, 1, {});
    sched::Round round;
    program->read(0, 1, round);
    EXPECT_EQ(round[0].to, sched::output(120, 60));
    EXPECT_EQ(round[1].left, sched::output(180, 60));
}

TEST(Examples, ReduceRabenseifner) {
    const Algorithm& algorithm = *find(TUTTI_REDUCE, "rabenseifner");
    const Shape four = shape_of(TUTTI_REDUCE, 4, 2);
    EXPECT_EQ(peers(algorithm, four, 0), "recv 1, send 1; recv 2, send 2; send 2");
    EXPECT_EQ(peers(algorithm, four, 1), "recv 0, send 0; recv 3, send 3; send 3");
    EXPECT_EQ(peers(algorithm, four, 2), "recv 3, send 3; recv 0, send 0; recv 0; recv 3");
    EXPECT_EQ(peers(algorithm, four, 3), "recv 2, send 2; recv 1, send 1; recv 1; send 2");
    // The root is no guest, on either side of its neighbour.
    for (const Rank root : {0U, 1U}) {
        const Shape three = shape_of(TUTTI_REDUCE, 3, root);
        const Rank guest = 1 - root;
        EXPECT_EQ(peers(algorithm, three, guest), "send " + std::to_string(root));
        EXPECT_EQ(peers(algorithm, three, root),
                  "recv " + std::to_string(guest) + "; recv 2, send 2; recv 2");
    }
}

}  // namespace
}  // namespace tutti::algo
