// SPDX-License-Identifier: BSD-3-Clause
// Carriers with real sockets, on the loopback interface.
#include "run/transport/carrier/carrier.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run/transport/carrier/membership.h"
#include "run/transport/carrier/service.h"
#include "unit/run/transport/carrier/cluster.h"
#include "unit/threads.h"

namespace tutti::transport::carrier {
namespace {

using test::after_ns;

constexpr uint64_t kLongSleepNs = 900'000'000;

TEST(Carrier, EverybodyGetsEverything) {
    Cluster cluster(on_port(20'101));
    ASSERT_EQ(cluster.open(), "");
    EXPECT_EQ(exchange(cluster, 0, 300), "");
    const CarrierCounters counters = cluster.carrier(0).counters();
    EXPECT_GT(counters.packets_in, 300u);
    EXPECT_GT(counters.own, 0u);
    EXPECT_EQ(counters.rejected, 0u);
    EXPECT_EQ(counters.ungrouped, 0u);
    EXPECT_EQ(counters.unsent, 0u);
    EXPECT_NE(cluster.carrier(0).describe(cluster.membership(0)).find("127.0.0.1, packets of 8972"),
              std::string::npos);
}

TEST(Carrier, SmallPackets) {
    ClusterParams params = on_port(20'102, 3);
    params.udp.packet_bytes_max = 1472;
    params.wakes_by_pipe = true;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    EXPECT_EQ(exchange(cluster, 0, 300), "");
}

TEST(Carrier, SmallReceiveBuffers) {
    ClusterParams params = on_port(20'115);
    params.udp.packet_bytes_max = 1472;
    params.udp.receive_buffer_bytes = 60'000;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    EXPECT_LT(cluster.carrier(0).counters().receive_buffer_bytes, 200'000u);
    EXPECT_EQ(exchange(cluster, 0, 300), "");
}

TEST(Carrier, WithoutAThread) {
    ClusterParams params = on_port(20'103);
    params.carrier.has_thread = false;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    ASSERT_TRUE(cluster.probe());
    EXPECT_TRUE(cluster.carrier(0).probe_state(cluster.membership(0)).all_hear_all);
    EXPECT_EQ(exchange(cluster, 0, 300), "");
    EXPECT_EQ(cluster.carrier(0).counters().wakeups, 0u);
}

TEST(Carrier, Ipv6) {
    ClusterParams params = on_port(20'104);
    params.address = "ff15::77";
    params.udp.family = udp::Family::kIpv6;
    Cluster cluster(params);
    const std::string error = cluster.open();
    // It takes an interface beside loopback.
    const bool has_none = error.find("IPv6") != std::string::npos ||
                          error.find("cannot multicast") != std::string::npos;
    if (has_none) GTEST_SKIP() << error;
    ASSERT_EQ(error, "");
    ASSERT_TRUE(cluster.probe());
    EXPECT_TRUE(cluster.carrier(1).probe_state(cluster.membership(1)).all_hear_all);
    EXPECT_EQ(exchange(cluster, 0, 100), "");
}

TEST(Carrier, LossesAreRepaired) {
    ClusterParams params = on_port(20'105);
    params.udp.packet_bytes_max = 1472;
    params.carrier.faults = {50'000, 10'000, 8, 7};
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    EXPECT_EQ(exchange(cluster, 0, 400), "");
    uint64_t repaired = 0;
    for (uint32_t i = 0; i < cluster.size(); ++i) {
        repaired += cluster.carrier(i).group_counters(cluster.membership(i)).received.repaired;
        EXPECT_GT(cluster.carrier(i).counters().faults, 0u);
    }
    EXPECT_GT(repaired, 0u);
}

TEST(Carrier, ProbesTellRatesAndRoundTrips) {
    Cluster cluster(on_port(20'106));
    ASSERT_EQ(cluster.open(), "");
    ASSERT_TRUE(cluster.probe());
    for (uint32_t i = 0; i < cluster.size(); ++i) {
        const ProbeState state = cluster.carrier(i).probe_state(cluster.membership(i));
        EXPECT_TRUE(state.all_hear_all);
        EXPECT_EQ(state.deaf, mcast::kNobody);
        EXPECT_EQ(state.heard, 4u);
        EXPECT_EQ(state.bytes_per_s > 0, i > 0) << "host " << i;
        EXPECT_GT(state.round_trip_ns_max, 0u);
        EXPECT_LE(state.round_trip_ns_min, state.round_trip_ns_max);
        cluster.carrier(i).set_rate(cluster.membership(i), 100'000'000);
    }
    EXPECT_EQ(exchange(cluster, 0, 50), "");
}

// As behind a switch that drops multicast: the probe ends and names the host.
TEST(Carrier, ProbesNameTheDeaf) {
    ClusterParams params = on_port(20'107);
    params.deaf_host = 2;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    ASSERT_TRUE(cluster.probe());
    const ProbeState deaf = cluster.carrier(2).probe_state(cluster.membership(2));
    EXPECT_FALSE(deaf.all_hear_all);
    EXPECT_EQ(deaf.deaf, 2u);
    EXPECT_EQ(deaf.unheard, 0u);
    EXPECT_EQ(deaf.heard, 1u);
    EXPECT_EQ(deaf.bytes_per_s, 0u);
    const ProbeState other = cluster.carrier(1).probe_state(cluster.membership(1));
    EXPECT_FALSE(other.all_hear_all);
    EXPECT_EQ(other.deaf, 1u);
    EXPECT_EQ(other.unheard, 2u);
    for (uint32_t i = 0; i < cluster.size(); ++i) cluster.carrier(i).drop(cluster.membership(i));
    EXPECT_EQ(cluster.carrier(0).lingering(), 0u);
}

// Asleep until something happens: an idle group makes no wake-ups.
TEST(Carrier, IdleIsAsleep) {
    Cluster cluster(on_port(20'108));
    ASSERT_EQ(cluster.open(), "");
    ASSERT_TRUE(cluster.probe());
    ASSERT_EQ(exchange(cluster, 0, 50), "");
    const auto wakeups = [&] {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < cluster.size(); ++i) sum += cluster.carrier(i).counters().wakeups;
        return sum;
    };
    EXPECT_GT(wakeups(), 0u);
    // Somebody attends, and not again.
    Sleeper sleeper(cluster.bell(0));
    cluster.carrier(0).attend(cluster.membership(0), sleeper, after_ns(1'000'000));
    // The last acknowledgements take their time; then nothing comes for ten times as long as
    // anything of the protocol that repeats.
    uint64_t before = 0;
    EXPECT_TRUE(eventually([&] {
        before = wakeups();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        return wakeups() == before;
    }));
    EXPECT_EQ(exchange(cluster, 50, 50), "");
}

// The ranks of the hosts take turns as senders, and sleep in their threads' stead while they wait.
std::string attend_all(Cluster& cluster, uint64_t first, uint32_t count) {
    std::vector<std::string> errors(cluster.size());
    const auto run = [&](uint32_t host) {
        Route& route = cluster.route(host);
        for (uint64_t number = first; number < first + count; ++number) {
            const auto sender = static_cast<uint32_t>(number % cluster.size());
            std::vector<std::byte> data = message_of(number);
            Ticket ticket;
            if (sender == host) {
                route.multicast(number, data.data(), data.size(), ticket);
            } else {
                std::fill(data.begin(), data.end(), std::byte{0xee});
                route.recv_multicast(number, sender, data.data(), data.size(), ticket);
            }
            while (route.test(ticket) == State::kPending) {
                Sleeper sleeper(cluster.bell(host));
                if (route.test(ticket) != State::kPending) break;
                cluster.carrier(host).attend(cluster.membership(host), sleeper,
                                             after_ns(kLongSleepNs));
            }
            if (ticket.state == State::kDone && data == message_of(number)) continue;
            errors[host] = "host " + std::to_string(host) + ", number " + std::to_string(number);
            return;
        }
    };
    test::run_threads(cluster.size(), run);
    for (const std::string& error : errors) {
        if (!error.empty()) return error;
    }
    return "";
}

// A wake that is lost costs a sleep of nearly a second: with one in ten lost this does not end in
// the time that a test has.
TEST(Carrier, RanksThatWaitAttend) {
    for (const bool by_pipe : {false, true}) {
        ClusterParams params = on_port(20'116, 3);
        params.wakes_by_pipe = by_pipe;
        params.udp.packet_bytes_max = 1472;
        Cluster cluster(params);
        ASSERT_EQ(cluster.open(), "");
        EXPECT_EQ(attend_all(cluster, 0, 6'000), "");
        // Nobody attends any more: the threads are back.
        EXPECT_EQ(exchange(cluster, 6'000, 60), "");
    }
}

// Timers run out in the sleep of whoever attends.
TEST(Carrier, RanksThatAttendRepair) {
    ClusterParams params = on_port(20'117, 3);
    params.udp.packet_bytes_max = 1472;
    params.carrier.faults = {50'000, 10'000, 8, 7};
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    EXPECT_EQ(attend_all(cluster, 0, 300), "");
    EXPECT_GT(cluster.carrier(0).group_counters(cluster.membership(0)).received.repaired, 0u);
}

// The other host does nothing; this one looks so seldom that the group, given up, has failed before
// all probes are sent.
TEST(Carrier, AProbeEndsWithItsGroup) {
    ClusterParams params = on_port(20'119, 2);
    params.carrier.has_thread = false;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    Carrier& one = cluster.carrier(0);
    Membership* const membership = cluster.membership(0);
    one.start_probe(membership);
    membership->group().give_up(Service::now_ns(), 1);
    EXPECT_TRUE(eventually([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        one.poll();
        return one.failure(membership).has_value();
    }));
    EXPECT_TRUE(one.probe_state(membership).is_done);
    EXPECT_FALSE(one.probe_state(membership).all_hear_all);
}

TEST(Carrier, SeveralGroupsShareTheSockets) {
    Cluster one(on_port(20'109, 2));
    ASSERT_EQ(one.open(), "");
    // A second group of the same carriers, under the same address.
    const std::vector<Address> members{one.carrier(0).address(), one.carrier(1).address()};
    class Quiet : public Client {
      public:
        [[nodiscard]] bool may_come(const mcast::Data&) const override { return true; }
        void advance(uint64_t) override {}
        [[nodiscard]] bool has_left() const override { return false; }
        void end() override {}
        bool may_sleep() override { return true; }
        void wake_for_all() override {}
        void wake_up() override {}
    };
    std::vector<Membership*> second;
    for (mcast::Member i = 0; i < 2; ++i) {
        JoinParams join;
        join.group_address = udp::parse_group_address("239.192.77.1").value();
        join.group = 78;
        join.key = random_key().value();
        join.member = i;
        join.members = members;
        join.make_client = [](mcast::Group&) { return std::make_unique<Quiet>(); };
        const auto joined = one.carrier(i).join(join);
        ASSERT_TRUE(joined) << joined.error().message;
        second.push_back(joined.value());
        const auto again = one.carrier(i).join(join);
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().message, "multicast: the group is there already");
    }
    EXPECT_EQ(exchange(one, 0, 50), "");
    for (uint32_t i = 0; i < 2; ++i) one.carrier(i).drop(second[i]);
    EXPECT_EQ(exchange(one, 50, 50), "") << "the address is still joined";
}

TEST(Carrier, GroupsAreBounded) {
    ClusterParams params = on_port(20'110, 2);
    params.carrier.groups_max = 0;
    Cluster cluster(params);
    EXPECT_NE(cluster.open().find("0 groups are there already (TUTTI_MCAST_TEAMS)"),
              std::string::npos);
}

// A group that all have left makes room for the next one, though it still answers for a second.
TEST(Carrier, AGroupThatIsDoneMakesRoom) {
    ClusterParams params = on_port(20'115, 2);
    params.carrier.groups_max = 1;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    ASSERT_EQ(exchange(cluster, 0, 10), "");
    cluster.leave();
    for (uint32_t group = 1; group <= 3; ++group) {
        EXPECT_TRUE(cluster.wait([&] { return cluster.join_again(params.group + group).empty(); }))
            << group;
        EXPECT_EQ(exchange(cluster, 0, 10), "");
        for (uint32_t i = 0; i < cluster.size(); ++i) {
            EXPECT_EQ(cluster.carrier(i).lingering(), 0u) << "it went to make room";
        }
        cluster.leave();
    }
}

// The last that ranks have sent before they left: the service was not woken for it yet, or its
// window has no room.
TEST(Carrier, WhatWasSentBeforeLeavingArrives) {
    for (const uint64_t count : {1, 60}) {
        ClusterParams params = on_port(20'118, 2);
        params.udp.packet_bytes_max = 1472;
        Cluster cluster(params);
        ASSERT_EQ(cluster.open(), "");
        const std::vector<std::byte> data(kMulticastBytesMax, std::byte{7});
        for (uint64_t number = 0; number < count; ++number) {
            ASSERT_EQ(cluster.ring(0).fill(number, 0, data.data(), data.size()), Ring::Fill::kDone);
        }
        cluster.leave(0);
        for (uint64_t number = 0; number < count; ++number) {
            ASSERT_TRUE(eventually([&] { return cluster.ring(1).has(number); })) << number;
        }
        EXPECT_TRUE(eventually([&] { return cluster.carrier(0).lingering() == 1; }));
        EXPECT_FALSE(cluster.ring(0).is_ended());
    }
}

// Who leaves first stays as long as the others need it, whatever is lost.
TEST(Carrier, LeavesWhenNobodyNeedsIt) {
    ClusterParams params = on_port(20'111);
    params.udp.packet_bytes_max = 1472;
    params.carrier.faults = {200'000, 0, 0, 3};
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    ASSERT_EQ(exchange(cluster, 0, 40), "");
    cluster.leave();
    for (uint32_t i = 0; i < cluster.size(); ++i) {
        EXPECT_TRUE(cluster.wait([&] { return cluster.carrier(i).lingering() == 0; })) << i;
    }
}

// Hosts 0 and 1 have freed the team, and wait for nobody; then host 2 gives the group up. Their
// rings freeze, so their ranks can take their part in what follows.
TEST(Carrier, AGroupThatFailsFreezesTheRingsOfThoseWhoHaveLeft) {
    ClusterParams params = on_port(20'120, 3);
    params.carrier.has_thread = false;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    ASSERT_EQ(exchange(cluster, 0, 3), "");
    cluster.leave(0);
    cluster.leave(1);
    EXPECT_TRUE(cluster.wait(
        [&] { return cluster.carrier(0).lingering() + cluster.carrier(1).lingering() == 2; }));
    cluster.membership(2)->group().give_up(Service::now_ns(), 0);
    for (uint32_t host = 0; host < 3; ++host) {
        EXPECT_TRUE(cluster.wait([&] { return cluster.ring(host).is_frozen(); })) << host;
        EXPECT_FALSE(cluster.ring(host).is_ended()) << host;
    }
    for (const uint32_t host : {0, 1}) {
        EXPECT_TRUE(cluster.wait([&] { return cluster.is_ring_free(host); })) << host;
        EXPECT_EQ(cluster.carrier(host).lingering(), 0u);
    }
    EXPECT_FALSE(cluster.is_ring_free(2)) << "its rank has not left";
    cluster.leave(2);
    EXPECT_TRUE(cluster.wait([&] { return cluster.is_ring_free(2); }));
}

// All have left, but host 2 gave the group up before it could say bye. It hears the others' byes;
// they never hear its own, so they need its ranks as it needs theirs.
TEST(Carrier, WhoCannotSayByeFreezesItsRingLikeTheOthers) {
    ClusterParams params = on_port(20'122, 3);
    params.carrier.has_thread = false;
    Cluster cluster(params);
    ASSERT_EQ(cluster.open(), "");
    ASSERT_EQ(exchange(cluster, 0, 3), "");
    // Hosts 0 and 1 say bye in their next turns, which come before the one of host 2.
    for (uint32_t host = 0; host < 3; ++host) cluster.leave(host);
    cluster.membership(2)->group().give_up(Service::now_ns(), 0);
    for (uint32_t host = 0; host < 3; ++host) {
        EXPECT_TRUE(cluster.wait([&] { return cluster.is_ring_free(host); })) << host;
        EXPECT_TRUE(cluster.ring(host).is_frozen()) << host;
        EXPECT_FALSE(cluster.ring(host).is_ended()) << host;
        EXPECT_EQ(cluster.carrier(host).lingering(), 0u) << host;
    }
}

TEST(Carrier, BadInterfaces) {
    udp::DatagramsParams params;
    params.port = own_port(20'112);
    params.interface = "no-such-0";
    const auto opened = udp::open_datagrams(params);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message.find("no network interface is 'no-such-0'"), 0u);
}

// The thread leaves signals to the program's own.
TEST(Carrier, ThreadBlocksSignals) {
    udp::DatagramsParams params;
    params.port = own_port(20'113);
    const auto opened = open_carrier({}, params);
    ASSERT_TRUE(opened) << opened.error().message;
    uint32_t found = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name != "tutti-mcast") continue;
        ++found;
        std::ifstream status(task.path() / "status");
        std::string line;
        while (std::getline(status, line) && line.rfind("SigBlk:", 0) != 0) continue;
        const uint64_t blocked =
            std::stoull(line.substr(line.find_last_of(" \t") + 1), nullptr, 16);
        for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF}) {
            EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << "signal " << signal;
        }
    }
    EXPECT_EQ(found, 1u);
}

// A child process has no thread, and what it ends must not end the parent's groups.
TEST(Carrier, ForkLeavesTheParentAlone) {
    auto cluster = std::make_unique<Cluster>(on_port(20'114, 2));
    ASSERT_EQ(cluster->open(), "");
    ASSERT_EQ(exchange(*cluster, 0, 20), "");
    const pid_t child = fork();
    if (child == 0) {
        cluster.reset();
        _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(exchange(*cluster, 20, 20), "");
}

}  // namespace
}  // namespace tutti::transport::carrier
