// SPDX-License-Identifier: BSD-3-Clause
// Groups as wholes are simulated in tests/sim; here is what they refuse.
#include "run/mcast/group.h"

#include <gtest/gtest.h>

#include "unit/run/mcast/support.h"

namespace tutti::mcast {
namespace {

class GroupTest : public testing::Test {
  protected:
    std::unique_ptr<Group> group_ = std::move(Group::create(test_params(4, 1)).value());
    std::array<std::byte, kControlBytesMax> out_{};
    Member to_ = kNobody;
    uint64_t counter_ = 0;

    void deliver(uint64_t now_ns, uint32_t group, Member sender, const Body& body) {
        deliver(now_ns, {group, sender, body, ++counter_});
    }
    void deliver(uint64_t now_ns, const Packet& packet) {
        std::array<std::byte, 2048> bytes{};
        const size_t used = write(packet, bytes);
        group_->on_packet(now_ns, std::span<const std::byte>(bytes).first(used));
    }
    size_t drain(uint64_t now_ns) {
        size_t packets = 0;
        while (group_->next_packet(now_ns, out_, to_) > 0) ++packets;
        return packets;
    }
};

TEST(GroupParams, BadOnesAreNamed) {
    const auto message = [](auto change) {
        Params params = test_params();
        change(params);
        const auto made = Group::create(params);
        return made ? std::string() : made.error().message;
    };
    EXPECT_EQ(message([](Params&) {}), "");
    EXPECT_EQ(message([](Params& p) { p.members = 1; }),
              "multicast group: a group has at least 2 members");
    EXPECT_NE(message([](Params& p) { p.member = 4; }), "");
    EXPECT_NE(message([](Params& p) { p.members = 5000; }), "");
    EXPECT_NE(message([](Params& p) { p.window_packets = 3; }), "");
    EXPECT_NE(message([](Params& p) { p.packet_bytes_max = 100; }), "");
    EXPECT_NE(message([](Params& p) { p.packet_bytes_max = 70'000; }), "");
    EXPECT_NE(message([](Params& p) { p.fan_out = 0; }), "");
    EXPECT_NE(message([](Params& p) { p.fan_out = 17; }), "");
    EXPECT_NE(message([](Params& p) { p.ack_packets_max = 0; }), "");
    EXPECT_NE(message([](Params& p) { p.posts_max = 0; }), "");
    EXPECT_NE(message([](Params& p) { p.timing.hold_off_ns = p.timing.renak_ns_min; }), "");
}

TEST_F(GroupTest, ForeignAndDamagedPacketsAreCountedAndDoNothing) {
    deliver(0, 78, 0, Ask{});  // another group
    deliver(0, 77, 1, Ask{});  // this member's own
    deliver(0, 77, 4, Ask{});  // no member
    EXPECT_EQ(group_->counters().packets_foreign, 3u);
    group_->on_packet(0, test_bytes(200));
    deliver(0, 77, 0, OwnNak(9, {{0, 1}}).nak);
    deliver(0, 77, 0, Ack{9, 0, 8});
    deliver(0, 77, 2, Ack{1, 1, 8});  // of what was never sent
    deliver(0, 77, 2, Ack{3, 0, 8});  // from no child in that tree
    const auto payload = test_bytes(1000);
    deliver(0, 77, 0, Data{0, {5, 0, 0, 0}, 0, 1000, false, payload});  // longer than agreed
    EXPECT_EQ(group_->counters().packets_malformed, 6u);
    EXPECT_EQ(drain(0), 0u);
    EXPECT_EQ(group_->next_deadline(), kNever);
}

// Some member has been acknowledged for by somebody else, and asks for ever. Or this process stood
// still while thousands of requests came, each answered by what it then sends first.
TEST_F(GroupTest, WhoAsksInVainIsContradictedOnlyAtLength) {
    for (const uint64_t apart_ns :
         {0 * kMillisecond, 1 * kMillisecond, 20 * kMillisecond, 1'500 * kMillisecond}) {
        group_ = std::move(Group::create(test_params(2, 0)).value());
        ASSERT_TRUE(group_->open_team(5));
        const auto payload = test_bytes(10);
        Outgoing out{{5, 0, 0, 0}, payload, 0, false};
        ASSERT_TRUE(group_->write(0, out));
        ASSERT_GT(drain(0), 0u);
        deliver(0, 77, 1, Ack{0, 1, 8, 1});
        ASSERT_TRUE(group_->sender().is_acknowledged());
        uint64_t now_ns = 0;
        uint32_t asked = 0;
        for (; asked < 2000 && !group_->contradicted(); ++asked) {
            deliver(now_ns += apart_ns, 77, 1, OwnNak(0, {{0, 1}}).nak);
        }
        const bool is_at_length = apart_ns == 20 * kMillisecond;
        EXPECT_EQ(asked, is_at_length ? 257u : 2000u) << apart_ns;
        EXPECT_EQ(group_->contradicted().has_value(), is_at_length);
    }
}

TEST_F(GroupTest, AnIdleGroupHasNoDeadline) {
    EXPECT_EQ(group_->next_deadline(), kNever);
    ASSERT_TRUE(group_->open_team(5));
    EXPECT_EQ(group_->next_deadline(), kNever);
    EXPECT_TRUE(group_->sender().is_acknowledged());
}

TEST_F(GroupTest, WhatANonMemberOfATeamGetsIsAcknowledgedAndDropped) {
    const auto payload = test_bytes(100);
    for (uint64_t i = 0; i < 20; ++i) {
        deliver(i, 77, 0,
                Data{i, {9, 0, 0, 0}, static_cast<uint32_t>(100 * i), 5000, false, payload});
    }
    EXPECT_EQ(group_->counters().packets_dropped, 20u);
    EXPECT_EQ(group_->counters().received.overruns, 0u);
}

TEST_F(GroupTest, AReleasedPostIsNotWaitedFor) {
    ASSERT_TRUE(group_->open_team(5));
    std::vector<std::byte> place(10);
    const auto id = group_->post(0, 2, {5, 0, 0, 0}, place);
    ASSERT_TRUE(id);
    EXPECT_NE(group_->next_deadline(), kNever);
    group_->release(0, id.value());
    for (int i = 0; i < 100; ++i) group_->tick(uint64_t(i) * 1'000'000'000);
    EXPECT_EQ(drain(100'000'000'000), 0u);
    EXPECT_FALSE(group_->failure());
}

TEST_F(GroupTest, APostForAnyoneWaitsForWhoeverBegins) {
    ASSERT_TRUE(group_->open_team(5));
    std::vector<std::byte> place(1000);
    const auto id = group_->post_any(0, {5, 0, 0, 0}, place);
    ASSERT_TRUE(id);
    EXPECT_EQ(group_->next_deadline(), kNever);
    const auto payload = test_bytes(100);
    deliver(0, 77, 2, Data{0, {5, 0, 0, 0}, 0, 200, false, payload});
    EXPECT_EQ(group_->inbox().state(id.value()), PostState::kPending);
    // The rest never comes: its sender is asked, and found gone.
    for (uint64_t now = 0; now < 60'000'000'000 && !group_->failure(); now += 50'000'000) {
        group_->tick(now);
        drain(now);
    }
    EXPECT_EQ(group_->failure(), Member{2});
}

TEST_F(GroupTest, WhoIsExpectedIsAskedAndFoundGone) {
    group_->expect(0, 3);
    group_->expect(0, 3);
    group_->end_expect(3);
    for (uint64_t now = 0; now < 60'000'000'000 && !group_->failure(); now += 50'000'000) {
        group_->tick(now);
        drain(now);
    }
    EXPECT_EQ(group_->failure(), Member{3});
}

// A member whose own packets the system does not take accuses nobody.
TEST_F(GroupTest, AsksThatWereNotSentDoNotCount) {
    group_->expect(0, 3);
    for (uint64_t now = 0; now < 60'000'000'000; now += 50'000'000) group_->tick(now);
    EXPECT_FALSE(group_->given_up());
    for (uint64_t now = 60'000'000'000; now < 120'000'000'000 && !group_->failure();
         now += 50'000'000) {
        group_->tick(now);
        drain(now);
    }
    EXPECT_EQ(group_->failure(), Member{3});
}

TEST_F(GroupTest, NobodyIsGoneWhoIsNoLongerExpected) {
    group_->expect(0, 3);
    group_->end_expect(3);
    for (uint64_t now = 0; now < 60'000'000'000; now += 50'000'000) {
        group_->tick(now);
        EXPECT_EQ(drain(now), 0u);
    }
    EXPECT_FALSE(group_->failure());
}

TEST_F(GroupTest, AFailedGroupSaysSoAndCarriesNothing) {
    deliver(0, 77, 0, Failure{3, Failure::Phase::kOver});
    ASSERT_EQ(group_->failure(), Member{3});
    const auto data = test_bytes(10);
    Outgoing message{{5, 0, 0, 0}, data, 0, false};
    EXPECT_FALSE(group_->write(0, message));
    const Timing timing;
    size_t notices = 0;
    while (group_->next_deadline() != kNever) notices += drain(group_->next_deadline());
    EXPECT_EQ(notices, timing.notices * 3) << "to all, and to each but the one who said so";
    // To whoever has not heard it, once for all that came of him.
    const uint64_t now = 10'000'000'000;
    for (int i = 0; i < 5; ++i) deliver(now, 77, 2, Heartbeat{1, 1, true});
    EXPECT_EQ(drain(now), 1u);
    EXPECT_EQ(to_, 2);
    // Two that have failed do not keep each other awake.
    deliver(now, 77, 2, Failure{3, Failure::Phase::kOver});
    EXPECT_EQ(drain(now), 0u);
    // But one on the detour waits for it.
    deliver(now, 77, 2, Failure{3, Failure::Phase::kFlushed});
    EXPECT_EQ(drain(now), 1u);
    EXPECT_EQ(group_->next_deadline(), kNever);
}

// Its pool comes free, which it would tell the senders if they could still send.
TEST_F(GroupTest, AFailedGroupOwesNothing) {
    ASSERT_TRUE(group_->open_team(5));
    const auto payload = test_bytes(100);
    for (uint64_t i = 0; i < 8; ++i) {
        deliver(0, 77, 2,
                Data{i, {5, 0, 0, 0}, static_cast<uint32_t>(100 * i), 5000, false, payload});
    }
    EXPECT_EQ(group_->inbox().pooled_packets(), 8u);
    group_->abandon(0, 3);
    while (group_->next_deadline() != kNever) drain(group_->next_deadline());
    group_->close_team(1'000'000'000, 5);
    EXPECT_EQ(group_->inbox().pooled_packets(), 0u);
    EXPECT_EQ(drain(1'000'000'000), 0u);
}

TEST_F(GroupTest, OnTheDetourEachMemberGetsItsOwnCopy) {
    deliver(0, 77, 0, Failure{3, Failure::Phase::kDetour});
    EXPECT_EQ(group_->given_up(), Member{3});
    EXPECT_FALSE(group_->failure());
    const auto data = test_bytes(10);
    Outgoing message{{5, 0, 0, 0}, data, 0, false};
    EXPECT_TRUE(group_->write(0, message)) << "what was begun goes on";
    std::vector<Member> notices;
    std::vector<Member> copies;
    for (uint64_t now = 0; now < 3'000'000; now += 100'000) {
        group_->tick(now);
        while (const size_t bytes = group_->next_packet(now, out_, to_)) {
            const auto packet = parse(std::span<const std::byte>(out_).first(bytes));
            ASSERT_TRUE(packet);
            if (std::holds_alternative<Data>(packet->body)) copies.push_back(to_);
            if (std::holds_alternative<Failure>(packet->body)) notices.push_back(to_);
        }
    }
    EXPECT_EQ(copies, (std::vector<Member>{kEverybody, 0, 2, 3}));
    ASSERT_GE(notices.size(), 3u);
    notices.resize(3);
    EXPECT_EQ(notices, (std::vector<Member>{kEverybody, 2, 3})) << "member 0 knows";
}

TEST_F(GroupTest, OnTheDetourWhoAsksIsAnsweredAlone) {
    for (const Member member : {Member{0}, Member{2}, Member{3}}) {
        deliver(0, 77, member, Failure{3, Failure::Phase::kFlushed});
    }
    while (group_->next_deadline() != kNever) {
        const uint64_t now = group_->next_deadline();
        group_->tick(now);
        drain(now);
    }
    deliver(9'000'000'000, 77, 3, Ask{1, 3, 0});
    deliver(9'000'000'000, 77, 3, Ask{1, 3, 0});
    std::vector<Member> answers;
    while (group_->next_packet(9'000'000'000, out_, to_) > 0) answers.push_back(to_);
    EXPECT_EQ(answers, (std::vector<Member>{3, 3, 3}))
        << "a heartbeat, how far it has come, and what it acknowledges";
}

TEST_F(GroupTest, TheDetourEndsWhenAllAreFlushed) {
    const auto flushed = [&](Member member) {
        deliver(0, 77, member, Failure{3, Failure::Phase::kFlushed});
    };
    flushed(0);
    flushed(2);
    flushed(2);
    EXPECT_FALSE(group_->failure());
    flushed(3);
    EXPECT_FALSE(group_->failure()) << "this member may still write";
    group_->end_writing(0);
    EXPECT_EQ(group_->failure(), Member{3});
}

TEST_F(GroupTest, TheDetourEndsWhenSomebodyDoesNotAnswerThereEither) {
    deliver(0, 77, 0, Failure{3, Failure::Phase::kFlushed});
    deliver(0, 77, 2, Failure{3, Failure::Phase::kFlushed});
    group_->end_writing(0);
    uint64_t now = 0;
    for (; now < 60'000'000'000 && !group_->failure(); now += 50'000'000) {
        group_->tick(now);
        drain(now);
    }
    EXPECT_EQ(group_->failure(), Member{3});
    EXPECT_GT(now, 3'000'000'000u) << "it had as many asks as before";
}

}  // namespace
}  // namespace tutti::mcast
