// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/lane_servers.h"

#include <gtest/gtest.h>

#include <vector>

#include "plan/price/timed_queue.h"

namespace tutti::price {
namespace {

TEST(Server, DoesOneThingAfterTheOther) {
    Server server;
    EXPECT_EQ(server.work().load_ns, 0u);
    EXPECT_EQ(server.serve(100, 10), 110u);
    EXPECT_EQ(server.serve(105, 10), 120u);
    EXPECT_EQ(server.serve(200, 5), 205u);
    EXPECT_EQ(server.serve(7, 0), 7u);  // nothing to do waits for nobody
    EXPECT_EQ(server.work().load_ns, 25u);
    EXPECT_EQ(server.work().window_ns, 105u);
}

TEST(Server, TwoOfThemHaveBothLoadsInOneWindow) {
    Server one;
    Server other;
    one.serve(10, 5);
    other.serve(30, 20);
    EXPECT_EQ(one.with(other).work().load_ns, 25u);
    EXPECT_EQ(one.with(other).work().window_ns, 40u);
    EXPECT_EQ(Server().with(one).work().window_ns, 5u);
}

TEST(LaneServers, MessagesOfANodeTakeNoLink) {
    const Network network = Network::measured(2, {2000, 8000}, {30'000, 1000});
    const NodeParameters node;
    const std::vector<uint32_t> host_of{0, 0, 1};
    const Lanes lanes{.participants = 3, .program = {}, .host_of = host_of};
    LaneServers servers(network, node, lanes);
    EXPECT_EQ(servers.way_ns(0, 1), node.flag_ns);
    EXPECT_EQ(servers.pass(0, 1, 8000, 50).come_ns, 50 + 1000 + node.flag_ns);
    // A byte takes 1 ns on a link, which the second message finds busy.
    EXPECT_EQ(servers.pass(0, 2, 1000, 50).come_ns, 50u + 2000 + 1000);
    EXPECT_EQ(servers.pass(1, 2, 1000, 50).come_ns, 50u + 2000 + 2 * 1000);
}

TEST(TimedQueue, KeepsTheOrderOfWhatHappensAtOnce) {
    TimedQueue<int> queue;
    queue.push(20, 1);
    queue.push(10, 2);
    queue.push(20, 3);
    queue.push(10, 4);
    std::vector<int> order;
    while (!queue.empty()) order.push_back(queue.pop().what);
    EXPECT_EQ(order, (std::vector<int>{2, 4, 1, 3}));
}

}  // namespace
}  // namespace tutti::price
