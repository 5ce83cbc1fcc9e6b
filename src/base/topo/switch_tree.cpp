// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/switch_tree.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "base/topo/switch_pieces.h"

namespace tutti::topo {
namespace {

void widen(Trunk& trunk, const Topology::Link& link) {
    add(trunk, {link.count, link.bits_per_s, link.latency_ns});
}

// The links between switches as edges: R1.
SwitchGraph graph_of(const Topology& topology) {
    const auto hosts = static_cast<uint32_t>(topology.hosts.size());
    std::vector<SwitchGraph::Edge> edges;
    for (const Topology::Link& link : topology.links) {
        if (topology.is_host(link.one) || topology.is_host(link.other)) continue;
        const auto [low, high] = std::minmax({link.one - hosts, link.other - hosts});
        edges.push_back({low, high, {link.count, link.bits_per_s, link.latency_ns}});
    }
    return {static_cast<uint32_t>(topology.switches.size()), std::move(edges)};
}

// Where each host is: the rest of R1. `switch_of` has kNoNode for a host that is on no switch of
// the part.
struct HostPlaces {
    std::vector<uint32_t> switch_of;
    std::vector<Trunk> up;
};

// The part of the network, by its number in `part_of`, that most hosts have a link to.
uint32_t most_popular(const Topology& topology, const std::vector<uint32_t>& part_of) {
    const auto hosts = static_cast<uint32_t>(topology.hosts.size());
    std::vector<std::pair<uint32_t, uint32_t>> seen;  // host, part
    for (const Topology::Link& link : topology.links) {
        const auto [host, at] = std::minmax({link.one, link.other});
        if (topology.is_host(host)) seen.emplace_back(host, part_of[at - hosts]);
    }
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    std::vector<uint32_t> popular(topology.switches.size());
    for (const auto& [host, part] : seen) ++popular[part];
    return static_cast<uint32_t>(
        std::distance(popular.begin(), std::max_element(popular.begin(), popular.end())));
}

HostPlaces place_hosts(const Topology& topology, const std::vector<uint32_t>& part_of,
                       uint32_t part) {
    const auto hosts = static_cast<uint32_t>(topology.hosts.size());
    HostPlaces places{std::vector<uint32_t>(hosts, kNoNode), std::vector<Trunk>(hosts)};
    for (const Topology::Link& link : topology.links) {
        const auto [host, vertex] = std::minmax({link.one, link.other});
        if (!topology.is_host(host) || part_of[vertex - hosts] != part) continue;
        const uint32_t at = vertex - hosts;
        if (places.switch_of[host] == kNoNode) places.switch_of[host] = at;
        if (places.switch_of[host] == at) widen(places.up[host], link);
    }
    return places;
}

// Numbers the nodes below `root` depth first, those alone that have hosts below them, children by
// their first hosts.
class Planter {
  public:
    Planter(const LooseTree& loose, const HostPlaces& places) : loose_(loose) {
        first_host_.assign(loose.nodes.size(), kNoNode);
        for (uint32_t host = 0; host < places.switch_of.size(); ++host) {
            uint32_t& first = first_host_[loose.node_of_switch[places.switch_of[host]]];
            first = std::min(first, host);
        }
    }

    SwitchTree plant(const HostPlaces& places) {
        const uint32_t root = middle();
        look_down(root);
        number(root);
        for (uint32_t host = 0; host < places.switch_of.size(); ++host) {
            const uint32_t node = loose_.node_of_switch[places.switch_of[host]];
            tree_.place_of_host.push_back({number_of_[node], places.up[host]});
        }
        return std::move(tree_);
    }

  private:
    // Distances of all nodes from one.
    [[nodiscard]] std::vector<uint32_t> distances(uint32_t from) const {
        std::vector<uint32_t> distance(loose_.nodes.size(), kNoNode);
        std::vector<uint32_t> queue{from};
        distance[from] = 0;
        for (size_t i = 0; i < queue.size(); ++i) {
            for (const auto& [next, trunk] : loose_.nodes[queue[i]].neighbours) {
                if (distance[next] != kNoNode) continue;
                distance[next] = distance[queue[i]] + 1;
                queue.push_back(next);
            }
        }
        return distance;
    }

    [[nodiscard]] uint32_t farthest(const std::vector<uint32_t>& distance) const {
        uint32_t found = kNoNode;
        for (uint32_t node = 0; node < distance.size(); ++node) {
            if (first_host_[node] == kNoNode || distance[node] == kNoNode) continue;
            if (found == kNoNode || distance[node] > distance[found]) found = node;
        }
        return found;
    }

    // R5. In a tree the farthest host of any node is one of the two that are farthest apart.
    [[nodiscard]] uint32_t middle() const {
        const auto some = std::find_if(first_host_.begin(), first_host_.end(),
                                       [](uint32_t host) { return host != kNoNode; });
        const auto start = static_cast<uint32_t>(std::distance(first_host_.begin(), some));
        const uint32_t one = farthest(distances(start));
        const auto from_one = distances(one);
        const auto from_other = distances(farthest(from_one));
        const auto rank = [&](uint32_t node) {
            return std::tuple(
                std::max(from_one[node], from_other[node]),
                std::numeric_limits<size_t>::max() - loose_.nodes[node].neighbours.size(),
                loose_.nodes[node].switches.front());
        };
        uint32_t best = one;
        for (uint32_t node = 0; node < loose_.nodes.size(); ++node) {
            if (from_one[node] != kNoNode && rank(node) < rank(best)) best = node;
        }
        return best;
    }

    // Afterwards first_host_ is that of all below a node.
    void look_down(uint32_t root) {
        parent_.assign(loose_.nodes.size(), kNoNode);
        std::vector<uint32_t> order{root};
        for (size_t i = 0; i < order.size(); ++i) {
            for (const auto& [next, trunk] : loose_.nodes[order[i]].neighbours) {
                if (next == parent_[order[i]]) continue;
                parent_[next] = order[i];
                order.push_back(next);
            }
        }
        for (size_t i = order.size(); i-- > 1;) {
            uint32_t& above = first_host_[parent_[order[i]]];
            above = std::min(above, first_host_[order[i]]);
        }
    }

    void number(uint32_t root) {
        number_of_.assign(loose_.nodes.size(), kNoNode);
        struct Next {
            uint32_t node;
            Trunk up;
        };
        std::vector<Next> waiting{{root, {}}};
        std::vector<Next> children;
        while (!waiting.empty()) {
            const Next now = waiting.back();
            waiting.pop_back();
            number_of_[now.node] = static_cast<uint32_t>(tree_.nodes.size());
            const LooseTree::Node& loose = loose_.nodes[now.node];
            tree_.nodes.push_back({now.node == root ? kNoNode : number_of_[parent_[now.node]],
                                   now.up, loose.switches});
            children.clear();
            for (const auto& [next, trunk] : loose.neighbours) {
                if (next == parent_[now.node] || first_host_[next] == kNoNode) continue;
                children.push_back({next, trunk});
            }
            std::sort(children.begin(), children.end(), [this](const Next& a, const Next& b) {
                return first_host_[a.node] > first_host_[b.node];
            });
            waiting.insert(waiting.end(), children.begin(), children.end());
        }
    }

    const LooseTree& loose_;
    std::vector<uint32_t> first_host_;  // by node
    std::vector<uint32_t> parent_;
    std::vector<uint32_t> number_of_;
    SwitchTree tree_;
};

uint32_t median_above_zero(std::vector<uint32_t> counts) {
    std::erase(counts, 0u);
    const auto middle = counts.begin() + static_cast<ptrdiff_t>(counts.size() / 2);
    std::nth_element(counts.begin(), middle, counts.end());
    return *middle;
}

void number_chassis(const Topology& topology, SwitchTree& tree) {
    std::unordered_map<std::string_view, uint32_t> numbers;
    for (SwitchTree::Node& node : tree.nodes) {
        const std::string& name = topology.switches[node.switches.front()].chassis;
        const bool is_one = std::ranges::all_of(
            node.switches, [&](uint32_t at) { return topology.switches[at].chassis == name; });
        if (name.empty() || !is_one) continue;
        const auto next = static_cast<uint32_t>(numbers.size());
        node.chassis = numbers.try_emplace(name, next).first->second;
    }
}

std::string_view before_dot(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

uint32_t SwitchTree::depth_of(uint32_t node) const {
    uint32_t depth = 0;
    for (; nodes[node].parent != kNoNode; node = nodes[node].parent) ++depth;
    return depth;
}

Result<SwitchTree> make_switch_tree(const Topology& topology) {
    const auto hosts = static_cast<uint32_t>(topology.hosts.size());
    TUTTI_ASSERT(hosts > 0, "a topology has hosts");
    if (topology.switches.empty()) {
        SwitchTree tree;
        tree.nodes.emplace_back();
        tree.place_of_host.resize(hosts);
        return tree;
    }
    const SwitchGraph graph = graph_of(topology);
    const auto part_of = parts_of(graph);
    const HostPlaces places = place_hosts(topology, part_of, most_popular(topology, part_of));
    std::vector<uint32_t> hosts_on(topology.switches.size());
    for (uint32_t host = 0; host < hosts; ++host) {
        if (places.switch_of[host] == kNoNode) {
            return topology_error(topology.source, topology.hosts[host].line,
                                  "host " + printable(topology.hosts[host].name) +
                                      " is on no switch that leads to most other hosts");
        }
        ++hosts_on[places.switch_of[host]];
    }
    const auto plant = [&](uint32_t leaf_hosts_min) {
        const LooseTree loose = loosen(graph, hosts_on, leaf_hosts_min);
        SwitchTree tree = Planter(loose, places).plant(places);
        number_chassis(topology, tree);
        const auto own = static_cast<uint32_t>(tree.nodes.size()) - loose.split_off;
        return std::pair(std::move(tree), own);
    };
    auto all = plant(1);
    const uint32_t half = (median_above_zero(hosts_on) + 1) / 2;
    if (half <= 1) return std::move(all.first);
    auto some = plant(half);
    return std::move(some.second > all.second ? some.first : all.first);
}

SwitchTree restrict_tree(const SwitchTree& tree, std::span<const uint32_t> hosts) {
    // How many of the hosts are below a node.
    std::vector<uint32_t> below(tree.nodes.size());
    uint32_t known = 0;
    for (const uint32_t host : hosts) {
        if (host == kNoNode) continue;
        ++known;
        ++below[tree.place_of_host[host].node];
    }
    for (size_t node = tree.nodes.size(); node-- > 1;)
        below[tree.nodes[node].parent] += below[node];
    // The lowest node above all of them; where one is not known, that is the root.
    uint32_t top = 0;
    for (uint32_t node = 0; known == hosts.size() && node < tree.nodes.size(); ++node) {
        if (below[node] == known) top = node;
    }
    SwitchTree part;
    std::vector<uint32_t> number_of(tree.nodes.size(), kNoNode);
    for (uint32_t node = top; node < tree.nodes.size(); ++node) {
        if (node != top && below[node] == 0) continue;
        number_of[node] = static_cast<uint32_t>(part.nodes.size());
        part.nodes.push_back(tree.nodes[node]);
        SwitchTree::Node& made = part.nodes.back();
        if (node == top) {
            made.parent = kNoNode;
            made.up = {};
        } else {
            made.parent = number_of[made.parent];
        }
    }
    for (const uint32_t host : hosts) {
        if (host != kNoNode) {
            const SwitchTree::Place& place = tree.place_of_host[host];
            part.place_of_host.push_back({number_of[place.node], place.up});
            continue;
        }
        part.place_of_host.push_back({static_cast<uint32_t>(part.nodes.size()), {}});
        part.nodes.push_back({0, {}, {}});
    }
    return part;
}

std::vector<uint32_t> find_hosts(const Topology& topology, std::span<const std::string> names) {
    std::unordered_map<std::string_view, uint32_t> whole;
    std::unordered_map<std::string_view, uint32_t> brief;
    for (uint32_t host = 0; host < topology.hosts.size(); ++host) {
        const std::string& name = topology.hosts[host].name;
        whole.emplace(name, host);
        const auto [place, is_new] = brief.emplace(before_dot(name), host);
        if (!is_new) place->second = kNoNode;
    }
    std::vector<uint32_t> found;
    for (const std::string& name : names) {
        const auto exact = whole.find(name);
        const auto near = brief.find(before_dot(name));
        found.push_back(exact != whole.end()  ? exact->second
                        : near != brief.end() ? near->second
                                              : kNoNode);
    }
    return found;
}

}  // namespace tutti::topo
