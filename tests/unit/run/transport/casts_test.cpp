// SPDX-License-Identifier: BSD-3-Clause
// Multicasts in a simulated world. Times are exact: each test derives its own.
#include "run/transport/sim/casts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>

namespace tutti::transport::sim {
namespace {

constexpr size_t kKilobyte = 1000;
// A kilobyte from a host's memory to a rank: 8 GB/s, and 300 ns.
constexpr uint64_t kMemory = 125 + 300;

// One process on every host and one team of all, unless told otherwise. 8 Gbit/s: a byte takes a
// nanosecond on any link.
struct Bench {
    explicit Bench(Cluster wanted, Weather weather = {}, std::vector<uint32_t> hosts = {})
        : cluster(std::move(wanted)) {
        cluster.fabric.host_bits_per_s = cluster.fabric.trunk_bits_per_s = 8'000'000'000;
        const auto count =
            static_cast<uint32_t>(hosts.empty() ? cluster.fabric.hosts() : hosts.size());
        for (uint32_t rank = 0; rank < count; ++rank) ranks.push_back(rank);
        world = std::make_unique<World>(cluster, hosts.empty() ? ranks : hosts, weather);
        team = world->add_team(ranks);
    }
    Ticket& send(Rank from, uint64_t number, size_t bytes = kKilobyte) {
        Ticket& ticket = tickets.emplace_back();
        world->multicast_endpoint(team, from).multicast(number, memory.data(), bytes, ticket);
        return ticket;
    }
    Ticket& recv(Rank to, uint64_t number, Rank from, size_t bytes = kKilobyte) {
        Ticket& ticket = tickets.emplace_back();
        Multicast& end = world->multicast_endpoint(team, to);
        end.recv_multicast(number, from, memory.data(), bytes, ticket);
        return ticket;
    }
    // The time at which the ticket completes.
    uint64_t time_of(const Ticket& ticket) {
        while (ticket.state == State::kPending && world->next()) {
        }
        EXPECT_EQ(ticket.state, State::kDone);
        return world->now_ns();
    }
    // Those that carried anything.
    [[nodiscard]] std::set<uint32_t> busy_links() const {
        std::set<uint32_t> links;
        for (uint32_t link = 0; link < cluster.fabric.links(); ++link) {
            if (world->link_traffic(link).messages > 0) links.insert(link);
        }
        return links;
    }

    Cluster cluster;
    std::vector<uint32_t> ranks;
    std::unique_ptr<World> world;
    uint32_t team = 0;
    std::deque<Ticket> tickets;
    std::array<std::byte, 100 * kKilobyte> memory{};
};

TEST(Casts, OneUplinkAllDownlinks) {
    Bench bench(Cluster::one_switch(4));
    const Ticket& sent = bench.send(1, 0);
    std::vector<const Ticket*> got;
    for (const Rank rank : {0u, 2u, 3u}) got.push_back(&bench.recv(rank, 0, 1));
    EXPECT_EQ(bench.world->under_way(), 1u);
    EXPECT_EQ(bench.time_of(sent), 1000u) << "the last byte has left";
    for (const Ticket* one : got) EXPECT_EQ(bench.time_of(*one), 1000u + 1000u + kMemory);
    EXPECT_EQ(bench.busy_links(), (std::set<uint32_t>{2, 1, 5, 7}));
    for (const uint32_t link : bench.busy_links()) {
        EXPECT_EQ(bench.world->link_traffic(link).bytes, kKilobyte);
    }
    EXPECT_EQ(bench.world->multicast_traffic().messages, 1u);
    EXPECT_EQ(bench.world->multicast_traffic().bytes, kKilobyte);
    EXPECT_EQ(bench.world->network_traffic().messages, 0u);
    EXPECT_EQ(bench.world->under_way(), 0u);
}

// A told latency is that of few bytes up to the ranks of other hosts; those of the sender's own
// have them from memory, and the sender is done when they have left.
TEST(Casts, TakeTheLatencyThatIsTold) {
    for (const uint64_t told : {uint64_t{0}, uint64_t{1299}, uint64_t{1300}, uint64_t{5000}}) {
        Cluster cluster = Cluster::one_switch(2);
        cluster.multicast_latency_ns = told;
        Bench bench(cluster, {}, {0, 0, 1});
        const Ticket& sent = bench.send(0, 0);
        const Ticket& beside = bench.recv(1, 0, 0);
        const Ticket& there = bench.recv(2, 0, 0);
        EXPECT_EQ(bench.time_of(beside), kMemory);
        EXPECT_EQ(bench.time_of(sent), 1000u);
        EXPECT_EQ(bench.time_of(there), 1000 + 125 + std::max(told, uint64_t{1300}));
    }
}

// Hosts 0 1 | 2 3 | 4 on leaves under one switch: each link of the tree once, four of them, and so
// twice the latency, to other leaves.
TEST(Casts, LeavesShareTheTrunk) {
    Bench bench(Cluster::leaves(std::vector<uint32_t>{2, 2, 1}));
    bench.send(0, 0);
    std::vector<const Ticket*> got;
    for (const Rank rank : {1u, 2u, 3u, 4u}) got.push_back(&bench.recv(rank, 0, 0));
    EXPECT_EQ(bench.time_of(*got[0]), 2000u + kMemory);
    for (int i = 1; i < 4; ++i) EXPECT_EQ(bench.time_of(*got[i]), 3000u + kMemory);
    const uint32_t leaf = 2 * 5;  // the uplink of the first leaf
    EXPECT_EQ(bench.busy_links(), (std::set<uint32_t>{0, 3, 5, 7, 9, leaf, leaf + 3, leaf + 5}));
    for (const uint32_t link : bench.busy_links()) {
        EXPECT_EQ(bench.world->link_traffic(link).messages, 1u);
    }
}

// Teams load only the part of the network that has members.
TEST(Casts, StayBelowTheirTopSwitch) {
    const Cluster cluster = Cluster::leaves(std::vector<uint32_t>{3, 2, 1});
    const uint32_t leaf = 2 * 6;
    Bench bench(cluster);
    bench.team = bench.world->add_team(std::array<uint32_t, 2>{0, 2});
    bench.send(1, 0);
    EXPECT_EQ(bench.time_of(bench.recv(0, 0, 1)), 2000u + kMemory);
    EXPECT_EQ(bench.busy_links(), (std::set<uint32_t>{4, 1}));
    Bench wider(cluster);
    wider.team = wider.world->add_team(std::array<uint32_t, 3>{5, 0, 2});
    wider.send(0, 0);
    wider.recv(1, 0, 0);
    EXPECT_EQ(wider.time_of(wider.recv(2, 0, 0)), 3000u + kMemory);
    EXPECT_EQ(wider.busy_links(), (std::set<uint32_t>{10, leaf + 4, leaf + 1, 1, 5}));
}

// Three levels: leaves 0 and 1 below switch 4, leaves 2 and 3 below 5, these below 6.
TEST(Casts, ClimbAsFarAsTheyMust) {
    Cluster cluster;
    cluster.fabric.parent_of_switch = {4, 4, 5, 5, 6, 6, topo::kNoSwitch};
    cluster.fabric.switch_of_host = {0, 1, 2, 3};
    const auto up = [](uint32_t at) { return 2 * (4 + at); };
    Bench bench(cluster);
    bench.team = bench.world->add_team(std::array<uint32_t, 2>{1, 0});
    bench.send(0, 0);
    EXPECT_EQ(bench.time_of(bench.recv(1, 0, 0)), 3000u + kMemory);
    EXPECT_EQ(bench.busy_links(), (std::set<uint32_t>{2, up(1), up(0) + 1, 1}));
    Bench all(cluster);
    all.send(3, 0);
    for (const Rank rank : {0u, 1u}) all.recv(rank, 0, 3);
    EXPECT_EQ(all.time_of(all.recv(2, 0, 3)), 3000u + kMemory);
    while (all.world->next()) {
    }
    EXPECT_EQ(all.world->now_ns(), 4000u + kMemory);
    EXPECT_EQ(all.busy_links(), (std::set<uint32_t>{6, up(3), up(5), up(4) + 1, up(0) + 1,
                                                    up(1) + 1, up(2) + 1, 1, 3, 5}));
}

// A downlink carries a message and a multicast one after the other.
TEST(Casts, ShareLinksWithMessages) {
    Bench bench(Cluster::one_switch(3));
    bench.world->endpoint(0, 0).send(2, {}, bench.memory.data(), 3000,
                                     bench.tickets.emplace_back());
    bench.send(1, 0);
    const Ticket& free = bench.recv(0, 0, 1);
    const Ticket& shared = bench.recv(2, 0, 1);
    EXPECT_EQ(bench.time_of(free), 2000u + kMemory);
    EXPECT_EQ(bench.time_of(shared), 1000u + 3000u + 1000u + kMemory);
}

// Ranks of one host are served one delivery, by memory; those beside the sender by memory alone.
TEST(Casts, HostsKeepTheirOwn) {
    Bench bench(Cluster::one_switch(2), Weather{}, {0, 1, 0, 1});
    bench.send(0, 0);
    const Ticket& beside = bench.recv(2, 0, 0);
    const Ticket& first = bench.recv(1, 0, 0);
    const Ticket& second = bench.recv(3, 0, 0);
    EXPECT_EQ(bench.time_of(beside), kMemory);
    EXPECT_EQ(bench.time_of(first), 2000u + kMemory);
    EXPECT_EQ(bench.time_of(second), 2000u + kMemory);
    EXPECT_EQ(bench.busy_links(), (std::set<uint32_t>{0, 3}));
    EXPECT_EQ(bench.world->link_traffic(3).messages, 1u);
    Bench alone(Cluster::one_switch(1), Weather{}, {0, 0});
    const Ticket& sent = alone.send(1, 0);
    EXPECT_EQ(alone.time_of(sent), 125u) << "copied";
    EXPECT_EQ(alone.time_of(alone.recv(0, 0, 1)), kMemory);
}

// A team of one sends to nobody.
TEST(Casts, OneRankAlone) {
    Bench bench(Cluster::one_switch(1));
    EXPECT_EQ(bench.time_of(bench.send(0, 0)), 125u);
    EXPECT_EQ(bench.time_of(bench.send(0, 1, 0)), 125u);
    EXPECT_EQ(bench.world->under_way(), 0u);
}

// With two slots the third waits until the slowest rank has the first.
TEST(Casts, SlowRanksHoldTheRingUp) {
    Cluster cluster = Cluster::one_switch(3);
    cluster.multicast_slots = 2;
    Bench bench(cluster);
    std::vector<const Ticket*> sent;
    for (uint64_t number = 0; number < 4; ++number) {
        sent.push_back(&bench.send(0, number));
        bench.recv(1, number, 0);
    }
    while (bench.world->next()) {
    }
    EXPECT_EQ(sent[1]->state, State::kDone);
    EXPECT_EQ(sent[2]->state, State::kPending);
    EXPECT_EQ(bench.world->under_way(), 4u);
    bench.world->wake(2, 50'000);
    bench.world->next();
    EXPECT_EQ(bench.recv(2, 0, 0).state, State::kDone) << "it was there";
    EXPECT_EQ(bench.time_of(*sent[2]), 51'000u);
    while (bench.world->next()) {
    }
    EXPECT_EQ(sent[3]->state, State::kPending);
    for (uint64_t number = 1; number < 4; ++number) bench.recv(2, number, 0);
    while (bench.world->next()) {
    }
    EXPECT_EQ(sent[3]->state, State::kDone);
    EXPECT_EQ(bench.world->under_way(), 0u);
}

// A long one sets out when the last receive is known to the sender, one latency after it.
TEST(Casts, LongOnesWaitForAllReceives) {
    Cluster cluster = Cluster::one_switch(3);
    cluster.eager_bytes_max = kKilobyte - 1;
    Bench bench(cluster);
    const Ticket& sent = bench.send(0, 0);
    bench.recv(1, 0, 0);
    EXPECT_FALSE(bench.world->next());
    EXPECT_EQ(sent.state, State::kPending);
    bench.world->work(2, 5000);
    const Ticket& got = bench.recv(2, 0, 0);
    EXPECT_EQ(bench.time_of(sent), 5000u + 1000u + 1000u);
    EXPECT_EQ(bench.time_of(got), 5000u + 1000u + 2000u + kMemory);
}

TEST(Casts, WrongReceivesFail) {
    Bench bench(Cluster::one_switch(3));
    const Ticket& sent = bench.send(0, 0, 20);
    const Ticket& shorter = bench.recv(1, 0, 0, 10);
    const Ticket& other = bench.recv(2, 0, 1, 20);
    while (bench.world->next()) {
    }
    EXPECT_EQ(sent.state, State::kDone);
    EXPECT_EQ(shorter.state, State::kFailed);
    EXPECT_EQ(other.state, State::kFailed);
    EXPECT_EQ(bench.world->multicast_endpoint(bench.team, 1).error(),
              "multicast 0 of 20 bytes from rank 0 met a receive of 10 bytes from rank 0");
    EXPECT_EQ(bench.world->multicast_endpoint(bench.team, 2).error(),
              "multicast 0 of 20 bytes from rank 0 met a receive of 20 bytes from rank 1");
}

// Early readers and early writers are found out.
TEST(Casts, PoisonWhatIsNotThereYet) {
    Bench bench(Cluster::one_switch(2), Weather{.poisons = true});
    std::byte from{1};
    std::byte to{2};
    Ticket sent;
    Ticket got;
    bench.world->multicast_endpoint(bench.team, 1).recv_multicast(0, 0, &to, 1, got);
    EXPECT_EQ(to, std::byte{0xEE});
    bench.world->multicast_endpoint(bench.team, 0).multicast(0, &from, 1, sent);
    from = std::byte{3};
    bench.time_of(sent);
    from = std::byte{4};
    bench.time_of(got);
    EXPECT_EQ(to, std::byte{3}) << "read when it left, not when it was posted, nor later";
}

// When 16 multicasts complete on two ranks.
std::vector<uint64_t> times_in(const Weather& weather) {
    Bench bench(Cluster::one_switch(3), weather);
    std::vector<const Ticket*> got;
    for (uint32_t i = 0; i < 16; ++i) {
        bench.send(0, i, 8);
        for (const Rank rank : {1u, 2u}) got.push_back(&bench.recv(rank, i, 0, 8));
    }
    std::vector<uint64_t> times(got.size());
    do {
        for (size_t i = 0; i < got.size(); ++i) {
            if (got[i]->state == State::kDone && times[i] == 0) times[i] = bench.world->now_ns();
        }
    } while (bench.world->next());
    return times;
}

TEST(Casts, SeedsChooseDelaysPerRank) {
    const Weather storm{.seed = 5, .delay_ns_max = 10'000, .shuffles = true};
    const std::vector<uint64_t> calm = times_in({});
    EXPECT_TRUE(std::is_sorted(calm.begin(), calm.end()));
    for (size_t i = 0; i < calm.size(); i += 2) EXPECT_EQ(calm[i], calm[i + 1]);
    const std::vector<uint64_t> stormy = times_in(storm);
    EXPECT_EQ(times_in(storm), stormy);
    EXPECT_FALSE(std::is_sorted(stormy.begin(), stormy.end()));
    EXPECT_NE(stormy[0], stormy[1]);
    Weather other = storm;
    other.seed = 6;
    EXPECT_NE(times_in(other), stormy);
}

}  // namespace
}  // namespace tutti::transport::sim
