// SPDX-License-Identifier: BSD-3-Clause
// I1 of lab/generate/ring_order.h, counted link by link on trees of switches that are drawn.
#include "lab/generate/ring_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/prng.h"

namespace tutti::generate {
namespace {

// Switches 0, 1 ... with the number of their parent, the first having none; hosts with their
// switch.
struct Cluster {
    std::vector<uint32_t> parent;
    std::vector<uint32_t> depth;
    std::vector<uint32_t> switch_of_host;
};

Cluster draw_cluster(Prng& random, uint64_t switches_max, uint64_t hosts_max) {
    Cluster made;
    const uint64_t switches = 1 + random.below(switches_max);
    // Long chains, bushes, and what lies between.
    const uint64_t reach = 1 + random.below(switches);
    for (uint32_t at = 0; at < switches; ++at) {
        const auto back =
            static_cast<uint32_t>(1 + random.below(std::min<uint64_t>(reach, at + 1)));
        made.parent.push_back(at == 0 ? 0 : at - std::min(back, at));
        made.depth.push_back(at == 0 ? 0 : made.depth[made.parent[at]] + 1);
    }
    const uint64_t hosts = 1 + random.below(hosts_max);
    for (uint64_t host = 0; host < hosts; ++host) {
        made.switch_of_host.push_back(static_cast<uint32_t>(random.below(switches)));
    }
    return made;
}

topo::SwitchTree tree_of(const Cluster& cluster) {
    topo::TopologyBuilder builder("drawn");
    for (size_t at = 0; at < cluster.parent.size(); ++at) {
        EXPECT_TRUE(builder.add_switch("s" + std::to_string(at), 0));
    }
    for (uint32_t host = 0; host < cluster.switch_of_host.size(); ++host) {
        EXPECT_TRUE(builder.add_host("h" + std::to_string(host), 0));
        EXPECT_TRUE(builder.add_link({true, host}, {false, cluster.switch_of_host[host]}, {}));
    }
    for (uint32_t at = 1; at < cluster.parent.size(); ++at) {
        EXPECT_TRUE(builder.add_link({false, at}, {false, cluster.parent[at]}, {}));
    }
    const auto topology = builder.finish();
    EXPECT_TRUE(topology) << topology.error().message;
    const auto tree = topo::make_switch_tree(topology.value());
    EXPECT_TRUE(tree) << tree.error().message;
    return tree.value();
}

// Messages on each link, which is its lower end and whether they go up. Hosts count from 1,000,000.
class Load {
  public:
    explicit Load(const Cluster& cluster) : cluster_(cluster) {}
    void send(uint32_t from, uint32_t to) {
        if (from == to) return;
        ++messages_[{kHosts + from, true}];
        ++messages_[{kHosts + to, false}];
        uint32_t up = cluster_.switch_of_host[from];
        uint32_t down = cluster_.switch_of_host[to];
        while (up != down) {
            if (cluster_.depth[up] >= cluster_.depth[down]) {
                ++messages_[{up, true}];
                up = cluster_.parent[up];
            } else {
                ++messages_[{down, false}];
                down = cluster_.parent[down];
            }
        }
    }
    [[nodiscard]] uint32_t most() const {
        uint32_t most = 0;
        for (const auto& [link, count] : messages_) most = std::max(most, count);
        return most;
    }

  private:
    static constexpr uint32_t kHosts = 1'000'000;
    const Cluster& cluster_;
    std::map<std::pair<uint32_t, bool>, uint32_t> messages_;
};

// Some of 0 ... count - 1, at least one, in a drawn order.
std::vector<uint32_t> draw_subset(Prng& random, uint32_t count) {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    all.resize(1 + random.below(count));
    return all;
}

enum class Kind { kBlock, kRoundRobin, kRandom };

std::vector<uint64_t> draw_placement(Prng& random, Kind kind, uint32_t hosts) {
    const auto each = static_cast<uint32_t>(1 + random.below(4));
    std::vector<uint64_t> host_of_rank;
    for (uint32_t rank = 0; rank < hosts * each; ++rank) {
        const auto any = static_cast<uint32_t>(random.below(hosts));
        host_of_rank.push_back(kind == Kind::kBlock        ? rank / each
                               : kind == Kind::kRoundRobin ? rank % hosts
                                                           : any);
    }
    return host_of_rank;
}

void expect_no_shared_link(Prng& random, uint64_t switches_max, uint64_t hosts_max) {
    const Cluster cluster = draw_cluster(random, switches_max, hosts_max);
    const topo::SwitchTree whole = tree_of(cluster);
    const auto hosts = draw_subset(random, static_cast<uint32_t>(cluster.switch_of_host.size()));
    const topo::SwitchTree tree = topo::restrict_tree(whole, hosts);
    for (const Kind kind : {Kind::kBlock, Kind::kRoundRobin, Kind::kRandom}) {
        const auto host_of_rank = draw_placement(random, kind, static_cast<uint32_t>(hosts.size()));
        const auto ranks = ranks_of(make_ring(tree, host_of_rank));
        std::vector<uint32_t> sorted = ranks;
        std::sort(sorted.begin(), sorted.end());
        std::vector<uint32_t> every(host_of_rank.size());
        std::iota(every.begin(), every.end(), 0u);
        ASSERT_EQ(sorted, every);
        Load load(cluster);
        for (size_t i = 0; i < ranks.size(); ++i) {
            const uint32_t next = ranks[(i + 1) % ranks.size()];
            load.send(hosts[host_of_rank[ranks[i]]], hosts[host_of_rank[next]]);
        }
        ASSERT_LE(load.most(), 1u);
    }
}

TEST(Ring, CrossesNoLinkTwiceInOneDirection) {
    for (uint64_t seed = 0; seed < 1000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Prng random(seed);
        // Now and then as large as a cluster, mostly small, where corner cases are.
        const bool is_large = seed % 20 == 0;
        expect_no_shared_link(random, is_large ? 200 : 12, is_large ? 2000 : 30);
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Ring, ItsExample) {
    const Cluster cluster{{0, 0}, {0, 1}, {0, 1, 1, 0, 0}};
    const topo::SwitchTree tree = tree_of(cluster);
    EXPECT_EQ(ranks_of(make_ring(tree, std::vector<uint64_t>{0, 1, 2, 3, 4})),
              (std::vector<uint32_t>{0, 1, 2, 3, 4}));
}

TEST(Ring, RanksOfAHostStandTogether) {
    const Cluster cluster{{0, 0, 0}, {0, 1, 1}, {1, 2, 1, 2}};
    const topo::SwitchTree tree = tree_of(cluster);
    // Round-robin over hosts 0, 1, 2; nobody is on 3.
    const auto ring = make_ring(tree, std::vector<uint64_t>{0, 1, 2, 0, 1, 2});
    ASSERT_EQ(ring.size(), 3u);
    EXPECT_EQ(ring[0].ranks, (std::vector<uint32_t>{0, 3}));
    EXPECT_EQ(ranks_of(ring), (std::vector<uint32_t>{0, 3, 2, 5, 1, 4}));
}

TEST(Ring, VisitsHostsThatNobodyKnows) {
    const Cluster cluster{{0, 0}, {0, 1}, {0, 1}};
    const topo::SwitchTree tree =
        topo::restrict_tree(tree_of(cluster), std::vector<uint32_t>{1, topo::kNoNode, 0});
    auto ranks = ranks_of(make_ring(tree, std::vector<uint64_t>{0, 1, 2}));
    std::sort(ranks.begin(), ranks.end());
    EXPECT_EQ(ranks, (std::vector<uint32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace tutti::generate
