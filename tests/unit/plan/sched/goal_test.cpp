// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/goal.h"

#include <gtest/gtest.h>

#include "schedules.h"

namespace tutti::sched {
namespace {

TEST(Goal, SaysWhatWaitsForWhat) {
    const Programs programs =
        written(shape_of(TUTTI_REDUCE, 2, 8), {1, 1, 2, 8},
                {"recv_reduce 0 from 1 output[0+8] = input[0+8] op *scratch[0+8]\nround 1\n"
                 "copy scratch[0+8] = output[0+8]\n",
                 "send 0 to 0 input[0+8]\n"});
    const auto goal = print_goal(programs, 0.5, 0.25);
    ASSERT_TRUE(goal) << goal.error().message;
    EXPECT_EQ(goal.value(),
              "num_ranks 2\n\n"
              "rank 0 {\n"
              "l1: recv 8b from 1 tag 0\n"
              "l2: calc 4\n"
              "l2 requires l1\n"
              "l3: calc 0\n"
              "l3 requires l2\n"
              "l4: calc 2\n"
              "l4 requires l2\n"
              "l5: calc 0\n"
              "l5 requires l3\n"
              "l5 requires l4\n"
              "}\n\n"
              "rank 1 {\n"
              "l1: send 8b to 0 tag 0\n"
              "l2: calc 0\n"
              "l2 requires l1\n"
              "}\n");
}

TEST(Goal, LanesHaveTagsOfTheirOwnAndWaitForTheirSlot) {
    const Programs programs =
        written(shape_of(TUTTI_BCAST, 2, 8), {2, 1, 1, 0},
                {"send 2 to 1 output[0+4]\nlane 1\nround 0\nsend 2 to 1 output[4+4]\n",
                 "recv 2 from 0 output[0+4]\nlane 1\nround 0\nrecv 2 from 0 output[4+4]\n"});
    const auto goal = print_goal(programs, 0, 0);
    ASSERT_TRUE(goal);
    EXPECT_NE(goal.value().find("l3: send 4b to 1 tag 5\nl3 requires l2\n"), std::string::npos)
        << goal.value();
}

TEST(Goal, NodeOperationsAreRefused) {
    const Programs programs =
        written(shape_of(TUTTI_BARRIER, 1, 0), {1, 1, 1, 0}, {"node_arrive root 0 order 0\n"});
    const auto goal = print_goal(programs, 0, 0);
    ASSERT_FALSE(goal);
    EXPECT_EQ(goal.error().message,
              "rank 0, lane 0, round 0: node_arrive root 0 order 0: GOAL has no node operations; "
              "see the option flat");
}

TEST(Goal, MulticastsAreRefused) {
    const Programs programs =
        written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0, 1},
                {"recv_multicast from 1 - order 0\n", "multicast - order 0\n"});
    const auto goal = print_goal(programs, 0, 0);
    ASSERT_FALSE(goal);
    EXPECT_EQ(goal.error().message,
              "rank 0, lane 0, round 0: recv_multicast from 1 - order 0: GOAL has no multicasts");
}

TEST(Goal, ThoseWhoMeetAreRefused) {
    const auto goal =
        print_goal(written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 48}, kTwoWhoMeet), 0, 0);
    ASSERT_FALSE(goal);
    EXPECT_EQ(goal.error().message,
              "rank 0, lane 0, round 0: meet_with child 1 scratch[0+32]: GOAL has no messages that "
              "follow arrivals");
}

TEST(Goal, TagsAreBelow32Bits) {
    const Programs programs = written(shape_of(TUTTI_BARRIER, 2, 0), {1, 1, 1, 0},
                                      {"send 4294967295 to 1 -\n", "recv 4294967295 from 0 -\n"});
    const auto goal = print_goal(programs, 0, 0);
    ASSERT_FALSE(goal);
    EXPECT_EQ(goal.error().message,
              "rank 0, lane 0, round 0: send 4294967295 to 1 -: its tag is beyond 32 bits");
}

}  // namespace
}  // namespace tutti::sched
