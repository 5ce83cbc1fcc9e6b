// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/ud_datagrams.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "conformance/fake_ud.h"
#include "run/transport/ud/promises.h"
#include "sim/seeds.h"

namespace tutti::transport::ud {
namespace {

using carrier::Address;
using carrier::Batch;
using carrier::Datagrams;
using carrier::Wake;
using carrier::Way;
using test::FakeUd;
using test::FakeUdRules;

// Hosts of one network, each in the group.
class Net {
  public:
    Net(const FakeUdRules& rules, uint32_t hosts) : fake(std::make_shared<FakeUd>(rules)) {
        for (uint32_t i = 0; i < hosts; ++i) {
            auto opened = open_datagrams(FakeUd::add_port(fake));
            EXPECT_TRUE(opened) << opened.error().message;
            all.push_back(std::move(opened.value()));
        }
        look();
    }
    // As a team's members tell each other.
    void look() {
        members.clear();
        for (const auto& one : all) members.push_back(one->address());
    }
    std::unique_ptr<Way> join(mcast::Member host, uint64_t group = 1) {
        auto way = all[host]->join({make_group_address(group), members, host});
        EXPECT_TRUE(way) << way.error().message;
        return way ? std::move(way.value()) : nullptr;
    }
    std::vector<std::unique_ptr<Way>> join_all(uint64_t group = 1) {
        std::vector<std::unique_ptr<Way>> ways;
        for (mcast::Member i = 0; i < all.size(); ++i) ways.push_back(join(i, group));
        return ways;
    }
    void leave(mcast::Member host, std::unique_ptr<Way> way) {
        all[host]->forget(*way);
        all[host]->leave(std::move(way));
    }
    // False: there was no room.
    bool send(mcast::Member from, const Way& way, mcast::Member to, uint32_t number,
              bool is_urgent = false) {
        auto& one = *all[from];
        if (one.space().empty() && !one.flush()) return false;
        const auto space = one.space();
        std::memcpy(space.data(), &number, sizeof number);
        std::memset(space.data() + sizeof number, static_cast<int>(number & 0xff), 96);
        one.add(way, to, 100, is_urgent);
        return true;
    }
    // How often each number came.
    void take(mcast::Member host, std::map<uint32_t, uint32_t>& came) {
        for (;;) {
            const Batch batch = all[host]->receive(0);
            for (const auto& one : batch.packets) {
                uint32_t number = 0;
                ASSERT_EQ(one.bytes.size(), 100u);
                std::memcpy(&number, one.bytes.data(), sizeof number);
                const auto rest = one.bytes.subspan(sizeof number);
                ASSERT_TRUE(std::ranges::all_of(
                    rest, [&](std::byte byte) { return byte == std::byte(number & 0xff); }));
                ++came[number];
            }
            // A look before sleep may have found some of them, and others have come since.
            if (!batch.has_more && batch.packets.empty()) return;
        }
    }

    std::shared_ptr<FakeUd> fake;
    std::vector<std::unique_ptr<Datagrams>> all;
    std::vector<Address> members;
};

TEST(UdDatagrams, WindowsOfAllSendersFindReceivesThoughNobodyLooks) {
    Net net({}, 5);
    const auto ways = net.join_all();
    const auto path = net.all[0]->choose_path(net.members, 0);
    ASSERT_TRUE(path);
    const uint32_t window = path.value().window_packets_max;
    EXPECT_EQ(window, 256u);
    uint32_t sent = 0;
    for (mcast::Member from = 1; from < 5; ++from) {
        for (uint32_t i = 0; i < window; ++i) {
            ASSERT_TRUE(net.send(from, *ways[from], mcast::kEverybody, ++sent));
        }
        ASSERT_TRUE(net.all[from]->flush());
    }
    std::map<uint32_t, uint32_t> came;
    net.take(0, came);
    EXPECT_EQ(came.size(), sent);
    EXPECT_EQ(net.fake->unreceived(), 0u);
    EXPECT_EQ(net.fake->fault(), "");
}

TEST(UdDatagrams, GroupsAreGivenWhatIsFree) {
    Net net({.receives_max = 512}, 4);
    const uint32_t promised = promisable(512);
    std::vector<std::unique_ptr<Way>> ways;
    std::vector<uint32_t> windows;
    for (uint64_t group = 0; group < 4; ++group) {
        net.look();
        windows.push_back(net.all[0]->choose_path(net.members, 0).value().window_packets_max);
        ways.push_back(net.join(0, group));
    }
    EXPECT_EQ(windows, (std::vector<uint32_t>{promised / 6, promised / 12, promised / 24, 16}));
    for (auto& way : ways) net.leave(0, std::move(way));
    net.look();
    EXPECT_EQ(net.all[0]->choose_path(net.members, 0).value().window_packets_max, promised / 6);
}

// Members said what was free before another group took it.
TEST(UdDatagrams, WhoIsTooLateForItsReceivesIsRefused) {
    Net net({.receives_max = 512}, 4);
    const auto first = net.join(0, 1);
    const auto second = net.join(0, 2);
    const auto third = net.all[0]->join({make_group_address(3), net.members, 0});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().message,
              "multicast: another group has taken the receives that this one was to have");
}

TEST(UdDatagrams, WithoutReceivesPacketsAreLostAndThenComeAgain) {
    Net net({.receives_max = 256}, 2);
    const auto ways = net.join_all();
    for (uint32_t i = 0; i < 300; ++i) {
        ASSERT_TRUE(net.send(0, *ways[0], mcast::kEverybody, i));
    }
    ASSERT_TRUE(net.all[0]->flush());
    EXPECT_EQ(net.fake->unreceived(), 300u - 256 + 300 - 256) << "here and, own ones, there";
    std::map<uint32_t, uint32_t> came;
    net.take(1, came);
    EXPECT_EQ(came.size(), 256u);
    std::map<uint32_t, uint32_t> own;
    net.take(0, own);
    EXPECT_TRUE(own.empty());
    EXPECT_EQ(net.all[0]->counters().own, 256u);
    ASSERT_TRUE(net.send(0, *ways[0], 1, 1000));
    ASSERT_TRUE(net.all[0]->flush());
    net.take(1, came);
    EXPECT_EQ(came[1000], 1u);
}

// What is told may be told late, when its packet was taken long ago, or before it is looked for;
// sends may be complete late. Nobody sleeps for ever: who arms is woken, or finds it at once; but
// by packets that are not urgent only if he asked for all, the last time or before.
TEST(UdDatagrams, WhoSleepsIsWokenUnderManySeeds) {
    size_t silent = 0;
    test::for_each_seed(1000, [&](uint64_t seed) {
        FakeUdRules rules{.seed = seed, .is_ethernet = seed % 2 == 0, .completes_late = true};
        rules.tells_late = true;
        rules.receives_max = 512;
        Net net(rules, 2);
        const auto ways = net.join_all();
        Prng prng(seed);
        const auto is_readable = [&](mcast::Member host) {
            std::vector<pollfd> fds;
            for (const auto& one : net.all[host]->wait_fds()) fds.push_back({one.fd, POLLIN, 0});
            return ::poll(fds.data(), fds.size(), 0) > 0;
        };
        std::map<uint32_t, uint32_t> came;
        const auto is_urgent = [](uint32_t number) { return number % 3 == 0; };
        for (uint32_t sent = 0; sent < 200;) {
            // Room that is asked for comes as well.
            while (!net.send(0, *ways[0], prng.below(2) == 0 ? mcast::kEverybody : 1, sent,
                             is_urgent(sent))) {
                if (!net.all[0]->arm(Wake::kAll, true)) continue;
                net.fake->tick();
                ASSERT_TRUE(net.all[0]->flush() || is_readable(0));
            }
            ++sent;
            if (prng.below(2) == 0) net.all[0]->flush();
            if (prng.below(4) == 0) net.fake->tick();
            if (prng.below(4) == 0) net.take(1, came);
            const Wake wake = prng.below(2) == 0 ? Wake::kAll : Wake::kUrgent;
            if (prng.below(4) != 0 || !net.all[1]->arm(wake, false)) continue;
            const size_t before = came.size();
            const bool was_woken = is_readable(1);
            net.all[0]->flush();
            net.fake->tick();
            const bool is_woken = is_readable(1);
            std::map<uint32_t, uint32_t> now;
            net.take(1, now);
            const auto is_for_it = [&](const auto& one) {
                return wake == Wake::kAll || is_urgent(one.first);
            };
            ASSERT_TRUE(is_woken || std::ranges::none_of(now, is_for_it)) << "slept over a packet";
            silent += is_woken || was_woken ? 0 : now.size();
            came.insert(now.begin(), now.end());
            ASSERT_EQ(came.size(), before + now.size());
        }
        net.all[0]->flush();
        net.take(1, came);
        ASSERT_EQ(came.size(), 200u);
        ASSERT_EQ(net.fake->fault(), "");
    });
    EXPECT_GT(silent, 0u) << "packets that woke nobody";
}

TEST(UdDatagrams, LossesDoublesAndOvertakersLeaveBuffersRight) {
    test::for_each_seed(1000, [&](uint64_t seed) {
        FakeUdRules rules{.seed = seed, .loss_ppm = 50'000, .dup_ppm = 50'000};
        rules.overtakers_max = 5;
        rules.receives_max = 512;
        rules.completes_late = true;
        Net net(rules, 3);
        const auto ways = net.join_all();
        std::map<uint32_t, uint32_t> came;
        uint32_t sent = 0;
        for (uint32_t i = 0; i < 200; ++i) {
            if (net.send(0, *ways[0], mcast::kEverybody, sent)) ++sent;
            if (i % 7 == 0) net.take(1, came);
        }
        net.all[0]->flush();
        net.take(1, came);
        EXPECT_GT(came.size(), sent * 8 / 10);
        EXPECT_LT(came.size(), sent);
        ASSERT_EQ(net.fake->fault(), "");
    });
}

// A route goes when what was sent by it is complete, be that long after its group was left.
TEST(UdDatagrams, RoutesOutliveWhatIsSentByThem) {
    FakeUdRules rules;
    rules.completes_late = true;
    Net net(rules, 4);
    for (uint64_t round = 0; round < 200; ++round) {
        auto way = net.join(0, round);
        for (uint32_t i = 0; i < 5; ++i) {
            net.send(0, *way, i % 2 == 0 ? mcast::kEverybody : 1, i);
        }
        net.leave(0, std::move(way));
        ASSERT_EQ(net.fake->fault(), "");
    }
    for (int i = 0; i < 100; ++i) net.all[0]->flush();
    net.leave(0, net.join(0, 7));
    EXPECT_EQ(net.fake->routes(), 0u);
}

// As communicators come and go, two at a time, one in two with the address of the one before it:
// all is given back, each queue pair is attached to an address once, and nothing piles up.
TEST(UdDatagrams, AThousandGroupsAreGivenBack) {
    constexpr uint32_t kHosts = 3;
    FakeUdRules rules{.completes_late = true, .receives_max = 512};
    Net net(rules, kHosts);
    const uint32_t window = net.all[0]->choose_path(net.members, 0).value().window_packets_max;
    std::vector<std::unique_ptr<Way>> before;
    const auto leave_all = [&] {
        for (mcast::Member host = 0; host < before.size(); ++host) {
            net.leave(host, std::move(before[host]));
        }
        before.clear();
    };
    uint64_t routes_max = 0;
    for (uint64_t group = 0; group < 1000; ++group) {
        net.look();
        auto ways = net.join_all(group / 2);
        const bool is_alone = before.empty() || group % 2 == 1;
        ASSERT_EQ(net.fake->attachments(), kHosts * (is_alone ? 1 : 2)) << group;
        for (mcast::Member host = 0; host < kHosts; ++host) {
            ASSERT_TRUE(net.send(host, *ways[host], mcast::kEverybody, 1));
            ASSERT_TRUE(
                net.send(host, *ways[host], static_cast<mcast::Member>((host + 1) % kHosts), 2));
        }
        leave_all();
        before = std::move(ways);
        std::map<uint32_t, uint32_t> came;
        for (const auto& one : net.all) one->flush();
        for (mcast::Member host = 0; host < kHosts; ++host) net.take(host, came);
        ASSERT_EQ(came, (std::map<uint32_t, uint32_t>{{1, kHosts * (kHosts - 1)}, {2, kHosts}}));
        ASSERT_EQ(net.fake->fault(), "");
        routes_max = std::max(routes_max, net.fake->routes());
    }
    leave_all();
    EXPECT_EQ(net.fake->attachments(), 0u);
    // Two groups with a route to all and to each other member, and those of a few that wait for
    // their sends.
    EXPECT_LE(routes_max, 8 * kHosts * kHosts);
    for (int i = 0; i < 100; ++i) {
        for (const auto& one : net.all) one->flush();
    }
    net.look();
    EXPECT_EQ(net.all[0]->choose_path(net.members, 0).value().window_packets_max, window);
    before = net.join_all(7);
    leave_all();
    EXPECT_EQ(net.fake->routes(), 0u);
}

// What lies together goes in one call.
TEST(UdDatagrams, ABatchIsPostedAtOnce) {
    Net net({}, 2);
    const auto ways = net.join_all();
    for (uint32_t i = 0; i < carrier::kBatchPackets; ++i) {
        ASSERT_TRUE(net.send(0, *ways[0], mcast::kEverybody, i));
    }
    EXPECT_EQ(net.fake->posts(), 0u);
    ASSERT_TRUE(net.all[0]->flush());
    EXPECT_EQ(net.fake->posts(), 1u);
}

TEST(UdDatagrams, PacketsAreAsLongAsAllMembersTake) {
    const Net large({.mtu_bytes = 4096}, 2);
    // A group of InfiniBand may have less than its ports.
    EXPECT_EQ(large.all[0]->choose_path(large.members, 0).value().packet_bytes_max, 2048u);
    const Net ethernet({.is_ethernet = true, .mtu_bytes = 4096}, 2);
    EXPECT_EQ(ethernet.all[0]->choose_path(ethernet.members, 0).value().packet_bytes_max, 4096u);
    const Net small({.is_ethernet = true, .mtu_bytes = 1024}, 2);
    const std::vector<Address> both{ethernet.members[0], small.members[1]};
    EXPECT_EQ(ethernet.all[0]->choose_path(both, 0).value().packet_bytes_max, 1024u);
    const auto tiny =
        open_datagrams(FakeUd::add_port(std::make_shared<FakeUd>(FakeUdRules{.mtu_bytes = 512})));
    ASSERT_FALSE(tiny);
    EXPECT_EQ(tiny.error().message, "multicast: packets of fake0 have only 512 bytes");
}

// While as many packets are held as one look takes, and as many more were found before sleep.
TEST(UdDatagrams, APortThatFailsCarriesNothingAnyMore) {
    Net net({.fails_after = 4}, 2);
    auto ways = net.join_all();
    for (uint32_t number = 1; number <= 2 * carrier::kBatchPackets; ++number) {
        ASSERT_TRUE(net.send(1, *ways[1], 0, number));
    }
    ASSERT_TRUE(net.all[1]->flush());
    Datagrams& one = *net.all[0];
    EXPECT_EQ(one.receive(0).packets.size(), carrier::kBatchPackets);
    EXPECT_FALSE(one.arm(Wake::kAll, false));
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(net.send(0, *ways[0], 1, 1));
        one.flush();
    }
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(one.receive(0).packets.empty());
    EXPECT_GT(one.counters().refused, 0u);
    // Teams come and go all the same.
    auto other = net.join(0, 2);
    net.leave(0, std::move(ways[0]));
    net.leave(0, std::move(other));
    EXPECT_EQ(net.fake->fault(), "");
}

TEST(UdDatagrams, TheSlowestLinkIsThePaths) {
    const Net fast({.bytes_per_s = 12'500'000'000}, 2);
    EXPECT_TRUE(fast.all[0]->choose_path(fast.members, 0).value().marks_urgent);
    const Net slow({.bytes_per_s = 1'250'000'000}, 2);
    const std::vector<Address> both{fast.members[0], slow.members[1]};
    EXPECT_EQ(fast.all[0]->choose_path(fast.members, 0).value().bytes_per_s_max, 12'500'000'000u);
    EXPECT_EQ(fast.all[0]->choose_path(both, 0).value().bytes_per_s_max, 1'250'000'000u);
    // One does not know.
    const Net silent({.bytes_per_s = 0}, 2);
    const std::vector<Address> two{silent.members[0], fast.members[1]};
    EXPECT_EQ(fast.all[0]->choose_path(two, 1).value().bytes_per_s_max, 0u);
}

TEST(UdDatagrams, PortsOfTwoNetworksDoNotMeet) {
    const Net one({}, 1);
    const Net other({.is_ethernet = true}, 1);
    std::vector<Address> both{one.members[0], other.members[0]};
    const auto path = one.all[0]->choose_path(both, 0);
    ASSERT_FALSE(path);
    EXPECT_EQ(path.error().message,
              "multicast: the RDMA port of member 1 is not in the network of member 0's");
    both[1] = one.members[0];
    both[1].kind = carrier::Kind::kUdp4;
    EXPECT_FALSE(one.all[0]->choose_path(both, 0));
}

TEST(UdDatagrams, FewerReceivesWhereThereIsNoRoomForMore) {
    const Net net({.receives_max = 300}, 1);
    EXPECT_EQ(net.all[0]->counters().receive_bytes, 256u * 2048);
    const auto none = open_datagrams(
        FakeUd::add_port(std::make_shared<FakeUd>(FakeUdRules{.receives_max = 100})));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "no room for so many receives");
}

// A port that has no datagrams for another reason.
class Closed final : public verbs::Device {
  public:
    Closed(ErrorCode code, int& tries) : code_(code), tries_(tries) { port_.mtu_bytes = 2048; }
    [[nodiscard]] std::string name() const override { return "closed:1"; }
    [[nodiscard]] const verbs::PortCard& port() const override { return port_; }
    Result<std::unique_ptr<verbs::Endpoint>> make_endpoint(const verbs::Need& /*need*/) override {
        return Error{ErrorCode::kSystem, "none"};
    }
    Result<std::unique_ptr<verbs::UdEndpoint>> make_ud(const verbs::UdNeed& /*need*/) override {
        ++tries_;
        return Error{code_, "the port is closed"};
    }

  private:
    ErrorCode code_;
    int& tries_;
    verbs::PortCard port_;
};

TEST(UdDatagrams, FewerReceivesAreTriedOnlyWhereThereWereTooMany) {
    for (const auto& [code, wanted] :
         {std::pair(ErrorCode::kSystem, 1), std::pair(ErrorCode::kNetwork, 1),
          std::pair(ErrorCode::kMemory, 5)}) {
        int tries = 0;
        EXPECT_FALSE(open_datagrams(std::make_shared<Closed>(code, tries)));
        EXPECT_EQ(tries, wanted);
    }
}

}  // namespace
}  // namespace tutti::transport::ud
