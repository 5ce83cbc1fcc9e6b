// SPDX-License-Identifier: BSD-3-Clause
// The parts of UdDatagrams, each alone on an endpoint that writes down what it is asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <vector>

#include "run/transport/ud/addresses.h"
#include "run/transport/ud/ud_alarm.h"
#include "run/transport/ud/ud_datagrams.h"
#include "run/transport/ud/ud_receives.h"
#include "run/transport/ud/ud_sends.h"
#include "run/transport/ud/ud_ways.h"

namespace tutti::transport::ud {
namespace {

using carrier::kBatchPackets;
using carrier::Wake;
using verbs::UdQueue;
using verbs::UdRoute;

constexpr uint32_t kPacketBytes = 64;

struct StubEndpoint final : verbs::UdEndpoint {
    explicit StubEndpoint(uint32_t count)
        : bytes(verbs::registered_bytes({count, kSends}, kPacketBytes)) {
        own.port.mtu_bytes = kPacketBytes;
        own.queue_pair = 5;
    }
    [[nodiscard]] const verbs::UdCard& card() const override { return own; }
    [[nodiscard]] std::span<std::byte> memory() override { return bytes; }
    int post(std::span<const uint32_t> places) override {
        receives.insert(receives.end(), places.begin(), places.end());
        return 0;
    }
    int post(std::span<const verbs::UdSend> some) override {
        sends.insert(sends.end(), some.begin(), some.end());
        return has_failed ? 5 : 0;
    }
    int poll(std::span<verbs::UdReceived> received) override {
        const size_t count = std::min(received.size(), coming.size());
        std::copy_n(coming.begin(), count, received.begin());
        coming.erase(coming.begin(), coming.begin() + static_cast<ptrdiff_t>(count));
        return static_cast<int>(count);
    }
    int64_t poll_complete() override { return complete; }
    [[nodiscard]] int wait_fd(UdQueue /*queue*/) const override { return -1; }
    bool arm(UdQueue queue, verbs::Events of) override {
        armed.push_back({queue, of});
        return true;
    }
    bool take(UdQueue /*queue*/) override { return has_told; }
    Result<UdRoute> make_route(const verbs::UdCard& to) override {
        if (to.queue_pair == unreachable) return Error{ErrorCode::kNetwork, "no way there"};
        return UdRoute{reinterpret_cast<void*>(++made), to.queue_pair};
    }
    void drop(const UdRoute& route) override {
        EXPECT_TRUE(dropped.insert(route.handle).second) << "dropped twice";
    }
    Result<UdRoute> join(const verbs::UdGroup& /*group*/) override {
        ++attached;
        return UdRoute{reinterpret_cast<void*>(++made), 0xffffff};
    }
    void leave(const verbs::UdGroup& /*group*/) override { --attached; }

    verbs::UdCard own;
    std::vector<std::byte> bytes;
    std::vector<uint32_t> receives;
    std::vector<verbs::UdSend> sends;
    std::vector<verbs::UdReceived> coming;
    std::vector<std::pair<UdQueue, verbs::Events>> armed;
    std::set<void*> dropped;
    int64_t complete = 0;
    uint32_t unreachable = 0;
    uintptr_t made = 0;
    int attached = 0;
    bool has_failed = false;
    bool has_told = false;
};

TEST(UdSends, HoldBuffersUntilTheyAreComplete) {
    StubEndpoint end(kReceivesMin);
    UdSends sends(end, end.memory().last(kSends * kPacketBytes));
    for (uint32_t i = 0; i < kSends; ++i) {
        if (sends.space().empty()) sends.flush();
        ASSERT_TRUE(sends.has_room());
        sends.add({}, 8, false);
    }
    EXPECT_TRUE(sends.flush());
    EXPECT_FALSE(sends.has_room());
    EXPECT_EQ(end.sends.size(), kSends);
    end.complete = 3;
    EXPECT_TRUE(sends.poll());
    EXPECT_TRUE(sends.has_room());
    EXPECT_EQ(sends.complete(), 3u);
    EXPECT_EQ(sends.sent(), kSends);
}

TEST(UdSends, WhatIsRefusedIsLost) {
    StubEndpoint end(kReceivesMin);
    UdSends sends(end, end.memory().last(kSends * kPacketBytes));
    for (uint32_t i = 0; i < 3; ++i) sends.add({}, 8, false);
    end.has_failed = true;
    EXPECT_FALSE(sends.flush());
    sends.drop();
    EXPECT_EQ(sends.lost(), 3u);
    EXPECT_EQ(sends.sent(), 0u);
}

TEST(UdReceives, PostsABatchAgainWhenTheNextIsAskedFor) {
    StubEndpoint end(kReceivesMin);
    UdReceives receives(end, kReceivesMin);
    ASSERT_TRUE(receives.post_all());
    std::vector<uint32_t> all(kReceivesMin);
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(end.receives, all);
    end.receives.clear();
    for (uint32_t place = 0; place < 3; ++place) end.coming.push_back({.place = place});
    end.coming[0].bytes = verbs::kGrhBytes + 7;
    end.coming[1].bytes = verbs::kGrhBytes - 1;  // too short to be one
    end.coming[2].bytes = verbs::kGrhBytes + kPacketBytes + 1;
    EXPECT_TRUE(receives.poll());
    EXPECT_TRUE(receives.has_batch());
    EXPECT_TRUE(receives.renew());
    const carrier::Batch batch = receives.take();
    ASSERT_EQ(batch.packets.size(), 1u);
    EXPECT_EQ(batch.packets[0].bytes.size(), 7u);
    EXPECT_FALSE(batch.has_more);
    EXPECT_TRUE(end.receives.empty());
    EXPECT_TRUE(receives.renew());
    EXPECT_EQ(end.receives, (std::vector<uint32_t>{0, 1, 2}));
}

TEST(UdReceives, AFailedOneEndsThem) {
    StubEndpoint end(kReceivesMin);
    UdReceives receives(end, kReceivesMin);
    end.coming.push_back({.place = 1, .status = 5});
    EXPECT_TRUE(receives.poll());
    EXPECT_FALSE(receives.renew());
}

TEST(UdAlarm, AsksOnceAndForAllIfThatIsWanted) {
    StubEndpoint end(kReceivesMin);
    UdAlarm alarm(end);
    EXPECT_TRUE(alarm.arm_receives(Wake::kUrgent));
    EXPECT_TRUE(alarm.arm_receives(Wake::kUrgent));
    EXPECT_EQ(end.armed.size(), 1u);
    EXPECT_TRUE(alarm.arm_receives(Wake::kAll));
    EXPECT_TRUE(alarm.arm_receives(Wake::kUrgent));
    EXPECT_EQ(end.armed.size(), 2u);
    alarm.take_off();  // it has not told
    EXPECT_TRUE(alarm.arm_receives(Wake::kAll));
    EXPECT_EQ(end.armed.size(), 2u);
    end.has_told = true;
    alarm.take_off();
    EXPECT_TRUE(alarm.arm_receives(Wake::kUrgent));
    EXPECT_EQ(end.armed.back(), (std::pair{UdQueue::kReceived, verbs::Events::kSolicited}));
    EXPECT_EQ(end.armed.size(), 3u);
}

class UdWaysTest : public testing::Test {
  protected:
    // Member 0 is this one.
    carrier::WayParams params(uint64_t group) {
        members_.resize(3);
        for (uint32_t i = 0; i < members_.size(); ++i) {
            verbs::UdCard card = end_.own;
            card.port.mtu_bytes = 4096;
            card.queue_pair = 5 + i;
            members_[i].kind = carrier::Kind::kUd;
            members_[i].host = i;
            say({card, packet_bytes_of(card.port), ways_.free_receives()}, members_[i]);
        }
        return {make_group_address(group), members_, 0};
    }
    StubEndpoint end_{kReceivesMin};
    UdSends sends_{end_, end_.memory().last(kSends* kPacketBytes)};
    UdWays ways_{end_, sends_, kReceivesMin};
    std::vector<carrier::Address> members_;
};

TEST_F(UdWaysTest, RoutesGoWhenNothingGoesByThem) {
    auto way = ways_.join(params(1));
    ASSERT_TRUE(way) << way.error().message;
    sends_.add(way.value()->to_all, 8, false);
    EXPECT_TRUE(sends_.flush());
    ways_.leave(*way.value());
    EXPECT_TRUE(end_.dropped.empty());
    EXPECT_EQ(end_.attached, 0);
    end_.complete = 1;
    EXPECT_TRUE(sends_.poll());
    auto other = ways_.join(params(2));
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(end_.dropped.size(), 3u);
}

TEST_F(UdWaysTest, AGroupIsJoinedOnce) {
    auto one = ways_.join(params(1));
    auto other = ways_.join(params(1));
    ASSERT_TRUE(one && other);
    EXPECT_EQ(end_.attached, 1);
    EXPECT_EQ(one.value()->to_all.handle, other.value()->to_all.handle);
    ways_.leave(*one.value());
    EXPECT_EQ(end_.attached, 1);
    ways_.leave(*other.value());
    EXPECT_EQ(end_.attached, 0);
    EXPECT_EQ(end_.dropped.size(), end_.made);
    EXPECT_EQ(ways_.free_receives(), promisable(kReceivesMin));
}

TEST_F(UdWaysTest, WithoutAWayToOneThereIsNone) {
    end_.unreachable = 7;
    EXPECT_FALSE(ways_.join(params(1)));
    EXPECT_EQ(end_.dropped.size(), 1u);
    EXPECT_EQ(end_.attached, 0);
    EXPECT_EQ(ways_.free_receives(), promisable(kReceivesMin));
}

}  // namespace
}  // namespace tutti::transport::ud
