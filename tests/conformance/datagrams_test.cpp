// SPDX-License-Identifier: BSD-3-Clause
// What run/transport/carrier/datagrams.h promises, for every fabric. A new one is one line in
// fabrics().
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/allocations.h"
#include "conformance/fake_ud.h"
#include "conformance/memory_datagrams.h"
#include "run/transport/ud/ud_datagrams.h"
#include "run/transport/udp/udp_datagrams.h"

namespace tutti::test {
namespace {

using transport::carrier::Address;
using transport::carrier::Batch;
using transport::carrier::Datagrams;
using transport::carrier::GroupAddress;
using transport::carrier::kBatchPackets;
using transport::carrier::kWaitFdsMax;
using transport::carrier::Path;
using transport::carrier::WaitFd;
using transport::carrier::Wake;
using transport::carrier::Way;

constexpr uint32_t kHosts = 3;
constexpr int kLongMs = 30'000;

struct DatagramsMaker {
    std::string name;
    // All hosts of one network.
    std::function<std::vector<std::unique_ptr<Datagrams>>()> open;
    std::function<GroupAddress(uint8_t)> group;
    bool tells_apart = true;  // urgent packets from others
};
void PrintTo(const DatagramsMaker& maker, std::ostream* out) { *out << maker.name; }

std::vector<std::unique_ptr<Datagrams>> open_udp(transport::udp::Family family) {
    std::vector<std::unique_ptr<Datagrams>> all;
    transport::udp::DatagramsParams params;
    params.family = family;
    // Tests of several processes at once keep out of each other's way.
    params.port = static_cast<uint16_t>(20'000 + getpid() % 20'000);
    for (uint32_t host = 0; host < kHosts; ++host) {
        auto opened = transport::udp::open_datagrams(params);
        if (!opened) throw std::runtime_error(opened.error().message);
        all.push_back(std::move(opened.value()));
    }
    return all;
}

std::vector<std::unique_ptr<Datagrams>> open_memory() {
    const auto memory = make_memory_switch();
    std::vector<std::unique_ptr<Datagrams>> all;
    for (uint32_t host = 0; host < kHosts; ++host) all.push_back(open_memory_datagrams(memory));
    return all;
}

std::vector<std::unique_ptr<Datagrams>> open_ud(const FakeUdRules& rules) {
    const auto fake = std::make_shared<FakeUd>(rules);
    std::vector<std::unique_ptr<Datagrams>> all;
    for (uint32_t host = 0; host < kHosts; ++host) {
        auto opened = transport::ud::open_datagrams(FakeUd::add_port(fake));
        if (!opened) throw std::runtime_error(opened.error().message);
        all.push_back(std::move(opened.value()));
    }
    return all;
}

DatagramsMaker ud(const std::string& name, const FakeUdRules& rules) {
    return {name, [rules] { return open_ud(rules); },
            [](uint8_t number) { return transport::ud::make_group_address(number); }, true};
}

DatagramsMaker udp(const std::string& name, transport::udp::Family family) {
    return {name, [family] { return open_udp(family); },
            [family](uint8_t number) { return transport::udp::make_group_address(family, number); },
            false};
}

std::vector<DatagramsMaker> fabrics() {
    return {udp("udp", transport::udp::Family::kIpv4),
            udp("udp_6", transport::udp::Family::kIpv6),
            {"memory", open_memory, memory_group, true},
            ud("ud", {}),
            ud("ud_ethernet", {.is_ethernet = true, .mtu_bytes = 1024, .receives_max = 600})};
}

using Packets = std::vector<std::vector<std::byte>>;

class DatagramsConformance : public testing::TestWithParam<DatagramsMaker> {
  protected:
    void SetUp() override {
        hosts_ = GetParam().open();
        for (const auto& host : hosts_) members_.push_back(host->address());
        ways_.resize(kHosts);
        for (mcast::Member host = 0; host < kHosts; ++host) join(host);
    }
    void join(mcast::Member host) {
        const auto path = hosts_[host]->choose_path(members_, host);
        ASSERT_TRUE(path) << path.error().message;
        path_ = path.value();
        hosts_[host]->set_needs(path_.shares_host, false);
        auto way = hosts_[host]->join({GetParam().group(7), members_, host});
        ASSERT_TRUE(way) << way.error().message;
        ways_[host] = std::move(way.value());
    }
    void leave(mcast::Member host) {
        hosts_[host]->forget(*ways_[host]);
        hosts_[host]->leave(std::move(ways_[host]));
    }
    void add(mcast::Member from, mcast::Member to, size_t bytes, std::byte value,
             bool is_urgent = false) {
        const auto space = hosts_[from]->space();
        ASSERT_GE(space.size(), bytes);
        std::fill_n(space.begin(), bytes, value);
        hosts_[from]->add(*ways_[from], to, bytes, is_urgent);
    }
    // False: nothing came in that time.
    bool sleep(mcast::Member host, int ms_max) {
        std::vector<pollfd> fds;
        for (const WaitFd& one : hosts_[host]->wait_fds()) fds.push_back({one.fd, POLLIN, 0});
        return ::poll(fds.data(), fds.size(), ms_max) > 0;
    }
    // As a carrier does it, until so many packets are there.
    Packets take(mcast::Member host, size_t count) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLongMs);
        Packets all;
        while (all.size() < count && std::chrono::steady_clock::now() < end) {
            bool has_more = false;
            for (uint32_t source = 0; source < hosts_[host]->sources(); ++source) {
                const Batch batch = hosts_[host]->receive(source);
                EXPECT_LE(batch.packets.size(), kBatchPackets);
                for (const auto& one : batch.packets) {
                    all.emplace_back(one.bytes.begin(), one.bytes.end());
                }
                has_more |= batch.has_more;
            }
            if (!has_more && all.size() < count && hosts_[host]->arm(Wake::kAll, false)) {
                sleep(host, kLongMs);
            }
        }
        return all;
    }
    // Whatever came is taken. What is sent to a host of this machine is there when flush() ends.
    size_t take_rest(mcast::Member host) {
        size_t count = 0;
        for (;;) {
            size_t got = 0;
            for (uint32_t source = 0; source < hosts_[host]->sources(); ++source) {
                const Batch batch = hosts_[host]->receive(source);
                got += batch.packets.size() + (batch.has_more ? 1 : 0);
                count += batch.packets.size();
            }
            if (got == 0) return count;
        }
    }

    std::vector<std::unique_ptr<Datagrams>> hosts_;
    std::vector<Address> members_;
    std::vector<std::unique_ptr<Way>> ways_;
    Path path_;
};

TEST_P(DatagramsConformance, AllMembersFindTheSame) {
    for (mcast::Member host = 0; host < kHosts; ++host) {
        const auto path = hosts_[host]->choose_path(members_, host);
        ASSERT_TRUE(path) << path.error().message;
        EXPECT_EQ(path.value().packet_bytes_max, path_.packet_bytes_max);
        EXPECT_EQ(path.value().window_packets_max, path_.window_packets_max);
        EXPECT_GE(path_.packet_bytes_max, mcast::kControlBytesMax);
        EXPECT_GE(path_.window_packets_max, 16u);
        EXPECT_EQ(members_[host].kind, members_[0].kind);
        EXPECT_EQ(members_[host].kind, GetParam().group(7).kind);
        for (mcast::Member other = 0; other < host; ++other) {
            EXPECT_NE(members_[host].carrier, members_[other].carrier);
        }
        EXPECT_LE(hosts_[host]->wait_fds().size(), kWaitFdsMax);
        EXPECT_FALSE(hosts_[host]->describe(*ways_[host]).empty());
    }
}

TEST_P(DatagramsConformance, ToOneAndToAll) {
    add(0, mcast::kEverybody, 100, std::byte{1});
    add(0, 2, path_.packet_bytes_max, std::byte{2});
    ASSERT_TRUE(hosts_[0]->flush());
    EXPECT_EQ(take(1, 1), (Packets{std::vector(100, std::byte{1})}));
    Packets both = take(2, 2);
    std::sort(both.begin(), both.end());
    EXPECT_EQ(both, (Packets{std::vector(100, std::byte{1}),
                             std::vector(size_t{path_.packet_bytes_max}, std::byte{2})}));
    EXPECT_EQ(take_rest(0), 0u) << "the own packet came back";
    EXPECT_EQ(take_rest(1), 0u);
    EXPECT_EQ(hosts_[0]->counters().sent, 2u);
    EXPECT_EQ(hosts_[0]->counters().refused, 0u);
}

TEST_P(DatagramsConformance, NoRoomUntilItIsFlushed) {
    uint32_t count = 0;
    while (!hosts_[0]->space().empty()) {
        ASSERT_LT(count, kBatchPackets);
        add(0, mcast::kEverybody, 60, static_cast<std::byte>(count++));
    }
    EXPECT_GT(count, 0u);
    ASSERT_TRUE(hosts_[0]->flush());
    EXPECT_FALSE(hosts_[0]->space().empty());
    add(0, mcast::kEverybody, 60, std::byte{0xff});
    ASSERT_TRUE(hosts_[0]->flush());
    EXPECT_EQ(take(1, count + 1).size(), count + 1);
    EXPECT_EQ(take(2, count + 1).back(), std::vector(60, std::byte{0xff}));
}

TEST_P(DatagramsConformance, WhoSleepsIsWoken) {
    for (uint32_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(hosts_[1]->arm(Wake::kAll, false)) << "nothing is there";
        EXPECT_FALSE(sleep(1, 0)) << "nothing is there";
        add(0, i % 2 == 0 ? mcast::kEverybody : mcast::Member{1}, 60, std::byte{1});
        ASSERT_TRUE(hosts_[0]->flush());
        EXPECT_TRUE(sleep(1, kLongMs));
        EXPECT_EQ(take(1, 1).size(), 1u);
    }
}

TEST_P(DatagramsConformance, WhatCameBeforeArmingIsNotSleptOver) {
    for (uint32_t i = 0; i < 20; ++i) {
        add(0, mcast::kEverybody, 60, std::byte{1});
        ASSERT_TRUE(hosts_[0]->flush());
        EXPECT_TRUE(!hosts_[1]->arm(Wake::kAll, false) || sleep(1, kLongMs));
        EXPECT_EQ(take(1, 1).size(), 1u);
        ASSERT_TRUE(hosts_[1]->arm(Wake::kAll, false));
        EXPECT_FALSE(sleep(1, 0)) << "what was taken wakes nobody";
    }
}

TEST_P(DatagramsConformance, UrgentPacketsWake) {
    for (uint32_t i = 0; i < 20; ++i) {
        const mcast::Member to = i % 2 == 0 ? mcast::kEverybody : mcast::Member{1};
        ASSERT_TRUE(hosts_[1]->arm(Wake::kUrgent, false)) << "nothing is there";
        for (int others = 0; others < 3; ++others) {
            add(0, to, 60, std::byte{1});
            ASSERT_TRUE(hosts_[0]->flush());
            EXPECT_EQ(sleep(1, 0), !GetParam().tells_apart);
        }
        add(0, to, 60, std::byte{1}, true);
        ASSERT_TRUE(hosts_[0]->flush());
        EXPECT_TRUE(sleep(1, kLongMs));
        EXPECT_EQ(take(1, 4).size(), 4u);
    }
}

// Who begins to wait.
TEST_P(DatagramsConformance, WhatWokeNobodyIsFoundBeforeASleepForAll) {
    for (uint32_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(hosts_[1]->arm(Wake::kUrgent, false)) << "nothing is there";
        add(0, mcast::kEverybody, 60, std::byte{1});
        ASSERT_TRUE(hosts_[0]->flush());
        EXPECT_TRUE(!hosts_[1]->arm(Wake::kAll, false) || sleep(1, kLongMs));
        EXPECT_EQ(take(1, 1).size(), 1u);
        ASSERT_TRUE(hosts_[1]->arm(Wake::kUrgent, false));
        ASSERT_TRUE(hosts_[1]->arm(Wake::kAll, false));
        EXPECT_FALSE(sleep(1, 0)) << "nothing is there";
        add(0, mcast::kEverybody, 60, std::byte{1});
        ASSERT_TRUE(hosts_[0]->flush());
        EXPECT_TRUE(sleep(1, kLongMs));
        EXPECT_EQ(take(1, 1).size(), 1u);
    }
}

TEST_P(DatagramsConformance, WhoHasLeftGetsNothing) {
    leave(2);
    add(0, mcast::kEverybody, 60, std::byte{1});
    ASSERT_TRUE(hosts_[0]->flush());
    EXPECT_EQ(take(1, 1).size(), 1u);
    EXPECT_EQ(take_rest(2), 0u);
    join(2);
    add(0, mcast::kEverybody, 60, std::byte{2});
    ASSERT_TRUE(hosts_[0]->flush());
    EXPECT_EQ(take(2, 1), (Packets{std::vector(60, std::byte{2})}));
}

TEST_P(DatagramsConformance, GroupsOfOneAddressLeaveOneByOne) {
    auto second = hosts_[1]->join({GetParam().group(7), members_, 1});
    ASSERT_TRUE(second) << second.error().message;
    leave(1);
    add(0, mcast::kEverybody, 60, std::byte{1});
    ASSERT_TRUE(hosts_[0]->flush());
    EXPECT_EQ(take(1, 1).size(), 1u);
    hosts_[1]->forget(*second.value());
    hosts_[1]->leave(std::move(second.value()));
}

TEST_P(DatagramsConformance, PacketsTakeNoMemory) {
    if (!counts_allocations()) GTEST_SKIP() << "the sanitizer has its own malloc";
    const size_t before = allocations();
    size_t got = 0;
    for (uint32_t i = 0; i < 100; ++i) {
        const auto space = hosts_[0]->space();
        hosts_[0]->add(*ways_[0], mcast::kEverybody, std::min<size_t>(space.size(), 60),
                       i % 3 == 0);
        hosts_[0]->flush();
        hosts_[1]->arm(i % 2 == 0 ? Wake::kAll : Wake::kUrgent, true);
        for (uint32_t source = 0; source < hosts_[1]->sources(); ++source) {
            got += hosts_[1]->receive(source).packets.size();
        }
        hosts_[0]->set_needs(path_.shares_host, i % 2 == 0);
        static_cast<void>(hosts_[0]->counters());
    }
    hosts_[0]->forget(*ways_[0]);
    EXPECT_EQ(allocations(), before);
    EXPECT_GT(got, 0u);
}

INSTANTIATE_TEST_SUITE_P(Carrier, DatagramsConformance, testing::ValuesIn(fabrics()),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace tutti::test
