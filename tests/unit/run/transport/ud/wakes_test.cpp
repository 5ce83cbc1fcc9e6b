// SPDX-License-Identifier: BSD-3-Clause
// Whom packets wake where the program computes: carriers with their threads over the fake port,
// which holds what goes to a host until the test lets it go, and says which packet made it tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/bell.h"
#include "conformance/fake_ud.h"
#include "run/transport/carrier/carrier.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/carrier/ring_feed.h"
#include "run/transport/carrier/route.h"
#include "run/transport/ud/ud_datagrams.h"
#include "unit/threads.h"

namespace tutti::transport::ud {
namespace {

using test::after_ns;
using test::eventually;
using test::FakeUd;
using test::FakeUdRules;

constexpr uint32_t kHosts = 2;
constexpr uint64_t kFarTooLongNs = 3'600'000'000'000;
// Kinds of packets, which stand at 18.
constexpr uint32_t kData = 1, kNak = 3, kKinds = 9;

uint32_t kind_of(std::span<const std::byte> packet) {
    return packet.empty() ? 0 : static_cast<uint32_t>(packet[18]);
}

// Two hosts with a rank each. What goes to either waits.
class Wakes : public testing::Test {
  protected:
    using Kinds = std::array<uint32_t, kKinds>;
    struct Host {
        std::unique_ptr<std::byte, void (*)(void*)> memory{nullptr, &std::free};
        std::unique_ptr<carrier::Carrier> carrier;
        carrier::Membership* membership = nullptr;
        std::unique_ptr<carrier::Route> route;
    };

    void open(uint32_t mtu_bytes, uint32_t window_packets = 256) {
        fake_ = std::make_shared<FakeUd>(FakeUdRules{.is_ethernet = true, .mtu_bytes = mtu_bytes});
        fake_->set_wakes([this](size_t port, std::span<const std::byte> packet) {
            const std::lock_guard guard(lock_);
            ++woken_[port][kind_of(packet)];
        });
        for (uint32_t i = 0; i < kHosts; ++i) {
            auto datagrams = open_datagrams(FakeUd::add_port(fake_));
            ASSERT_TRUE(datagrams) << datagrams.error().message;
            auto carrier = carrier::Carrier::open({}, std::move(datagrams.value()));
            ASSERT_TRUE(carrier) << carrier.error().message;
            hosts_[i].carrier = std::move(carrier.value());
            fake_->hold(i);
        }
        carrier::JoinParams join;
        const std::vector<carrier::Address> members{hosts_[0].carrier->address(),
                                                    hosts_[1].carrier->address()};
        join.group_address = make_group_address(1);
        join.key = carrier::random_key().value();
        join.members = members;
        join.window_packets = window_packets;
        for (uint32_t i = 0; i < kHosts; ++i) {
            const carrier::RingParams ring{carrier::kRingSlots, 1, kHosts};
            const size_t bytes = (carrier::ring_bytes(ring) + 4095) / 4096 * 4096;
            hosts_[i].memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
            carrier::Ring::format(hosts_[i].memory.get(), ring);
            join.member = static_cast<mcast::Member>(i);
            join.seed = i + 1;
            join.make_client = [this, i](mcast::Group& group) {
                return std::make_unique<carrier::Feed>(ring_of(i), group);
            };
            const auto joined = hosts_[i].carrier->join(join);
            ASSERT_TRUE(joined) << joined.error().message;
            hosts_[i].membership = joined.value();
            hosts_[i].route = std::make_unique<carrier::Route>(
                ring_of(i), hosts_[i].carrier->waker(), carrier::RouteParams{i, member_of_rank_});
        }
    }
    void TearDown() override {
        for (Host& host : hosts_) host.route.reset();
        for (Host& host : hosts_) host.carrier.reset();
        if (fake_) {
            EXPECT_EQ(fake_->fault(), "");
        }
    }

    [[nodiscard]] carrier::Ring ring_of(uint32_t host) const {
        return carrier::Ring(hosts_[host].memory.get());
    }
    uint32_t woken(uint32_t host, uint32_t kind) {
        const std::lock_guard guard(lock_);
        return woken_[host][kind];
    }
    uint64_t packets_at(uint32_t host) {
        return hosts_[host].carrier->group_counters(hosts_[host].membership).received.packets;
    }
    // By the root, whose program goes on.
    void send(uint64_t number) {
        Ticket ticket;
        hosts_[0].route->multicast(number, data_.data(), data_.size(), ticket);
    }
    // Lets the next packets to a host go, until so many of the kind have; each to a thread that is
    // asleep again.
    void pass(uint32_t host, uint32_t kind, uint32_t count) {
        while (count > 0) {
            ASSERT_TRUE(
                eventually([&] { return fake_->is_armed(host) && !fake_->held(host).empty(); }));
            count -= kind_of(fake_->held(host)) == kind ? 1 : 0;
            fake_->release(host);
        }
        ASSERT_TRUE(eventually([&] { return fake_->is_armed(host); }));
    }
    // Acknowledgements, own packets, heartbeats.
    void pass_all(uint32_t host) {
        while (!fake_->held(host).empty()) fake_->release(host);
    }
    // Of each message all packets, with whatever the root needs to go on.
    void pass_messages(uint64_t first, uint64_t count, uint32_t packets) {
        for (uint64_t number = first; number < first + count; ++number) {
            send(number);
            for (uint32_t packet = 0; packet < packets; ++packet) {
                ASSERT_NO_FATAL_FAILURE(pass_next(1));
            }
            ASSERT_TRUE(eventually([&] {
                pass_all(0);
                return ring_of(1).has(number);
            }));
            std::vector<std::byte> place(data_.size());
            Ticket ticket;
            hosts_[1].route->recv_multicast(number, 0, place.data(), place.size(), ticket);
            ASSERT_EQ(ticket.state, State::kDone);
            ASSERT_EQ(place, data_);
        }
    }
    // A data packet, and what stands before it; the root hears meanwhile what is for it.
    void pass_next(uint32_t host) {
        ASSERT_TRUE(eventually([&] {
            pass_all(0);
            return fake_->is_armed(host) && !fake_->held(host).empty();
        }));
        const bool is_data = kind_of(fake_->held(host)) == kData;
        fake_->release(host);
        if (!is_data) return pass_next(host);
        ASSERT_TRUE(eventually([&] { return fake_->is_armed(host); }));
    }

    std::vector<std::byte> data_ = std::vector<std::byte>(kMulticastBytesMax, std::byte{7});
    std::vector<mcast::Member> member_of_rank_{0, 1};
    std::mutex lock_;
    std::array<Kinds, kHosts> woken_{};
    std::shared_ptr<FakeUd> fake_;
    std::array<Host, kHosts> hosts_;
};

TEST_F(Wakes, AMessageWakesAHostThatComputesOnce) {
    open(1024);
    ASSERT_NO_FATAL_FAILURE(pass_messages(0, 20, 18));
    EXPECT_EQ(woken(1, kData), 20u);
}

TEST_F(Wakes, AMessageOfLongPacketsDoesToo) {
    open(4096);
    ASSERT_NO_FATAL_FAILURE(pass_messages(0, 20, 5));
    EXPECT_EQ(woken(1, kData), 20u);
}

// 18 packets, of which the 4th, 8th, 12th, 16th and the last are urgent.
TEST_F(Wakes, ASmallWindowWakesAtEachQuarter) {
    open(1024, 16);
    ASSERT_NO_FATAL_FAILURE(pass_messages(0, 20, 18));
    EXPECT_EQ(woken(1, kData), 20u * 5);
}

TEST_F(Wakes, ANakWakesARootThatComputes) {
    open(4096);
    send(0);
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 1));
    fake_->drop(1);
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 3));
    EXPECT_EQ(woken(1, kData), 1u) << "by the last";
    // Nothing else comes to the root.
    ASSERT_TRUE(eventually([&] {
        if (kind_of(fake_->held(0)) == kNak) return true;
        if (!fake_->held(0).empty()) fake_->drop(0);
        return false;
    }));
    ASSERT_TRUE(fake_->is_armed(0));
    fake_->release(0);
    EXPECT_EQ(woken(0, kNak), 1u);
    EXPECT_TRUE(eventually([&] {
        pass_all(1);
        return ring_of(1).has(0);
    }));
    EXPECT_EQ(woken(0, kData), 0u);
    EXPECT_GE(hosts_[0].carrier->group_counters(hosts_[0].membership).sent.repairs_to_one, 1u);
}

// The rank sleeps at its node's bell: it is the thread that has to look.
TEST_F(Wakes, APacketThatTheLastHasOvertakenWakesAtOnce) {
    open(4096);
    send(0);
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 3));
    EXPECT_EQ(woken(1, kData), 0u);
    fake_->release(1, 1);
    ASSERT_TRUE(eventually([&] { return fake_->is_armed(1) && packets_at(1) == 4; }));
    EXPECT_EQ(woken(1, kData), 1u);
    fake_->release(1);
    EXPECT_EQ(woken(1, kData), 2u);
    EXPECT_TRUE(eventually([&] { return ring_of(1).has(0); }));
}

// A rank that attends finds what woke nobody, and is woken by every packet; when it has left, the
// request that it leaves behind wakes once more.
TEST_F(Wakes, ARankThatBeginsToWaitFindsWhatHasCome) {
    open(1024);
    const auto attend = [&] {
        Sleeper sleeper(ring_of(1).header().bell);
        hosts_[1].carrier->attend(hosts_[1].membership, sleeper, after_ns(kFarTooLongNs));
    };
    send(0);
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 3));
    EXPECT_EQ(woken(1, kData), 0u);
    EXPECT_EQ(packets_at(1), 0u);
    attend();
    EXPECT_EQ(packets_at(1), 3u);
    EXPECT_EQ(woken(1, kData), 0u);
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 1));
    EXPECT_EQ(woken(1, kData), 1u);
    EXPECT_EQ(packets_at(1), 4u);
    EXPECT_FALSE(fake_->is_armed_for_all(1));
    std::thread rank(attend);
    EXPECT_TRUE(eventually([&] { return fake_->is_armed_for_all(1); }));
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 1));
    EXPECT_EQ(woken(1, kData), 2u);
    rank.join();
    // Unless a timer had ended its sleep before, and the thread took the packet.
    const uint32_t left = fake_->is_armed_for_all(1) ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 1));
    EXPECT_EQ(woken(1, kData), 2u + left);
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 11));
    EXPECT_EQ(woken(1, kData), 2u + left);
    ASSERT_NO_FATAL_FAILURE(pass(1, kData, 1));
    EXPECT_EQ(woken(1, kData), 3u + left);
    EXPECT_TRUE(eventually([&] { return ring_of(1).has(0); }));
}

}  // namespace
}  // namespace tutti::transport::ud
