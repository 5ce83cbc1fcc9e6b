// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/link_load.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <utility>

#include "base/prng.h"
#include "unit/plan/sched/schedules.h"

namespace tutti::check {
namespace {

using sched::Lines;
using sched::Programs;
using topo::Fabric;

// Every rank sends to the next one on a circle in this order; one step.
Programs circle(const std::vector<uint32_t>& order) {
    Lines bodies(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        const uint32_t next = order[(i + 1) % order.size()];
        bodies[order[i]] += "send 0 to " + std::to_string(next) + " input[0+8]\n";
        bodies[next] += "recv 0 from " + std::to_string(order[i]) + " scratch[0+8]\n";
    }
    const auto ranks = static_cast<uint32_t>(order.size());
    return sched::written(sched::shape_of(TUTTI_ALLGATHER, ranks, 8), {1, 1, 1, 8}, bodies);
}

// Lemma 4 of Patarasuk, Yuan 2007: leaf after leaf, every link carries one message each way.
TEST(Load, AWalkThroughTheTreeIsFreeOfContention) {
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{2, 3, 1});
    const LinkLoad load = link_load(fabric, sched::alone(6), circle({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(load.pairs, 1u);
    EXPECT_EQ(load.extra, 0u);
}

// From leaf to leaf with every message: both links between switches carry them all.
TEST(Load, ACircleThatChangesTheLeafEachTimeIsNot) {
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{3, 3});
    const LinkLoad load = link_load(fabric, sched::alone(6), circle({0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(load.pairs, 3u);
    EXPECT_EQ(load.step, 0u);
    EXPECT_EQ(link_text(fabric, load.link), "up from switch 0");
    EXPECT_EQ(load.extra, 2 * 2 * 2u) << "two switches, two ways, two beyond the first";
    EXPECT_EQ(link_text(fabric, 5), "to host 2");
    EXPECT_EQ(link_text(fabric, 4), "from host 2");
    EXPECT_EQ(link_text(fabric, 15), "down to switch 1");
}

TEST(Load, WithinAHostNothingIsLoaded) {
    const auto placement = topo::Placement::blocks(4, 2);
    const LinkLoad load = link_load(Fabric::one_switch(2), placement, circle({0, 1, 2, 3}));
    EXPECT_EQ(load.pairs, 1u);
    EXPECT_EQ(load.extra, 0u);
}

TEST(Load, AMulticastPassesEachLinkOnce) {
    const Programs programs = sched::written(
        sched::shape_of(TUTTI_BCAST, 4, 8), {1, 1, 1, 0, 1},
        {"multicast input[0+8] order 0\n", "recv_multicast from 0 output[0+8] order 0\n",
         "recv_multicast from 0 output[0+8] order 0\n",
         "recv_multicast from 0 output[0+8] order 0\n"});
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{2, 2});
    const LinkLoad load = link_load(fabric, sched::alone(4), programs);
    EXPECT_EQ(load.pairs, 1u);
    EXPECT_EQ(load.extra, 0u);
    EXPECT_EQ(load.bytes, (std::vector<uint64_t>{8, 0, 0, 8, 0, 8, 0, 8, 8, 0, 0, 8, 0, 0}));
}

// Two segments of one pair come one after the other; another pair's stands in their way.
TEST(Load, SegmentsOfOnePairShareNothing) {
    const Fabric fabric = Fabric::leaves(std::vector<uint32_t>{2, 2});
    const std::vector<std::vector<Passage>> steps{
        {{0, 2, 8, 0}, {0, 2, 8, 1}, {0, 2, 8, 2}},
        {{0, 2, 8, 0}, {1, 3, 8, 0}, {0, 2, 8, 1}},
        {{0, 0, 8, 0, 0, true}, {0, 0, 8, 1, 0, true}, {0, 2, 8}},
    };
    const LinkLoad load = link_load(fabric, sched::alone(4), steps);
    EXPECT_EQ(load.pairs, 2u);
    EXPECT_EQ(load.step, 1u);
    // Up and down in step 1; from host 0, up, down and to host 2 in step 2.
    EXPECT_EQ(load.extra, 2u + 4);
    const auto first = step_load(fabric, sched::alone(4), steps[0]);
    const auto second = step_load(fabric, sched::alone(4), steps[1]);
    EXPECT_EQ(first[8].pairs, 1u);
    EXPECT_EQ(first[8].messages, 3u);
    EXPECT_EQ(first[8].bytes, 24u);
    EXPECT_EQ(second[8].pairs, 2u);
    EXPECT_EQ(second[8].messages, 3u);
}

TEST(Load, KnowsParallelLinks) {
    Fabric fabric = Fabric::leaves(std::vector<uint32_t>{3, 3});
    fabric.set_switch_links({{3, 0, 0}, {2, 0, 0}, {}});
    // From hosts 0, 1, 2 to 3, 4, 5, over one of the three links each; down, two share one.
    const std::vector<Passage> step{{0, 3, 8}, {1, 4, 8}, {2, 5, 8}};
    const auto load = step_load(fabric, sched::alone(6), step);
    EXPECT_EQ(load[12].messages, 1u);
    EXPECT_EQ(load[14].messages, 1u);
    EXPECT_EQ(load[16].messages, 1u);
    EXPECT_EQ(load[19].messages, 1u);
    EXPECT_EQ(load[21].messages, 2u);
    EXPECT_EQ(load[21].bytes, 16u);
    EXPECT_EQ(link_text(fabric, 21), "down to switch 1, link 2 of 2");
    EXPECT_EQ(link_text(fabric, 16), "up from switch 0, link 3 of 3");
    const std::vector<std::string> switches{"leaf0", "leaf1", "spine"};
    EXPECT_EQ(link_text(fabric, 16, {}, switches), "up from leaf0, link 3 of 3");
}

TEST(Load, TheBusiestLinkIsTheOneThatTakesLongest) {
    Fabric fabric = Fabric::one_switch(2);
    fabric.set_host_links({{1, 80, 0}, {1, 8, 0}});
    EXPECT_EQ(busiest_link(fabric, std::vector<uint64_t>{0, 9, 1, 1, 0, 0}), 2u);
    EXPECT_EQ(busiest_link(fabric, std::vector<uint64_t>{0, 11, 1, 1, 0, 0}), 1u);
}

// A random tree of up to 60 switches and up to 90 hosts, with parallel links.
Fabric random_fabric(Prng& random) {
    Fabric fabric;
    std::vector<uint32_t> levels;
    const uint64_t switches = 1 + random.below(60);
    std::vector<topo::Trunk> links;
    while (fabric.switches() < switches) {
        const bool is_root = levels.empty();
        uint32_t parent = topo::kNoSwitch;
        if (!is_root) {
            do {
                parent = static_cast<uint32_t>(random.below(levels.size()));
            } while (levels[parent] == topo::kSwitchLevelsMax);
        }
        levels.push_back(is_root ? 1 : levels[parent] + 1);
        fabric.parent_of_switch.push_back(parent);
        links.push_back({static_cast<uint32_t>(1 + random.below(4)), 0, 0});
    }
    const uint64_t hosts = 2 + random.below(89);
    while (fabric.hosts() < hosts) {
        fabric.switch_of_host.push_back(static_cast<uint32_t>(random.below(switches)));
    }
    if (random.below(4) != 0) fabric.set_switch_links(std::move(links));
    return fabric;
}

// The way found without knowing what is up and down: by a search from one end, vertex by vertex.
// Vertices are hosts, then switches.
std::vector<uint32_t> way_by_search(const Fabric& fabric, uint32_t from, uint32_t to) {
    const uint32_t hosts = fabric.hosts();
    std::vector<std::vector<uint32_t>> beside(hosts + fabric.switches());
    const auto join = [&](uint32_t one, uint32_t other) {
        beside[one].push_back(other);
        beside[other].push_back(one);
    };
    for (uint32_t host = 0; host < hosts; ++host) join(host, hosts + fabric.switch_of_host[host]);
    for (uint32_t at = 0; at < fabric.switches(); ++at) {
        const uint32_t parent = fabric.parent_of_switch[at];
        if (parent != topo::kNoSwitch) join(hosts + at, hosts + parent);
    }
    std::vector<uint32_t> before(beside.size(), UINT32_MAX);
    std::vector<uint32_t> found{to};
    before[to] = to;
    for (size_t i = 0; i < found.size(); ++i) {
        for (const uint32_t next : beside[found[i]]) {
            if (before[next] != UINT32_MAX) continue;
            before[next] = found[i];
            found.push_back(next);
        }
    }
    std::vector<uint32_t> way{from};
    while (way.back() != to) way.push_back(before[way.back()]);
    return way;
}

// By the two ends of a link, and its number among parallel ones.
using ByEnds = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t>;

ByEnds by_ends(const Fabric& fabric, const std::vector<Load>& load) {
    ByEnds result;
    for (uint32_t link = 0; link < load.size(); ++link) {
        if (load[link].messages == 0) continue;
        uint32_t low = link / 2;
        uint32_t high = 0;
        uint32_t number = 0;
        if (fabric.is_host_link(link)) {
            high = fabric.hosts() + fabric.switch_of_host[low];
        } else {
            const uint32_t at = fabric.switch_below(link);
            low = fabric.hosts() + at;
            high = fabric.hosts() + fabric.parent_of_switch[at];
            number = fabric.number_of_parallel(link);
        }
        if (link % 2 != 0) std::swap(low, high);
        EXPECT_TRUE(result.emplace(std::tuple(low, high, number), load[link].messages).second);
    }
    return result;
}

TEST(Load, OnRandomTreesIsWhatASearchFinds) {
    Prng random(1);
    for (int round = 0; round < 200; ++round) {
        const Fabric fabric = random_fabric(random);
        ASSERT_TRUE(fabric.is_valid());
        const uint32_t hosts = fabric.hosts();
        std::vector<Passage> step;
        ByEnds expected;
        for (uint32_t i = 0; i < 2 * hosts; ++i) {
            const auto from = static_cast<uint32_t>(random.below(hosts));
            const auto to = static_cast<uint32_t>(random.below(hosts));
            if (from == to) continue;
            step.push_back({from, to, 8});
            const auto way = way_by_search(fabric, from, to);
            for (size_t hop = 0; hop + 1 < way.size(); ++hop) {
                // Links above a switch lie between it and the vertex that is its parent.
                uint32_t links = 1;
                for (const auto& [low, high] :
                     {std::pair(way[hop], way[hop + 1]), std::pair(way[hop + 1], way[hop])}) {
                    if (low < hosts || high < hosts) continue;
                    const uint32_t at = low - hosts;
                    if (fabric.parent_of_switch[at] == high - hosts) links = fabric.links_up(at);
                }
                ++expected[{way[hop], way[hop + 1], to % links}];
            }
        }
        EXPECT_EQ(by_ends(fabric, step_load(fabric, sched::alone(hosts), step)), expected);
    }
}

}  // namespace
}  // namespace tutti::check
