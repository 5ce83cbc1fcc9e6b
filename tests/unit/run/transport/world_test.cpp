// SPDX-License-Identifier: BSD-3-Clause
// Times are exact: each test derives its own.
#include "run/transport/sim/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

namespace tutti::transport::sim {
namespace {

constexpr size_t kKilobyte = 1000;

// One process on every host and one team of all. 8 Gbit/s: a byte takes a nanosecond.
struct Bench {
    explicit Bench(Cluster wanted, Weather weather = {}, std::vector<uint32_t> hosts = {})
        : cluster(std::move(wanted)) {
        cluster.fabric.host_bits_per_s = 8'000'000'000;
        const auto count =
            static_cast<uint32_t>(hosts.empty() ? cluster.fabric.hosts() : hosts.size());
        for (uint32_t rank = 0; rank < count; ++rank) ranks.push_back(rank);
        world = std::make_unique<World>(cluster, hosts.empty() ? ranks : hosts, weather);
        team = world->add_team(ranks);
    }
    Ticket& send(Rank from, Rank to, uint32_t message, size_t bytes = kKilobyte) {
        world->endpoint(team, from)
            .send(to, {0, 0, 0, message}, memory.data(), bytes, tickets.emplace_back());
        return tickets.back();
    }
    Ticket& recv(Rank from, Rank to, uint32_t message, size_t bytes = kKilobyte) {
        world->endpoint(team, to).recv(from, {0, 0, 0, message}, memory.data(), bytes,
                                       tickets.emplace_back());
        return tickets.back();
    }
    // The time at which the ticket completes.
    uint64_t time_of(const Ticket& ticket) {
        while (ticket.state == State::kPending && world->next()) {
        }
        EXPECT_EQ(ticket.state, State::kDone);
        return world->now_ns();
    }

    Cluster cluster;
    std::vector<uint32_t> ranks;
    std::unique_ptr<World> world;
    uint32_t team = 0;
    std::deque<Ticket> tickets;
    std::array<std::byte, 100 * kKilobyte> memory{};
};

TEST(World, LatencyAndBytes) {
    Bench bench(Cluster::one_switch(2));
    const Ticket& got = bench.recv(0, 1, 0);
    const Ticket& sent = bench.send(0, 1, 0);
    EXPECT_EQ(bench.time_of(sent), 1000u) << "the last byte has left";
    EXPECT_EQ(bench.time_of(got), 1000u + 1000u);
    EXPECT_EQ(bench.world->network_traffic().bytes, kKilobyte);
    EXPECT_EQ(bench.world->link_traffic(0).bytes, kKilobyte);
    EXPECT_EQ(bench.world->link_traffic(3).bytes, kKilobyte);
    EXPECT_EQ(bench.world->link_traffic(1).bytes, 0u);
    EXPECT_EQ(bench.world->sent(bench.team, 0).messages, 1u);
    EXPECT_EQ(bench.world->sent(bench.team, 1).messages, 0u);
    EXPECT_EQ(bench.world->under_way(), 0u);
}

// Both uplinks are free at once; the downlink carries one after the other.
TEST(World, ADownlinkIsShared) {
    Bench bench(Cluster::one_switch(3));
    const Ticket& first = bench.recv(0, 2, 0);
    const Ticket& second = bench.recv(1, 2, 0);
    bench.send(0, 2, 0);
    bench.send(1, 2, 0);
    EXPECT_EQ(bench.time_of(first), 2000u);
    EXPECT_EQ(bench.time_of(second), 3000u);
}

// Each direction of each link has the whole rate.
TEST(World, LinksAreFullDuplex) {
    Bench bench(Cluster::one_switch(2));
    const Ticket& there = bench.recv(0, 1, 0);
    const Ticket& back = bench.recv(1, 0, 0);
    bench.send(0, 1, 0);
    bench.send(1, 0, 0);
    EXPECT_EQ(bench.time_of(there), 2000u);
    EXPECT_EQ(bench.time_of(back), 2000u);
}

// A message that still waits for its uplink does not keep others from the receiver's downlink.
TEST(World, NothingIsReservedAhead) {
    Bench bench(Cluster::one_switch(4));
    bench.send(0, 1, 0, 50 * kKilobyte);
    bench.send(0, 2, 0, 50 * kKilobyte);
    const Ticket& quick = bench.recv(3, 2, 0);
    bench.send(3, 2, 0);
    EXPECT_EQ(bench.time_of(quick), 2000u);
}

// Two leaves: four links and twice the latency; the trunk carries two messages one by one.
TEST(World, TrunksAreShared) {
    Cluster cluster = Cluster::leaves(std::vector<uint32_t>{2, 2});
    cluster.fabric.trunk_bits_per_s = 8'000'000'000;
    Bench bench(cluster);
    const Ticket& first = bench.recv(0, 2, 0);
    const Ticket& second = bench.recv(1, 3, 0);
    bench.send(0, 2, 0);
    bench.send(1, 3, 0);
    EXPECT_EQ(bench.time_of(first), 2000u + 1000u);
    EXPECT_EQ(bench.time_of(second), 2000u + 2000u);
}

// The slowest link on the way counts, and a fast one behind it is held until the tail has come.
TEST(World, TheSlowestLinkCounts) {
    Cluster cluster = Cluster::leaves(std::vector<uint32_t>{1, 1});
    cluster.fabric.trunk_bits_per_s = 800'000'000;
    Bench slow(cluster);
    const Ticket& got = slow.recv(0, 1, 0);
    slow.send(0, 1, 0);
    EXPECT_EQ(slow.time_of(got), 2000u + 10 * kKilobyte);
    cluster.fabric.trunk_bits_per_s = 80'000'000'000;
    Bench fast(cluster);
    const Ticket& got_fast = fast.recv(0, 1, 0);
    fast.send(0, 1, 0);
    EXPECT_EQ(fast.time_of(got_fast), 2000u + kKilobyte);
}

// A long message sets out when request (one latency) and answer (another) have passed; its send is
// complete when it is there.
TEST(World, LongMessagesWaitForTheirReceive) {
    Cluster cluster = Cluster::one_switch(2);
    cluster.eager_bytes_max = kKilobyte - 1;
    Bench bench(cluster);
    const Ticket& sent = bench.send(0, 1, 0);
    EXPECT_FALSE(bench.world->next()) << "only the request moves";
    EXPECT_EQ(bench.world->now_ns(), 1000u);
    EXPECT_EQ(sent.state, State::kPending);
    bench.world->work(1, 5000);
    const Ticket& got = bench.recv(0, 1, 0);
    EXPECT_EQ(bench.time_of(got), 6000u + 1000u + 2000u);
    EXPECT_EQ(sent.state, State::kDone);
    Bench early(cluster);
    const Ticket& asked = early.recv(0, 1, 0);
    early.send(0, 1, 0);
    EXPECT_EQ(early.time_of(asked), 2000u + 2000u);
}

TEST(World, HostsKeepTheirOwnMessages) {
    Bench bench(Cluster::one_switch(2), Weather{}, {0, 0, 1});
    const Ticket& got = bench.recv(0, 1, 0);
    bench.send(0, 1, 0);
    EXPECT_EQ(bench.time_of(got), 300u + 125u) << "8 GB/s";
    EXPECT_EQ(bench.world->network_traffic().messages, 0u);
    EXPECT_EQ(bench.world->memory_traffic().bytes, kKilobyte);
}

// What a process posts while it works goes out when it has come so far.
TEST(World, WorkComesBeforeWhatFollows) {
    Cluster cluster = Cluster::one_switch(2);
    cluster.overhead_ns = 100;
    Bench bench(cluster);
    bench.world->work(0, 400);
    bench.send(0, 1, 0);
    EXPECT_EQ(bench.world->time_of(0), 500u);
    const Ticket& got = bench.recv(0, 1, 0);
    EXPECT_EQ(bench.time_of(got), 500u + 2000u);
}

TEST(World, WakesEachProcessOnce) {
    Bench bench(Cluster::one_switch(2));
    bench.world->wake(0, 700);
    bench.world->wake(0, 300);
    bench.world->wake(0, 500);
    bench.world->wake(1, 400);
    EXPECT_EQ(bench.world->next(), 0u);
    EXPECT_EQ(bench.world->now_ns(), 300u);
    bench.world->work(1, 300);
    EXPECT_EQ(bench.world->next(), 1u) << "not while it works";
    EXPECT_EQ(bench.world->now_ns(), 600u);
    EXPECT_FALSE(bench.world->next());
}

TEST(World, WrongSizesFail) {
    Bench bench(Cluster::one_switch(2));
    const Ticket& got = bench.recv(0, 1, 0, 10);
    bench.send(0, 1, 0, 20);
    EXPECT_EQ(got.state, State::kFailed);
    EXPECT_EQ(bench.world->endpoint(bench.team, 1).error(),
              "a message of 20 bytes from rank 0 met a receive of 10 bytes");
}

// Early readers and early writers are found out.
TEST(World, PoisonsWhatIsNotThereYet) {
    Bench bench(Cluster::one_switch(2), Weather{.poisons = true});
    std::byte from{1};
    std::byte to{2};
    Ticket sent;
    Ticket got;
    bench.world->endpoint(bench.team, 1).recv(0, {}, &to, 1, got);
    EXPECT_EQ(to, std::byte{0xEE});
    bench.world->endpoint(bench.team, 0).send(1, {}, &from, 1, sent);
    from = std::byte{3};
    bench.time_of(got);
    EXPECT_EQ(to, std::byte{3}) << "read when it left, not when it was posted";
}

// When messages 0 to 15 from rank 0 to rank 1 complete.
std::vector<uint64_t> times_in(const Weather& weather) {
    Bench bench(Cluster::one_switch(2), weather);
    std::vector<const Ticket*> got;
    for (uint32_t i = 0; i < 16; ++i) {
        got.push_back(&bench.recv(0, 1, i, 8));
        bench.send(0, 1, i, 8);
    }
    std::vector<uint64_t> times(16);
    do {
        for (uint32_t i = 0; i < 16; ++i) {
            if (got[i]->state == State::kDone && times[i] == 0) times[i] = bench.world->now_ns();
        }
    } while (bench.world->next());
    return times;
}

TEST(World, SeedsChooseDelaysAndOrder) {
    const Weather storm{.seed = 5, .delay_ns_max = 10'000, .shuffles = true};
    const std::vector<uint64_t> calm = times_in({});
    EXPECT_TRUE(std::is_sorted(calm.begin(), calm.end()));
    EXPECT_EQ(times_in(storm), times_in(storm));
    EXPECT_FALSE(std::is_sorted(times_in(storm).begin(), times_in(storm).end()));
    Weather other = storm;
    other.seed = 6;
    EXPECT_NE(times_in(storm), times_in(other));
}

}  // namespace
}  // namespace tutti::transport::sim
