// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/count.h"

#include <gtest/gtest.h>

#include <array>

#include "faults.h"

namespace tutti::check {

using sched::kLanesInFlightMax;
using sched::Shape;

namespace {

// Chain 0 -> 1 -> 2 in two segments, each a lane; 2 keeps a copy.
Programs chain() {
    return written(shape_of(TUTTI_BCAST, 3, 8), {2, 2, 2, 4},
                   {"send 0 to 1 output[0+4]\nlane 1\nround 0\nsend 0 to 1 output[4+4]\n",
                    "recv 0 from 0 output[0+4]\nround 1\nsend 0 to 2 output[0+4]\n"
                    "lane 1\nround 0\nrecv 0 from 0 output[4+4]\nround 1\n"
                    "send 0 to 2 output[4+4]\n",
                    "recv 0 from 1 output[0+4]\nround 1\ncopy scratch[0+4] = output[0+4]\n"
                    "lane 1\nround 0\nrecv 0 from 1 output[4+4]\n"});
}

TEST(Count, CountsEveryKind) {
    const Programs programs = chain();
    EXPECT_EQ(count(*programs[0]), (Count{1, 2, 8, 0, 0, 0, 0}));
    EXPECT_EQ(count(*programs[1]), (Count{2, 2, 8, 2, 8, 0, 0}));
    EXPECT_EQ(count(*programs[2]), (Count{2, 0, 0, 2, 8, 0, 0}));
    const Programs folds =
        written(shape_of(TUTTI_ALLREDUCE, 2, 8), {1, 1, 9, 8},
                {"recv_reduce 3 from 1 output[0+8] = *scratch[0+8] op input[0+8]\nround 4\n"
                 "reduce output[0+4] = output[0+4] op output[4+4]\nround 5\n"
                 "node_arrive root 0 order 0\nnode_bcast root 0 output[0+8] order 1\n",
                 "send 3 to 0 input[0+8]\n"});
    EXPECT_EQ(count(*folds[0]), (Count{6, 0, 0, 1, 8, 2, 12}));
    const Programs multicasts =
        written(shape_of(TUTTI_ALLGATHER, 2, 8), {1, 1, 2, 0, 2},
                {"multicast input[0+8] order 0\nround 1\nrecv_multicast from 1 - order 1\n",
                 "recv_multicast from 0 output[0+8] order 0\nround 1\nmulticast - order 1\n"});
    EXPECT_EQ(count(*multicasts[0]), (Count{2, 0, 0, 0, 0, 0, 0, 1, 8, 1, 0}));
    EXPECT_EQ(count(*multicasts[1]), (Count{2, 0, 0, 0, 0, 0, 0, 1, 0, 1, 8}));
}

TEST(Count, MaximumTakesEachNumberByItself) {
    const std::array<Count, 2> counts{Count{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                                      Count{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}};
    EXPECT_EQ(maximum(counts), (Count{11, 10, 9, 8, 7, 6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(maximum({}), Count{});
}

TEST(Count, StepsFollowTheLongestChain) {
    const Programs programs = chain();
    const auto found = steps(alone(3), programs);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0], (std::vector<Passage>{{0, 1, 4, 0, 0}, {0, 1, 4, 1, 0}}));
    EXPECT_EQ(found[1], (std::vector<Passage>{{1, 2, 4, 0, 0}, {1, 2, 4, 1, 0}}));
    EXPECT_EQ(critical_rounds(alone(3), programs), 2u);
}

TEST(Count, OneLaneInFlightMakesLanesWait) {
    const std::string both = "send 0 to 1 output[0+4]\nlane 1\nround 0\nsend 0 to 1 output[4+4]\n";
    const std::string ends =
        "recv 0 from 0 output[0+4]\nlane 1\nround 0\nrecv 0 from 0 output[4+4]\n";
    const Shape shape = shape_of(TUTTI_BCAST, 2, 8);
    EXPECT_EQ(critical_rounds(alone(2), written(shape, {2, 1, 1, 0}, {both, ends})), 2u);
    EXPECT_EQ(critical_rounds(alone(2), written(shape, {2, 2, 1, 0}, {both, ends})), 1u);
}

// 0 -> 1, then within the node from 1 to 2, then 2 -> 3: two steps, though no rank sees both.
TEST(Count, ChainsGoThroughNodeOperations) {
    const Programs programs =
        written(shape_of(TUTTI_BCAST, 4, 4), {1, 1, 3, 0},
                {"send 0 to 1 output[0+4]\n",
                 "recv 0 from 0 output[0+4]\nround 1\nnode_bcast root 0 output[0+4] order 0\n",
                 "node_bcast root 0 output[0+4] order 0\nround 1\nsend 0 to 3 output[0+4]\n",
                 "recv 0 from 2 output[0+4]\n"});
    const std::array<uint64_t, 4> nodes{0, 1, 1, 2};
    EXPECT_EQ(critical_rounds(topo::Placement(nodes), programs), 2u);
    // Nobody waits where nothing moves.
    const Programs empty =
        written(shape_of(TUTTI_BCAST, 4, 0), {1, 1, 3, 0},
                {"send 0 to 1 -\n", "recv 0 from 0 -\nround 1\nnode_bcast root 0 - order 0\n",
                 "node_bcast root 0 - order 0\nround 1\nsend 0 to 3 -\n", "recv 0 from 2 -\n"});
    EXPECT_EQ(critical_rounds(topo::Placement(nodes), empty), 1u);
}

// 1 -> 0, which multicasts, then 2 -> 1: a multicast is one passage and one step for all.
TEST(Count, AMulticastIsOnePassage) {
    const Programs programs =
        written(shape_of(TUTTI_BARRIER, 3, 0), {1, 1, 3, 0, 1},
                {"recv 0 from 1 -\nround 1\nmulticast - order 0\nround 2\nsend 3 to 2 -\n",
                 "send 0 to 0 -\nround 1\nrecv_multicast from 0 - order 0\nround 2\n"
                 "recv 0 from 2 -\n",
                 "recv_multicast from 0 - order 0 after none\nround 1\nsend 0 to 1 -\n"
                 "recv 3 from 0 - after none\n"});
    const auto found = steps(alone(3), programs);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0], (std::vector<Passage>{{1, 0, 0, 0, 0}}));
    EXPECT_EQ(found[1], (std::vector<Passage>{{0, 0, 0, 0, 0, true}}));
    EXPECT_EQ(found[2], (std::vector<Passage>{{0, 2, 0, 0, 3}, {2, 1, 0, 0, 0}}));
}

// No more than kMulticastsInFlightMax are under way: the next one waits for the first.
TEST(Count, MulticastsBeyondTheWindowWait) {
    const uint32_t lanes = kLanesInFlightMax;
    const auto body = [](bool is_sender, uint32_t in_a_lane) {
        std::string text;
        for (uint32_t i = 0; i < lanes * in_a_lane; ++i) {
            if (i != 0 && i % in_a_lane == 0) {
                text += "lane " + std::to_string(i / in_a_lane) + "\nround 0\n";
            }
            text += std::string(is_sender ? "multicast" : "recv_multicast from 0") + " - order " +
                    std::to_string(i) + "\n";
        }
        return text;
    };
    const Shape shape = shape_of(TUTTI_BCAST, 2, 0);
    for (const auto& [in_a_lane, rounds] : {std::pair(2u, 1u), std::pair(3u, 2u)}) {
        const Programs programs = written(shape, {lanes, lanes, 1, 0, uint64_t{lanes} * in_a_lane},
                                          {body(true, in_a_lane), body(false, in_a_lane)});
        EXPECT_EQ(critical_rounds(alone(2), programs), rounds);
    }
}

TEST(Count, StepsOfAFaultyScheduleEnd) {
    const Programs programs =
        written(shape_of(TUTTI_BCAST, 2, 4), {1, 1, 2, 0},
                {"send 0 to 1 output[0+4]\nround 1\nsend 1 to 1 output[0+4]\n",
                 "recv 0 from 0 output[0+4]\n"});
    EXPECT_EQ(critical_rounds(alone(2), programs), 1u);
}

}  // namespace
}  // namespace tutti::check
