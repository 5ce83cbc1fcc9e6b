// SPDX-License-Identifier: BSD-3-Clause
// What reports say of messages by RDMA, where several teams tell.
#include "run/networks/rdma/rdma_facts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "conformance/fake_verbs.h"
#include "unit/reported.h"

namespace tutti::networks::rdma {
namespace {

using test::Reported;

constexpr uint32_t kHosts = 2;

RdmaStory connected(uint64_t memory_bytes = 491'520) {
    RdmaStory story;
    story.is_used = true;
    story.memory_bytes = memory_bytes;
    story.is_shared = memory_bytes == 0;
    story.port = "mlx5_0:1";
    story.peers = 2;
    return story;
}

RdmaStory without(const char* why) {
    RdmaStory story;
    story.obstacle = why;
    return story;
}

FactRow row_of(const RdmaStory& story, const char* name, uint32_t ranks) {
    return facts_of(story, {name, 0, ranks, kHosts});
}

// In a report. A program that asks any member has the facts all the same.
TEST(RdmaFacts, TheFirstRankTells) {
    EXPECT_FALSE(facts_of(connected(), {"a", 1, 4, kHosts}).is_told);
    EXPECT_TRUE(facts_of(connected(), {"a", 0, 4, kHosts}).is_told);
}

TEST(RdmaFacts, TheLargestTeamSpeaksAndReasonsStandBehind) {
    Reported reported;
    reported.add(row_of(without("rank 1: this host has no RDMA device"), "b", 3));
    reported.add(row_of(connected(), "halves", 2));
    reported.add(row_of(connected(), "MPI_COMM_WORLD", 4));
    EXPECT_EQ(
        reported.text(),
        "messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts), one of 2 communicators: its "
        "first rank by mlx5_0:1 to 2 ranks, 480 KiB registered\n"
        "no messages by RDMA on b (3 ranks, 2 hosts): rank 1: this host has no RDMA device\n");
}

// The one that has the memory says how much it is.
TEST(RdmaFacts, TeamsThatShareConnectionsAreCounted) {
    Reported reported;
    reported.add(row_of(connected(0), "a copy", 4));
    reported.add(row_of(connected(), "MPI_COMM_WORLD", 4));
    reported.add(row_of(connected(0), "a copy", 4));
    EXPECT_EQ(reported.text(),
              "messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts), one of 3 communicators, 2 by "
              "connections of others: its first rank by mlx5_0:1 to 2 ranks, 480 KiB registered\n");
}

// Of all teams together.
TEST(RdmaFacts, MessagesAreCounted) {
    RdmaStory world = connected();
    world.polls_tails = true;
    world.additions = 40;
    world.sent_straight = 40;
    RdmaStory halves = connected();
    halves.additions = halves.sent_straight = 2;
    halves.sent_copied = 1;
    Reported reported;
    reported.add(row_of(halves, "halves", 2));
    reported.add(row_of(world, "MPI_COMM_WORLD", 4));
    EXPECT_EQ(reported.text(),
              "messages by RDMA on MPI_COMM_WORLD (4 ranks, 2 hosts), one of 2 communicators: its "
              "first rank by mlx5_0:1 to 2 ranks, 480 KiB registered, messages found by their "
              "ends; 42 messages as additions to counters; 42 long messages without a copy; 1 long "
              "message copied, as their memory could not be registered (ulimit -l)\n");
    EXPECT_EQ(reported.rows()[0].find("additions")->value, Fact::Value(uint64_t{42}));
    EXPECT_EQ(reported.rows()[0].find("polls_tails")->value, Fact::Value(true));
}

// Without a team.
TEST(RdmaFacts, OfAProcess) {
    test::FakeVerbs fake(1, {});
    const std::shared_ptr<transport::verbs::Device> port(std::shared_ptr<void>(), &fake.device(0));
    const FactRow row = facts_of(port);
    EXPECT_NE(row.find("locked_memory"), nullptr);
    EXPECT_EQ(std::get<std::string>(row.find("port")->value), fake.device(0).name());
    EXPECT_EQ(row.text_of(*row.find("packet_bytes")), "1 KiB");
    EXPECT_TRUE(row.text_of(*row.find("connection")).ends_with(" KiB each"))
        << row.text_of(*row.find("connection"));
    const FactRow none = facts_of(Error{ErrorCode::kSystem, "this host has no RDMA device"});
    EXPECT_EQ(none.text_of(*none.find("port")), "none: this host has no RDMA device");
    EXPECT_EQ(none.find("connection"), nullptr);
}

}  // namespace
}  // namespace tutti::networks::rdma
