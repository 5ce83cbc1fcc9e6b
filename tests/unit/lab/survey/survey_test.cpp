// SPDX-License-Identifier: BSD-3-Clause
// Surveys of random networks: what is found is so, and what is narrow is found.
#include "lab/survey/survey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "base/prng.h"
#include "sim/seeds.h"
#include "unit/lab/survey/fluid_network.h"

namespace tutti::survey {
namespace {

using Verdict = Found::Verdict;

constexpr double kSpeed = 1.25;  // 10 Gbit/s in bytes per nanosecond

Found survey(const Network& network, uint64_t seed, const Limits& limits = {}) {
    Limits mine = limits;
    mine.seed = seed;
    Survey machine(network.hosts(), mine);
    Prng random(seed + 1000);
    while (const Experiment* experiment = machine.next()) {
        std::set<uint32_t> senders;
        std::set<uint32_t> receivers;
        for (const Transfer& who : experiment->transfers) {
            EXPECT_NE(who.from, who.to);
            EXPECT_TRUE(senders.insert(who.from).second);
            EXPECT_TRUE(receivers.insert(who.to).second);
            if (experiment->kind == Experiment::Kind::kRoundTrips) {
                EXPECT_EQ(receivers.count(who.from) + senders.count(who.to), 0u);
            }
        }
        machine.take(run(network, *experiment, random));
    }
    return machine.found();
}

// Two passes of n - 1 round trips, n / 2 pairs alone, three trials each; splits and exams, twice at
// most: O(n), and no more than a few dozen transfers a host.
uint32_t experiments_max(uint32_t hosts) {
    return 2 * hosts + 3 * (16 + hosts / 2) + 2 * (300 + 6 * hosts);
}

Network leaves(std::span<const uint32_t> hosts, double oversubscribed, double speed = kSpeed) {
    Network network;
    network.add_switch(Network::kNone, 0);
    for (const uint32_t count : hosts) {
        const uint32_t leaf = network.add_switch(0, count * speed / oversubscribed);
        network.add_hosts(leaf, count, speed);
    }
    return network;
}

// Leaves below a root, or below switches below it; each level with links as narrow as drawn.
Network random_network(Prng& random) {
    Network network;
    network.add_switch(Network::kNone, 0);
    const double leaf_factor = static_cast<double>(1u << random.below(4));
    const double pod_factor = static_cast<double>(1u << random.below(3));
    const uint32_t pods = 1 + static_cast<uint32_t>(random.below(2));
    const uint32_t leaves_of_pod = 1 + static_cast<uint32_t>(random.below(pods == 1 ? 4 : 2));
    const bool has_pods = pods > 1 && leaves_of_pod > 1;
    std::vector<uint32_t> counts;
    for (uint32_t i = 0; i < pods * leaves_of_pod; ++i) {
        counts.push_back(2 + static_cast<uint32_t>(random.below(15)));
    }
    for (uint32_t pod = 0; pod < pods; ++pod) {
        double below = 0;
        for (uint32_t i = 0; i < leaves_of_pod; ++i) {
            below += counts[pod * leaves_of_pod + i] * kSpeed / leaf_factor;
        }
        const uint32_t above = has_pods ? network.add_switch(0, below / pod_factor) : 0;
        for (uint32_t i = 0; i < leaves_of_pod; ++i) {
            const uint32_t count = counts[pod * leaves_of_pod + i];
            network.add_hosts(network.add_switch(above, count * kSpeed / leaf_factor), count,
                              kSpeed);
        }
    }
    network.shuffle_hosts(random);
    return network;
}

std::string told(const Network& network, const Found& found) {
    std::string text = found.reason + ", " + std::to_string(found.agreement_per_mille) + ":";
    for (uint32_t at = 0; at < network.parent.size(); ++at) {
        text += "\n  switch " + std::to_string(at) + " below " +
                std::to_string(static_cast<int>(network.parent[at])) + " crowded " +
                std::to_string(network.crowding(at));
    }
    for (uint32_t host = 0; host < network.hosts(); ++host) {
        text += "\n  host " + std::to_string(host) + " on " +
                std::to_string(network.switch_of[host]) + ", found on " +
                std::to_string(found.fabric.switch_of_host[host]) +
                (found.is_placed[host] ? "" : " (not sure)");
    }
    return text;
}

double narrowest(const Network& network, uint32_t one, uint32_t other) {
    double most = 0;
    for (const uint32_t at : network.way(one, other)) most = std::max(most, network.crowding(at));
    return most;
}

// Nobody is said to be apart who is not, nor together with whom a narrow link is between.
void expect_true(const Network& network, const Found& found) {
    if (found.verdict == Verdict::kCannotTell) return;
    for (uint32_t one = 0; one < network.hosts(); ++one) {
        for (uint32_t other = 0; other < one; ++other) {
            if (!found.is_placed[one] || !found.is_placed[other]) continue;
            const bool together =
                found.fabric.switch_of_host[one] == found.fabric.switch_of_host[other];
            if (together) {
                ASSERT_LT(narrowest(network, one, other), 1.9)
                    << one << " and " << other << ": " << told(network, found);
            } else {
                ASSERT_NE(network.switch_of[one], network.switch_of[other])
                    << one << " and " << other << ": " << told(network, found);
            }
        }
    }
}

void expect_bounded(const Network& network, const Found& found) {
    EXPECT_LE(found.experiments, experiments_max(network.hosts())) << told(network, found);
}

TEST(Survey, FindsWhatIsNarrowAndNothingElse) {
    const auto seeds = test::Seeds::wanted(60);
    uint32_t narrow = 0;
    uint32_t missed = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        Prng random(seed);
        const Network network = random_network(random);
        const Found found = survey(network, seed);
        expect_true(network, found);
        expect_bounded(network, found);
        double most = 0;
        for (uint32_t at = 1; at < network.parent.size(); ++at) {
            most = std::max(most, network.crowding(at));
        }
        if (most < 1.2) {
            EXPECT_NE(found.verdict, Verdict::kGroups) << told(network, found);
        } else if (most > 1.9) {
            ++narrow;
            missed += found.verdict != Verdict::kGroups ? 1 : 0;
        }
    }
    RecordProperty("narrow", static_cast<int>(narrow));
    RecordProperty("missed", static_cast<int>(missed));
    // Three levels with links narrower at each are beyond it now and then; it says so.
    EXPECT_LE(missed, 1 + narrow / 30) << "of " << narrow;
}

// Two levels: all leaves, and what their links carry. At 2:1 once in hundreds of seeds it is not
// believed, or a host is not placed.
TEST(Survey, FindsEveryLeaf) {
    const auto seeds = test::Seeds::wanted(30);
    uint32_t missed = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        Prng random(seed);
        const auto count = 2 + static_cast<uint32_t>(random.below(3));
        const auto hosts = 4 + static_cast<uint32_t>(random.below(13));
        const std::vector<uint32_t> counts(count, hosts);
        Network network = leaves(counts, static_cast<double>(2u << random.below(3)));
        network.shuffle_hosts(random);
        const Found found = survey(network, seed);
        expect_true(network, found);
        expect_bounded(network, found);
        if (found.verdict != Verdict::kGroups || found.fabric.switches() != count + 1) {
            ++missed;
            continue;
        }
        EXPECT_TRUE(found.is_by_load);
        // Times are up to 20 % longer than the model's.
        const auto speed = static_cast<double>(found.fabric.link_bits_per_s(0)) / 8e9;
        EXPECT_NEAR(speed / kSpeed, 0.91, 0.1);
        for (uint32_t at = 1; at <= count; ++at) {
            const uint32_t link = found.fabric.first_link(at);
            const auto up = static_cast<double>(found.fabric.link_bits_per_s(link)) / 8e9;
            EXPECT_NEAR(up / network.up_speed[1], 0.95, 0.2) << told(network, found);
        }
    }
    RecordProperty("missed", static_cast<int>(missed));
    EXPECT_LE(missed, 1 + seeds.count / 50);
}

TEST(Survey, LeavesOfTheLab) {
    for (const auto& counts : {std::vector<uint32_t>{4, 4, 4, 4}, std::vector<uint32_t>{8, 8}}) {
        Network network = leaves(counts, counts[0], 25e6 / 8e9);
        network.overhead_ns = 300'000;
        for (uint64_t seed = 1; seed <= 10; ++seed) {
            const Found found = survey(network, seed);
            ASSERT_EQ(found.verdict, Verdict::kGroups) << told(network, found);
            expect_true(network, found);
            EXPECT_EQ(found.fabric.switches(), counts.size() + 1);
            EXPECT_LE(found.transfer_bytes, 131072u);
            // Of virtual time.
            EXPECT_LT(found.longest_ns, 40'000'000'000u);
            if (seed > 1) continue;
            RecordProperty("experiments_" + std::to_string(counts.size()),
                           static_cast<int>(found.experiments));
            RecordProperty("ms_" + std::to_string(counts.size()),
                           static_cast<int>(found.longest_ns / 1'000'000));
        }
    }
}

// With full bisection bandwidth farther hosts are told by their round trips, if these are longer.
TEST(Survey, RoundTripsTellLeaves) {
    Prng random(1);
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        Network network = leaves(std::vector<uint32_t>{5, 9, 6}, 1);
        network.overhead_ns = 1000;
        network.hop_ns = 500;
        network.shuffle_hosts(random);
        const Found found = survey(network, seed);
        ASSERT_EQ(found.verdict, Verdict::kGroups) << told(network, found);
        EXPECT_TRUE(found.is_by_latency);
        EXPECT_FALSE(found.is_by_load);
        EXPECT_EQ(found.fabric.switches(), 4u);
        for (uint32_t host = 1; host < network.hosts(); ++host) {
            EXPECT_TRUE(found.is_placed[host]);
            EXPECT_EQ(network.switch_of[host] == network.switch_of[0],
                      found.fabric.switch_of_host[host] == found.fabric.switch_of_host[0]);
        }
        // One way over one switch, and what a link to the root adds; half as much noise as a median
        // has.
        EXPECT_NEAR(static_cast<double>(found.fabric.latency_ns), 2000 * 1.1, 100);
        EXPECT_NEAR(static_cast<double>(found.fabric.link_latency_ns(found.fabric.first_link(1))),
                    500 * 1.1, 100);
    }
}

// And within narrow links, too: leaves of two pods, of which only the pods are crowded.
TEST(Survey, RoundTripsTellLeavesOfPods) {
    Prng random(2);
    Network network;
    network.add_switch(Network::kNone, 0);
    for (uint32_t pod = 0; pod < 2; ++pod) {
        const uint32_t above = network.add_switch(0, 4 * kSpeed);
        for (uint32_t leaf = 0; leaf < 2; ++leaf) {
            network.add_hosts(network.add_switch(above, 6 * kSpeed), 6, kSpeed);
        }
    }
    network.overhead_ns = 1000;
    network.hop_ns = 500;
    network.shuffle_hosts(random);
    const Found found = survey(network, 1);
    ASSERT_EQ(found.verdict, Verdict::kGroups) << told(network, found);
    EXPECT_TRUE(found.is_by_latency && found.is_by_load);
    EXPECT_EQ(found.fabric.switches(), 7u) << told(network, found);
    for (uint32_t host = 1; host < network.hosts(); ++host) {
        EXPECT_EQ(network.switch_of[host] == network.switch_of[0],
                  found.fabric.switch_of_host[host] == found.fabric.switch_of_host[0]);
    }
}

TEST(Survey, FewHosts) {
    for (const uint32_t hosts : {1u, 2u, 3u}) {
        const Found found = survey(leaves(std::vector<uint32_t>{hosts}, 1), 1);
        EXPECT_EQ(found.verdict, Verdict::kOneSwitch) << hosts << found.reason;
        EXPECT_EQ(found.fabric.switches(), 1u);
        EXPECT_EQ(found.fabric.hosts(), hosts);
        EXPECT_LE(found.experiments, experiments_max(hosts));
        for (uint32_t host = 0; host < hosts; ++host) EXPECT_TRUE(found.is_placed[host]);
    }
}

TEST(Survey, OneSwitch) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const Network network = leaves(std::vector<uint32_t>{static_cast<uint32_t>(3 + seed)}, 1);
        const Found found = survey(network, seed);
        EXPECT_EQ(found.verdict, Verdict::kOneSwitch) << told(network, found);
        EXPECT_EQ(found.fabric.switches(), 1u);
        expect_bounded(network, found);
    }
}

// It is of no group, and no reason to miss the others.
TEST(Survey, AHostIsSlow) {
    for (const double part : {0.05, 0.25, 0.5}) {
        for (uint64_t seed = 1; seed <= 10; ++seed) {
            Network network = leaves(std::vector<uint32_t>{6, 6, 6}, 3);
            network.host_speed[seed] *= part;
            const Found found = survey(network, seed);
            expect_true(network, found);
            ASSERT_EQ(found.verdict, Verdict::kGroups) << part << told(network, found);
            for (uint32_t host = 0; host < network.hosts(); ++host) {
                EXPECT_EQ(found.is_placed[host], host != seed) << host << told(network, found);
            }
            const auto speed =
                static_cast<double>(found.fabric.link_bits_per_s(2 * static_cast<uint32_t>(seed)));
            EXPECT_NEAR(speed / 8e9 / kSpeed, part, 0.25 * part);
        }
    }
}

TEST(Survey, AHostNeverAnswers) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        Network network = leaves(std::vector<uint32_t>{5, 5, 5}, 5);
        network.is_dead[seed] = true;
        const Found found = survey(network, seed);
        ASSERT_EQ(found.verdict, Verdict::kGroups) << told(network, found);
        expect_true(network, found);
        for (uint32_t host = 0; host < network.hosts(); ++host) {
            EXPECT_EQ(found.is_lost[host], host == seed);
            EXPECT_EQ(found.is_placed[host], host != seed);
        }
    }
}

TEST(Survey, NobodyAnswers) {
    Network network = leaves(std::vector<uint32_t>{4}, 1);
    network.is_dead.assign(4, true);
    const Found found = survey(network, 1);
    EXPECT_EQ(found.verdict, Verdict::kCannotTell);
    EXPECT_EQ(found.reason, "hosts do not answer each other");
    EXPECT_TRUE(found.fabric.is_valid());
}

// Those who meet them are not lost for it, nor is each meeting tried.
TEST(Survey, AGroupNeverAnswers) {
    Network network = leaves(std::vector<uint32_t>{5, 5, 5, 5}, 5);
    for (uint32_t host = 5; host < 10; ++host) network.is_dead[host] = true;
    Survey machine(network.hosts(), {});
    Prng random(1);
    std::vector<uint32_t> meetings(network.hosts());
    while (const Experiment* experiment = machine.next()) {
        for (const Transfer& who : experiment->transfers) {
            ++meetings[who.from];
            ++meetings[who.to];
        }
        machine.take(run(network, *experiment, random));
    }
    const Found& found = machine.found();
    EXPECT_EQ(found.verdict, Verdict::kGroups) << told(network, found);
    expect_true(network, found);
    for (uint32_t host = 0; host < network.hosts(); ++host) {
        EXPECT_EQ(found.is_lost[host], network.is_dead[host]) << host;
        if (network.is_dead[host]) {
            EXPECT_LE(meetings[host], 10u) << host;
        }
    }
}

// What answers with a few bytes may yet not transfer many.
TEST(Survey, NoTransferComes) {
    const Network network = leaves(std::vector<uint32_t>{4, 4}, 1);
    Survey machine(network.hosts(), {});
    Prng random(1);
    while (const Experiment* experiment = machine.next()) {
        std::vector<uint64_t> times = run(network, *experiment, random);
        if (experiment->kind == Experiment::Kind::kStreams) times.assign(times.size(), kMissingNs);
        machine.take(times);
    }
    EXPECT_EQ(machine.found().verdict, Verdict::kCannotTell);
    EXPECT_EQ(machine.found().transfer_bytes, 0u);
}

// In each experiment another transfer is missing: no host is lost, but time is.
TEST(Survey, MissingTransfersTakeTime) {
    const Network network = leaves(std::vector<uint32_t>{5, 5, 5}, 5);
    Survey machine(network.hosts(), {});
    Prng random(1);
    uint32_t missing = 0;
    while (const Experiment* experiment = machine.next()) {
        std::vector<uint64_t> times = run(network, *experiment, random);
        times[random.below(times.size())] = kMissingNs;
        ++missing;
        machine.take(times);
    }
    const Limits limits;
    EXPECT_EQ(machine.found().reason, "the time for measuring was over");
    EXPECT_LE(missing, limits.ns_max / 5'000'000'000 + 1);
    EXPECT_EQ(machine.found().is_lost, std::vector<bool>(15, false));
    EXPECT_LE(machine.found().longest_ns, limits.ns_max + 5'000'000'000);
}

// A host that dies in the middle of it is found out where it still takes part, and then out of the
// way of the others.
TEST(Survey, AHostStopsAnswering) {
    const Network whole = leaves(std::vector<uint32_t>{5, 5, 5}, 5);
    uint32_t runs = 0;
    uint32_t grouped = 0;
    for (uint32_t after = 30; after < 230; after += 20) {
        Network network = whole;
        Survey machine(network.hosts(), {});
        Prng random(after);
        uint32_t made = 0;
        uint32_t unanswered = 0;
        while (const Experiment* experiment = machine.next()) {
            network.is_dead[7] = ++made > after;
            if (network.is_dead[7] && experiment->transfers.size() > 2) {
                for (const Transfer& who : experiment->transfers)
                    unanswered += who.from == 7 ? 1 : 0;
            }
            machine.take(run(network, *experiment, random));
        }
        const Found& found = machine.found();
        expect_true(network, found);
        expect_bounded(network, found);
        if (unanswered < 3) continue;
        ++runs;
        grouped += found.verdict == Verdict::kGroups ? 1 : 0;
        EXPECT_TRUE(found.is_lost[7]) << after << told(network, found);
        EXPECT_EQ(std::ranges::count(found.is_lost, true), 1) << after;
        EXPECT_FALSE(found.is_placed[7]) << after;
    }
    RecordProperty("runs", static_cast<int>(runs));
    RecordProperty("grouped", static_cast<int>(grouped));
    EXPECT_GE(runs, 5u);
    EXPECT_GE(grouped, runs - 1);
}

TEST(Survey, RejectsLimitsThatContradict) {
    EXPECT_DEATH(Survey(4, {.bytes_min = 2 << 20, .bytes_max = 1 << 20}), "bytes_min");
}

// Of few hosts, too, whose tournament is shorter than that of many.
TEST(Survey, FewRoundTripsOfFewHosts) {
    for (const uint32_t hosts : {2u, 4u, 7u}) {
        const Network network = leaves(std::vector<uint32_t>{hosts}, 1);
        const Found found = survey(network, 1, {.latency_hosts_max = 1});
        EXPECT_EQ(found.verdict, Verdict::kOneSwitch) << told(network, found);
        EXPECT_GT(found.fabric.latency_ns, 10'000u);
    }
}

TEST(Survey, KeepsWithinItsLimits) {
    const Network network = leaves(std::vector<uint32_t>{8, 8}, 8, 25e6 / 8e9);
    Limits limits;
    limits.ns_max = 5'000'000'000;
    Found found = survey(network, 1, limits);
    EXPECT_EQ(found.verdict, Verdict::kCannotTell);
    EXPECT_EQ(found.reason, "the time for measuring was over");
    EXPECT_LT(found.longest_ns, limits.ns_max + 3'000'000'000);
    EXPECT_EQ(found.fabric.switches(), 1u);
    limits = {};
    limits.experiments_max = 50;
    found = survey(network, 1, limits);
    EXPECT_EQ(found.experiments, 50u);
    EXPECT_EQ(found.verdict, Verdict::kCannotTell);
}

// Linear in hosts; beyond 256 without round trips of all.
TEST(Survey, ManyHosts) {
    for (const uint32_t leaf_count : {2u, 4u, 8u, 16u, 24u}) {
        if (leaf_count > 8 && std::getenv("TESTS_BRIEF")) break;
        Prng random(leaf_count);
        Network network = leaves(std::vector<uint32_t>(leaf_count, 16), 4);
        network.shuffle_hosts(random);
        const Found found = survey(network, leaf_count);
        expect_true(network, found);
        expect_bounded(network, found);
        EXPECT_EQ(found.verdict, Verdict::kGroups) << found.reason;
        RecordProperty("experiments_" + std::to_string(network.hosts()),
                       static_cast<int>(found.experiments));
        RecordProperty("ms_" + std::to_string(network.hosts()),
                       static_cast<int>(found.longest_ns / 1'000'000));
    }
}

}  // namespace
}  // namespace tutti::survey
