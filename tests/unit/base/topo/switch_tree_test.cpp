// SPDX-License-Identifier: BSD-3-Clause
// How a graph becomes a tree: P1 to P4 of base/topo/switch_tree.h.
#include "base/topo/switch_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/prng.h"

namespace tutti::topo {
namespace {

Topology finished(TopologyBuilder& builder) {
    auto made = builder.finish();
    EXPECT_TRUE(made) << made.error().message;
    return made.value();
}

SwitchTree tree_of(const Topology& topology) {
    auto tree = make_switch_tree(topology);
    EXPECT_TRUE(tree) << tree.error().message;
    return tree.value();
}

void shuffle(std::vector<uint32_t>& list, Prng& random) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
}

// The switch that a host hangs on.
uint32_t switch_of(const Topology& topology, uint32_t host) {
    for (const Topology::Link& link : topology.links) {
        if (link.one == host || link.other == host) {
            return std::max(link.one, link.other) - static_cast<uint32_t>(topology.hosts.size());
        }
    }
    return kNoNode;
}

// What holds of every tree, P1 among it.
void expect_sound(const Topology& topology, const SwitchTree& tree) {
    ASSERT_EQ(tree.place_of_host.size(), topology.hosts.size());
    std::vector<uint32_t> below(tree.nodes.size());
    std::map<uint32_t, uint32_t> node_of_switch;
    std::map<uint32_t, uint32_t> switch_of_node;
    for (uint32_t host = 0; host < topology.hosts.size(); ++host) {
        const uint32_t node = tree.place_of_host[host].node;
        ASSERT_LT(node, tree.nodes.size());
        ++below[node];
        const uint32_t at = switch_of(topology, host);
        EXPECT_EQ(node_of_switch.emplace(at, node).first->second, node);
        EXPECT_EQ(switch_of_node.emplace(node, at).first->second, at);
        EXPECT_GE(tree.place_of_host[host].up.links, 1u);
    }
    std::set<uint32_t> seen;
    for (uint32_t node = 0; node < tree.nodes.size(); ++node) {
        EXPECT_EQ(tree.nodes[node].parent == kNoNode, node == 0);
        if (node > 0) {
            EXPECT_LT(tree.nodes[node].parent, node);
            EXPECT_GE(tree.nodes[node].up.links, 1u);
        }
        ASSERT_FALSE(tree.nodes[node].switches.empty());
        EXPECT_TRUE(
            std::is_sorted(tree.nodes[node].switches.begin(), tree.nodes[node].switches.end()));
    }
    for (size_t node = tree.nodes.size(); node-- > 1;) {
        EXPECT_GT(below[node], 0u);
        below[tree.nodes[node].parent] += below[node];
    }
}

// An extended generalized fat tree (Öhring and others 1995): `down[l]` children and `up[l]` parents
// of what is on the levels l + 1 and l; level 0 are hosts, one link each. Numbers are drawn.
struct FatTree {
    std::vector<uint32_t> down;  // from hosts: down[0] hosts a leaf
    std::vector<uint32_t> up;    // up[0] is 1
    struct Switch {
        uint32_t level;  // from 0: leaves
        uint32_t pod;
        uint32_t index;
        auto operator<=>(const Switch&) const = default;
    };
    struct Cable {
        uint32_t lower;  // of `switches`
        uint32_t upper;
        uint32_t count;
    };
    std::vector<Switch> switches;
    std::vector<Cable> cables;
    uint32_t hosts = 0;

    [[nodiscard]] uint32_t levels() const { return static_cast<uint32_t>(down.size()); }
    [[nodiscard]] uint32_t pods(uint32_t level) const {
        return std::accumulate(down.begin() + level + 1, down.end(), 1u, std::multiplies<>());
    }
    [[nodiscard]] uint32_t width(uint32_t level) const {
        return std::accumulate(up.begin(), up.begin() + level + 1, 1u, std::multiplies<>());
    }
    // The pod of a level that a switch belongs to.
    [[nodiscard]] uint32_t pod_at(const Switch& one, uint32_t level) const {
        uint32_t pod = one.pod;
        for (uint32_t l = one.level + 1; l <= level; ++l) pod /= down[l];
        return pod;
    }
};

FatTree draw_fat_tree(Prng& random, uint32_t down_min, uint32_t up_min) {
    FatTree made;
    const auto levels = static_cast<uint32_t>(1 + random.below(3));
    for (uint32_t l = 0; l < levels; ++l) {
        made.down.push_back(static_cast<uint32_t>((l == 0 ? 1 : down_min) + random.below(3)));
        made.up.push_back(static_cast<uint32_t>(l == 0 ? 1 : up_min + random.below(3)));
    }
    std::vector<FatTree::Switch> all;
    for (uint32_t l = 0; l < levels; ++l) {
        for (uint32_t pod = 0; pod < made.pods(l); ++pod) {
            for (uint32_t i = 0; i < made.width(l); ++i) all.push_back({l, pod, i});
        }
    }
    std::vector<uint32_t> order(all.size());
    std::iota(order.begin(), order.end(), 0u);
    shuffle(order, random);
    std::map<FatTree::Switch, uint32_t> number;
    for (const uint32_t i : order) {
        number[all[i]] = static_cast<uint32_t>(made.switches.size());
        made.switches.push_back(all[i]);
    }
    for (const FatTree::Switch& one : all) {
        if (one.level + 1 == levels) continue;
        for (uint32_t parent = 0; parent < made.up[one.level + 1]; ++parent) {
            const FatTree::Switch upper{one.level + 1, one.pod / made.down[one.level + 1],
                                        one.index + made.width(one.level) * parent};
            made.cables.push_back(
                {number[one], number[upper], static_cast<uint32_t>(1 + random.below(2))});
        }
    }
    made.hosts = made.pods(0) * made.down[0];
    return made;
}

// Hosts in a drawn order.
Topology topology_of(const FatTree& fat, Prng& random) {
    TopologyBuilder builder("fat");
    for (uint32_t i = 0; i < fat.switches.size(); ++i) {
        EXPECT_TRUE(builder.add_switch("s" + std::to_string(i), 0));
    }
    std::vector<uint32_t> hosts(fat.hosts);
    std::iota(hosts.begin(), hosts.end(), 0u);
    shuffle(hosts, random);
    for (const uint32_t host : hosts) {
        const uint32_t number = builder.add_host("h" + std::to_string(host), 0).value();
        const FatTree::Switch leaf{0, host / fat.down[0], 0};
        const auto at = std::find(fat.switches.begin(), fat.switches.end(), leaf);
        const auto leaf_number = static_cast<uint32_t>(at - fat.switches.begin());
        EXPECT_TRUE(builder.add_link({true, number}, {false, leaf_number}, {}));
    }
    for (const FatTree::Cable& cable : fat.cables) {
        EXPECT_TRUE(
            builder.add_link({false, cable.lower}, {false, cable.upper}, {.count = cable.count}));
    }
    return finished(builder);
}

// P3: the nodes are the pods, and P4: the links up are those that are there. `extra` nodes are
// R4's.
void expect_pods(const FatTree& fat, const SwitchTree& tree, size_t extra = 0) {
    std::map<std::vector<uint32_t>, uint32_t> node_of;
    for (uint32_t node = 0; node < tree.nodes.size(); ++node) {
        node_of[tree.nodes[node].switches] = node;
    }
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> pods;
    for (uint32_t i = 0; i < fat.switches.size(); ++i) {
        pods[{fat.switches[i].level, fat.switches[i].pod}].push_back(i);
    }
    EXPECT_EQ(pods.size() + extra, tree.nodes.size());
    for (const auto& [key, switches] : pods) {
        const auto& [level, pod] = key;
        ASSERT_TRUE(node_of.contains(switches)) << "pod " << pod << " of level " << level;
        const SwitchTree::Node& node = tree.nodes[node_of[switches]];
        if (level + 1 == fat.levels()) {
            EXPECT_EQ(node.parent, kNoNode);
            continue;
        }
        const auto& above = pods[{level + 1, pod / fat.down[level + 1]}];
        EXPECT_EQ(node.parent, node_of[above]);
        uint32_t links = 0;
        for (const FatTree::Cable& cable : fat.cables) {
            const FatTree::Switch& lower = fat.switches[cable.lower];
            if (lower.level == level && lower.pod == pod) links += cable.count;
        }
        EXPECT_EQ(node.up.links, links);
    }
}

TEST(SwitchTree, TheNodesOfAFatTreeAreItsPods) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        Prng random(seed);
        const FatTree fat = draw_fat_tree(random, 2, 1);
        const Topology topology = topology_of(fat, random);
        const SwitchTree tree = tree_of(topology);
        expect_sound(topology, tree);
        expect_pods(fat, tree);
        // As the issue of merging has it: all of a node connect the same nodes below.
        std::vector<uint32_t> node_of(fat.switches.size());
        for (uint32_t node = 0; node < tree.nodes.size(); ++node) {
            for (const uint32_t at : tree.nodes[node].switches) node_of[at] = node;
        }
        std::map<uint32_t, std::set<uint32_t>> below;
        for (const FatTree::Cable& cable : fat.cables) {
            below[cable.upper].insert(node_of[cable.lower]);
        }
        for (uint32_t at = 0; at < fat.switches.size(); ++at) {
            EXPECT_EQ(below[at], below[tree.nodes[node_of[at]].switches.front()]);
        }
    }
}

// Whether a pod would hang together without any one of its cables.
bool is_tight(const FatTree& fat, uint32_t level, uint32_t pod) {
    std::vector<const FatTree::Cable*> inside;
    std::set<uint32_t> members;
    for (uint32_t i = 0; i < fat.switches.size(); ++i) {
        const FatTree::Switch& one = fat.switches[i];
        if (one.level <= level && fat.pod_at(one, level) == pod) members.insert(i);
    }
    for (const FatTree::Cable& cable : fat.cables) {
        if (members.contains(cable.lower) && members.contains(cable.upper))
            inside.push_back(&cable);
    }
    for (const FatTree::Cable* without : inside) {
        std::set<uint32_t> seen{*members.begin()};
        for (size_t before = 0; before != seen.size();) {
            before = seen.size();
            for (const FatTree::Cable* cable : inside) {
                if (cable == without) continue;
                if (seen.contains(cable->lower)) seen.insert(cable->upper);
                if (seen.contains(cable->upper)) seen.insert(cable->lower);
            }
        }
        if (seen.size() != members.size()) return false;
    }
    return members.size() == 1 || !inside.empty();
}

TEST(SwitchTree, MissingCablesDoNoHarmWhilePodsHangTogether) {
    uint32_t removed = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        Prng random(seed);
        FatTree fat = draw_fat_tree(random, 2, 2);
        for (uint32_t attempt = 0; attempt < 8 && !fat.cables.empty(); ++attempt) {
            FatTree less = fat;
            less.cables.erase(less.cables.begin() +
                              static_cast<ptrdiff_t>(random.below(less.cables.size())));
            bool is_whole = true;
            for (uint32_t l = 0; l < less.levels(); ++l) {
                for (uint32_t pod = 0; pod < less.pods(l); ++pod) {
                    is_whole = is_whole && is_tight(less, l, pod);
                }
            }
            if (!is_whole) continue;
            fat = less;
            ++removed;
        }
        const Topology topology = topology_of(fat, random);
        const SwitchTree tree = tree_of(topology);
        expect_sound(topology, tree);
        expect_pods(fat, tree);
    }
    EXPECT_GT(removed, 40u);
}

TEST(SwitchTree, AFewHostsOnUpperSwitchesDoNoHarm) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        Prng random(seed);
        FatTree fat = draw_fat_tree(random, 2, 2);
        if (fat.levels() < 2) continue;
        fat.hosts = fat.hosts / fat.down[0] * 4;
        fat.down[0] = 4;
        Topology topology = topology_of(fat, random);
        const auto old = static_cast<uint32_t>(topology.hosts.size());
        const auto guest = static_cast<uint32_t>(random.below(fat.switches.size()));
        const bool is_upper = fat.switches[guest].level > 0;
        topology.hosts.push_back({"guest", 1, 0});
        for (Topology::Link& link : topology.links) {
            if (link.one >= old) ++link.one;
            if (link.other >= old) ++link.other;
        }
        topology.links.push_back({old, old + 1 + guest, 1, 0, 0, 0});
        const SwitchTree tree = tree_of(topology);
        expect_sound(topology, tree);
        expect_pods(fat, tree, is_upper ? 1 : 0);
    }
}

// A leaf with one host below each pod of level 1 that is drawn, and a host on an upper switch.
TEST(SwitchTree, LeavesThatAreNotFilledStayLeavesBesideHostsOnUpperSwitches) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        Prng random(seed);
        FatTree fat = draw_fat_tree(random, 2, 2);
        if (fat.levels() < 2) continue;
        fat.hosts = fat.hosts / fat.down[0] * 4;
        fat.down[0] = 4;
        const Topology whole = topology_of(fat, random);
        TopologyBuilder builder("fat");
        for (const auto& one : whole.switches) ASSERT_TRUE(builder.add_switch(one.name, 0));
        for (const auto& one : whole.hosts) ASSERT_TRUE(builder.add_host(one.name, 0));
        for (const Topology::Link& link : whole.links) {
            const auto end = [&](uint32_t vertex) { return *builder.find(whole.name_of(vertex)); };
            ASSERT_TRUE(builder.add_link(end(link.one), end(link.other), {.count = link.count}));
        }
        uint32_t guest = 0;
        do {
            guest = static_cast<uint32_t>(random.below(fat.switches.size()));
        } while (fat.switches[guest].level == 0);
        const uint32_t login = builder.add_host("login", 0).value();
        ASSERT_TRUE(builder.add_link({true, login}, {false, guest}, {}));
        std::map<uint32_t, uint32_t> pod_of;  // by leaf that is added
        for (uint32_t pod = 0; pod < fat.pods(1); ++pod) {
            if (random.below(2) == 0) continue;
            const uint32_t leaf = builder.add_switch("p" + std::to_string(pod), 0).value();
            const uint32_t host = builder.add_host("x" + std::to_string(pod), 0).value();
            ASSERT_TRUE(builder.add_link({true, host}, {false, leaf}, {}));
            pod_of[leaf] = pod;
            for (uint32_t upper = 0; upper < fat.switches.size(); ++upper) {
                if (fat.switches[upper].level != 1 || fat.switches[upper].pod != pod) continue;
                ASSERT_TRUE(builder.add_link({false, leaf}, {false, upper}, {.count = 2}));
            }
        }
        const Topology topology = finished(builder);
        const SwitchTree tree = tree_of(topology);
        expect_sound(topology, tree);
        expect_pods(fat, tree, 1 + pod_of.size());
        for (const auto& [leaf, pod] : pod_of) {
            const auto node = std::find_if(
                tree.nodes.begin(), tree.nodes.end(),
                [leaf = leaf](const auto& one) { return one.switches == std::vector{leaf}; });
            ASSERT_NE(node, tree.nodes.end());
            ASSERT_NE(node->parent, kNoNode);
            EXPECT_EQ(node->up.links, 2 * fat.width(1));
            const auto& above = fat.switches[tree.nodes[node->parent].switches.front()];
            EXPECT_EQ(above.level, 1u);
            EXPECT_EQ(above.pod, pod);
        }
    }
}

TEST(SwitchTree, ATreeStaysAsItIs) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        Prng random(seed);
        const auto count = static_cast<uint32_t>(1 + random.below(20));
        TopologyBuilder builder("tree");
        std::set<std::pair<uint32_t, uint32_t>> edges;
        std::vector<uint32_t> degree(count);
        for (uint32_t at = 0; at < count; ++at) {
            ASSERT_TRUE(builder.add_switch("s" + std::to_string(at), 0));
            if (at == 0) continue;
            const auto other = static_cast<uint32_t>(random.below(at));
            ASSERT_TRUE(builder.add_link({false, at}, {false, other}, {.count = 3}));
            edges.emplace(other, at);
            ++degree[at];
            ++degree[other];
        }
        for (uint32_t at = 0; at < count; ++at) {
            if (degree[at] > 1 && random.below(2)) continue;
            const uint32_t host = builder.add_host("h" + std::to_string(at), 0).value();
            ASSERT_TRUE(builder.add_link({true, host}, {false, at}, {}));
        }
        const Topology topology = finished(builder);
        const SwitchTree tree = tree_of(topology);
        expect_sound(topology, tree);
        ASSERT_EQ(tree.nodes.size(), count);
        for (uint32_t node = 0; node < count; ++node) {
            ASSERT_EQ(tree.nodes[node].switches.size(), 1u);
            if (node == 0) continue;
            const auto [low, high] = std::minmax(
                {tree.nodes[node].switches[0], tree.nodes[tree.nodes[node].parent].switches[0]});
            EXPECT_EQ(edges.erase({low, high}), 1u);
            EXPECT_EQ(tree.nodes[node].up.links, 3u);
        }
    }
}

TEST(SwitchTree, AnyConnectedGraphBecomesOne) {
    for (uint64_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE(seed);
        Prng random(seed);
        const auto count = static_cast<uint32_t>(1 + random.below(16));
        TopologyBuilder builder("graph");
        for (uint32_t at = 0; at < count; ++at) {
            ASSERT_TRUE(builder.add_switch("s" + std::to_string(at), 0));
            if (at > 0) {
                ASSERT_TRUE(builder.add_link({false, at},
                                             {false, static_cast<uint32_t>(random.below(at))}, {}));
            }
        }
        for (uint64_t more = random.below(count + 1); count > 1 && more > 0; --more) {
            const auto one = static_cast<uint32_t>(random.below(count));
            const auto other = static_cast<uint32_t>((one + 1 + random.below(count - 1)) % count);
            ASSERT_TRUE(builder.add_link({false, one}, {false, other}, {}));
        }
        for (uint64_t host = 0; host < 1 + random.below(8); ++host) {
            const uint32_t number = builder.add_host("h" + std::to_string(host), 0).value();
            const auto at = static_cast<uint32_t>(random.below(count));
            ASSERT_TRUE(builder.add_link({true, number}, {false, at}, {}));
        }
        const Topology topology = finished(builder);
        expect_sound(topology, tree_of(topology));
    }
}

// Switches by letter, links as pairs of letters, a host for each letter of the last word.
Topology small(const std::string& switches, const std::vector<std::string>& links,
               const std::string& hosts) {
    TopologyBuilder builder("small");
    const auto number = [&](char letter) { return static_cast<uint32_t>(switches.find(letter)); };
    for (const char letter : switches) EXPECT_TRUE(builder.add_switch(std::string(1, letter), 0));
    for (const std::string& link : links) {
        EXPECT_TRUE(builder.add_link({false, number(link[0])}, {false, number(link[1])}, {}));
    }
    for (size_t i = 0; i < hosts.size(); ++i) {
        const uint32_t host = builder.add_host("h" + std::to_string(i), 0).value();
        EXPECT_TRUE(builder.add_link({true, host}, {false, number(hosts[i])}, {}));
    }
    return finished(builder);
}

// "XY(a2(h0 h1) b1(h2))": names of the switches, links up, what is below.
std::string shown(const Topology& topology, const SwitchTree& tree, uint32_t node = 0) {
    std::string text;
    for (const uint32_t at : tree.nodes[node].switches) text += topology.switches[at].name;
    if (node > 0) text += std::to_string(tree.nodes[node].up.links);
    std::string inside;
    for (uint32_t host = 0; host < tree.place_of_host.size(); ++host) {
        if (tree.place_of_host[host].node != node) continue;
        inside += (inside.empty() ? "" : " ") + topology.hosts[host].name;
    }
    for (uint32_t other = node + 1; other < tree.nodes.size(); ++other) {
        if (tree.nodes[other].parent != node) continue;
        inside += (inside.empty() ? "" : " ") + shown(topology, tree, other);
    }
    return text + "(" + inside + ")";
}

std::string shape(const std::string& switches, const std::vector<std::string>& links,
                  const std::string& hosts) {
    const Topology topology = small(switches, links, hosts);
    return shown(topology, tree_of(topology));
}

TEST(SwitchTree, Examples) {
    EXPECT_EQ(shape("a", {}, "aa"), "a(h0 h1)");
    // A spine of two switches, two cables to one of them.
    EXPECT_EQ(shape("XYab", {"Xa", "Xa", "Xb", "Ya", "Yb"}, "aabb"), "XY(a3(h0 h1) b2(h2 h3))");
    // One uplink left: it still hangs on the spine.
    EXPECT_EQ(shape("XYabc", {"Xa", "Xb", "Ya", "Yb", "Xc"}, "abc"), "XY(a2(h0) b2(h1) c1(h2))");
    // A host on a spine gets a leaf of its own.
    EXPECT_EQ(shape("XYab", {"Xa", "Xb", "Ya", "Yb"}, "abX"), "Xab(a2(h0) b2(h1) X2(h2))");
    // It is told from a leaf where these have more.
    EXPECT_EQ(shape("XYab", {"Xa", "Xb", "Ya", "Yb"}, "aaabbbX"),
              "XY(a2(h0 h1 h2) b2(h3 h4 h5) X2(h6))");
    // Two leaves with few hosts stay leaves.
    EXPECT_EQ(shape("XYabcde", {"Xa", "Xb", "Xc", "Xd", "Xe", "Ya", "Yb", "Yc", "Yd", "Ye"},
                    "aaabbbcccde"),
              "XY(a2(h0 h1 h2) b2(h3 h4 h5) c2(h6 h7 h8) d2(h9) e2(h10))");
    // Two pods, one of which has lost all cables of b but one.
    EXPECT_EQ(shape("PQKLMNabcd",
                    {"aK", "aL", "bK", "cM", "cN", "dM", "dN", "KP", "LQ", "MP", "NQ"}, "abcd"),
              "PQ(KL2(a2(h0) b1(h1)) MN2(c2(h2) d2(h3)))");
    // A ring of switches is a node with a leaf for each.
    EXPECT_EQ(shape("abcd", {"ab", "bc", "cd", "da"}, "abcd"), "abcd(a2(h0) b2(h1) c2(h2) d2(h3))");
    // Switches without hosts behind them are left out.
    EXPECT_EQ(shape("abcX", {"ab", "bc", "cX"}, "ac"), "b(a1(h0) c1(h1))");
    // The middle of a chain is the root.
    EXPECT_EQ(shape("abcde", {"ab", "bc", "cd", "de"}, "abcde"),
              "c(h2 b1(h1 a1(h0)) d1(h3 e1(h4)))");
}

// Four pods of four leaves with eight hosts, two switches above these, four cores; a host on a core
// and a fifth leaf of three hosts in the first pod.
TEST(SwitchTree, ALeafThatIsNotFilledBesideAHostOnACore) {
    TopologyBuilder builder("pods");
    const auto at = [&](const std::string& name) {
        if (!builder.find(name)) {
            EXPECT_TRUE(builder.add_switch(name, 0));
        }
        return *builder.find(name);
    };
    const auto link = [&](const std::string& one, const std::string& other) {
        EXPECT_TRUE(builder.add_link(at(one), at(other), {}));
    };
    uint32_t hosts = 0;
    const auto add_hosts = [&](const std::string& name, uint32_t count) {
        for (; count > 0; --count) {
            const auto host = builder.add_host("h" + std::to_string(hosts++), 0);
            EXPECT_TRUE(builder.add_link({true, host.value()}, at(name), {}));
        }
    };
    for (uint32_t pod = 0; pod < 4; ++pod) {
        const std::string name = "p" + std::to_string(pod);
        for (uint32_t leaf = 0; leaf < (pod == 0 ? 5 : 4); ++leaf) {
            const std::string leaf_name = name + "l" + std::to_string(leaf);
            add_hosts(leaf_name, leaf == 4 ? 3 : 8);
            for (const char* upper : {"a0", "a1"}) link(leaf_name, name + upper);
        }
        for (const char* core : {"c0", "c1"}) link(name + "a0", core);
        for (const char* core : {"c2", "c3"}) link(name + "a1", core);
    }
    add_hosts("c0", 1);
    const Topology topology = finished(builder);
    const SwitchTree tree = tree_of(topology);
    expect_sound(topology, tree);
    ASSERT_EQ(tree.nodes.size(), 1u + 4 + 17 + 1);
    EXPECT_EQ(tree.nodes[0].switches.size(), 4u);
    const SwitchTree::Node& leaf = tree.nodes[tree.place_of_host[32].node];
    EXPECT_EQ(leaf.switches, std::vector{at("p0l4").number});
    EXPECT_EQ(leaf.up.links, 2u);
    const SwitchTree::Node& pod = tree.nodes[leaf.parent];
    EXPECT_EQ(pod.switches, (std::vector{at("p0a0").number, at("p0a1").number}));
    EXPECT_EQ(pod.parent, 0u);
    EXPECT_EQ(pod.up.links, 4u);
}

TEST(SwitchTree, ASecondRailIsLeftOut) {
    TopologyBuilder builder("rails");
    for (const char* name : {"a", "b"}) ASSERT_TRUE(builder.add_switch(name, 0));
    for (uint32_t host = 0; host < 4; ++host) {
        ASSERT_TRUE(builder.add_host("h" + std::to_string(host), host + 1));
        // The last two have but one adapter.
        ASSERT_TRUE(builder.add_link({true, host}, {false, 1}, {.count = 2}));
        if (host < 2) {
            ASSERT_TRUE(builder.add_link({true, host}, {false, 0}, {}));
        }
    }
    Topology topology = finished(builder);
    EXPECT_EQ(topology.hosts[0].adapters, 3u);
    const SwitchTree tree = tree_of(topology);
    EXPECT_EQ(shown(topology, tree), "b(h0 h1 h2 h3)");
    EXPECT_EQ(tree.place_of_host[0].up.links, 2u);
    // A host that is on the other alone.
    topology.hosts.push_back({"h4", 1, 9});
    for (Topology::Link& link : topology.links) ++link.other;
    topology.links.push_back({4, 5, 1, 0, 0, 0});
    EXPECT_EQ(make_switch_tree(topology).error().message,
              "rails:9: host h4 is on no switch that leads to most other hosts");
}

TEST(SwitchTree, RestrictedToSomeHosts) {
    const Topology topology =
        small("PQKLMNabcd",
              {"aK", "aL", "bK", "bL", "cM", "cN", "dM", "dN", "KP", "LQ", "MP", "NQ"}, "abcd");
    const SwitchTree tree = tree_of(topology);
    const auto part = [&](std::vector<uint32_t> hosts) {
        Topology named = topology;
        named.hosts.clear();
        for (const uint32_t host : hosts) {
            named.hosts.push_back({host == kNoNode ? "?" : "h" + std::to_string(host), 1, 0});
        }
        return shown(named, restrict_tree(tree, hosts));
    };
    EXPECT_EQ(part({0, 1}), "KL(a2(h0) b2(h1))");
    EXPECT_EQ(part({1}), "b(h1)");
    EXPECT_EQ(part({3, 1}), "PQ(KL2(b2(h1)) MN2(d2(h3)))");
    // One that is not in the file is a leaf of its own below the root.
    EXPECT_EQ(part({1, kNoNode, kNoNode}), "PQ(KL2(b2(h1)) 0(?) 0(?))");
}

TEST(SwitchTree, HostsByName) {
    TopologyBuilder builder("names");
    ASSERT_TRUE(builder.add_switch("s", 0));
    uint32_t number = 0;
    for (const char* name : {"n1", "n2.a.org", "n3.a.org", "n3.b.org"}) {
        ASSERT_TRUE(builder.add_host(name, 0));
        ASSERT_TRUE(builder.add_link({true, number++}, {false, 0}, {}));
    }
    const Topology topology = finished(builder);
    const std::vector<std::string> names{"n1", "n1.a.org", "n2", "n3", "n3.b.org", "n4"};
    EXPECT_EQ(find_hosts(topology, names), (std::vector<uint32_t>{0, 0, 1, kNoNode, 3, kNoNode}));
}

}  // namespace
}  // namespace tutti::topo
