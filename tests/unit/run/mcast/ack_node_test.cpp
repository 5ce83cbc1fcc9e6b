// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/ack_node.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

// The picture in ack_node.h: k = 2, 6 members, stream 4.
TEST(AckNode, TheTreeIsRootedAtTheSender) {
    const AckNode root(test_params(6, 4), 4);
    EXPECT_TRUE(root.is_root());
    ASSERT_EQ(root.children(), 2u);
    EXPECT_EQ(root.child(0), 5);
    EXPECT_EQ(root.child(1), 0);
    const AckNode five(test_params(6, 5), 4);
    EXPECT_EQ(five.parent(), 4);
    ASSERT_EQ(five.children(), 2u);
    EXPECT_EQ(five.child(0), 1);
    EXPECT_EQ(five.child(1), 2);
    const AckNode zero(test_params(6, 0), 4);
    ASSERT_EQ(zero.children(), 1u);
    EXPECT_EQ(zero.child(0), 3);
    EXPECT_EQ(AckNode(test_params(6, 3), 4).children(), 0u);
    EXPECT_EQ(AckNode(test_params(6, 3), 4).parent(), 0);
}

TEST(AckNode, EveryMemberIsTheChildOfItsParentAndOfNobodyElse) {
    for (Member members = 2; members <= 40; ++members) {
        for (uint32_t fan_out = 1; fan_out <= 5; ++fan_out) {
            const Member stream = members / 3;
            std::vector<int> parents(members, 0);
            for (Member member = 0; member < members; ++member) {
                Params params = test_params(members, member);
                params.fan_out = fan_out;
                const AckNode node(params, stream);
                for (uint32_t i = 0; i < node.children(); ++i) {
                    Params below = test_params(members, node.child(i));
                    below.fan_out = fan_out;
                    EXPECT_EQ(AckNode(below, stream).parent(), member);
                    ++parents[node.child(i)];
                }
            }
            for (Member member = 0; member < members; ++member) {
                EXPECT_EQ(parents[member], member == stream ? 0 : 1);
            }
        }
    }
}

class InnerNode : public testing::Test {
  protected:
    // Window 8, so a quarter is 2.
    AckNode node_{test_params(6, 5), 4};
};

TEST_F(InnerNode, JoinsTheLeast) {
    node_.set_own({7, 15});
    EXPECT_TRUE(node_.on_child(1, {5, 20}));
    EXPECT_TRUE(node_.on_child(2, {6, 12}));
    EXPECT_EQ(node_.joined().received_end, 5u);
    EXPECT_EQ(node_.joined().granted_end, 12u);
    // An old packet takes nothing back.
    EXPECT_TRUE(node_.on_child(1, {4, 10}));
    EXPECT_EQ(node_.joined().received_end, 5u);
    EXPECT_FALSE(node_.on_child(3, {5, 20}));
    EXPECT_FALSE(node_.on_child(4, {5, 20}));
}

TEST_F(InnerNode, ReportsAQuarterAtOnceAndLessAfterADelay) {
    const uint64_t delay = Timing{}.ack_delay_ns;
    EXPECT_EQ(node_.due_ns(0), kNever);
    node_.set_own({8, 16});
    node_.on_child(1, {8, 16});
    EXPECT_EQ(node_.due_ns(0), kNever);
    node_.on_child(2, {1, 9});
    EXPECT_EQ(node_.due_ns(100), 100 + delay);
    EXPECT_EQ(node_.due_ns(200), 100 + delay) << "the delay does not begin anew";
    node_.on_child(2, {2, 9});
    EXPECT_EQ(node_.due_ns(300), 0u);
    EXPECT_EQ(node_.report().received_end, 2u);
    EXPECT_EQ(node_.due_ns(300), kNever);
    // Room alone counts as well.
    node_.on_child(2, {2, 11});
    EXPECT_EQ(node_.due_ns(400), 0u);
}

TEST_F(InnerNode, WhatIsAtItsPlaceIsReportedLikeWhatIsThere) {
    const uint64_t delay = Timing{}.ack_delay_ns;
    node_.set_own({8, 16, 0});
    node_.on_child(1, {8, 16, 8});
    node_.on_child(2, {8, 16, 8});
    EXPECT_EQ(node_.report().placed_end, 0u);
    node_.set_own({8, 16, 1});
    EXPECT_EQ(node_.due_ns(0), delay);
    node_.set_own({8, 16, 2});
    EXPECT_EQ(node_.due_ns(0), 0u);
    EXPECT_EQ(node_.report().placed_end, 2u);
}

TEST(AckNode, ALargeWindowIsAcknowledgedAfterSoManyPackets) {
    Params params = test_params(2, 1);
    params.window_packets = 256;
    params.ack_packets_max = 10;
    AckNode node(params, 0);
    node.set_own({9, 256});
    EXPECT_NE(node.due_ns(0), 0u);
    node.set_own({10, 256});
    EXPECT_EQ(node.due_ns(0), 0u);
}

TEST_F(InnerNode, AnswersWhenAskedAndAgainWhenAllIsThere) {
    node_.on_asked(1);
    EXPECT_EQ(node_.due_ns(0), 0u);
    EXPECT_EQ(node_.report().received_end, 0u);
    node_.set_own({1, 8});
    node_.on_child(1, {1, 8});
    EXPECT_EQ(node_.due_ns(10), kNever);
    node_.on_child(2, {1, 8});
    EXPECT_EQ(node_.due_ns(20), 0u);
    EXPECT_EQ(node_.report().received_end, 1u);
    EXPECT_EQ(node_.due_ns(20), kNever);
}

}  // namespace
}  // namespace tutti::mcast
