// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/switch_pieces.h"

#include <algorithm>
#include <numeric>

namespace tutti::topo {
namespace {

// Sets of switches, each known by one of them.
class SwitchSets {
  public:
    explicit SwitchSets(uint32_t switches) : above_(switches) {
        std::iota(above_.begin(), above_.end(), 0u);
    }
    uint32_t find(uint32_t at) {
        while (above_[at] != at) at = above_[at] = above_[above_[at]];
        return at;
    }
    // The lower number becomes the name of both.
    void join(uint32_t one, uint32_t other) {
        one = find(one);
        other = find(other);
        above_[std::max(one, other)] = std::min(one, other);
    }

  private:
    std::vector<uint32_t> above_;
};

// Switches by level: order[k] are those of level k + 1. R3's distances, from switches with so many
// hosts.
std::vector<std::vector<uint32_t>> levels_of(const SwitchGraph& graph,
                                             const std::vector<uint32_t>& hosts_on,
                                             uint32_t leaf_hosts_min,
                                             std::vector<uint32_t>& level) {
    level.assign(graph.switches(), 0);
    std::vector<std::vector<uint32_t>> order(1);
    for (uint32_t at = 0; at < graph.switches(); ++at) {
        if (hosts_on[at] < leaf_hosts_min) continue;
        level[at] = 1;
        order[0].push_back(at);
    }
    while (!order.back().empty()) {
        std::vector<uint32_t> next;
        for (const uint32_t at : order.back()) {
            for (const auto& neighbour : graph.neighbours(at)) {
                if (level[neighbour.at] != 0) continue;
                level[neighbour.at] = level[at] + 1;
                next.push_back(neighbour.at);
            }
        }
        order.push_back(std::move(next));
    }
    order.pop_back();
    return order;
}

class Loosener {
  public:
    Loosener(const SwitchGraph& graph, const std::vector<uint32_t>& hosts_on)
        : graph_(graph),
          hosts_on_(hosts_on),
          is_bridge_(bridges_of(graph)),
          sets_(graph.switches()),
          top_(graph.switches(), kNoNode),
          merged_(graph.switches(), kNoNode) {}

    LooseTree loosen(uint32_t leaf_hosts_min) {
        for (const auto& level : levels_of(graph_, hosts_on_, leaf_hosts_min, level_)) merge(level);
        tree_.node_of_switch = merged_;
        split_off();
        // R2.
        for (uint32_t edge = 0; edge < graph_.edges().size(); ++edge) {
            const SwitchGraph::Edge& one = graph_.edges()[edge];
            if (!is_bridge_[edge] || merged_[one.one] == kNoNode) continue;
            connect(tree_.node_of_switch[one.one], tree_.node_of_switch[one.other], one.trunk);
        }
        return std::move(tree_);
    }

  private:
    // R3 for the switches of one level, all lower ones being done. Levels of neighbours differ by
    // one at most; so whatever hangs together by lower levels and has an edge to a switch of this
    // level has its own top node one level below, and every edge of it that leads out leads here.
    void merge(std::vector<uint32_t> level) {
        std::erase_if(level, [this](uint32_t at) { return hang(at); });
        struct Below {
            uint32_t at;
            uint32_t node;
            uint32_t edge;
        };
        std::vector<Below> below;
        for (const uint32_t at : level) {
            for (const auto& [other, edge] : graph_.neighbours(at)) {
                if (is_bridge_[edge] || level_[other] + 1 != level_[at]) continue;
                below.push_back({at, top_[sets_.find(other)], edge});
            }
        }
        for (const uint32_t at : level) {
            for (const auto& [other, edge] : graph_.neighbours(at)) {
                if (!is_bridge_[edge] && level_[other] <= level_[at]) sets_.join(at, other);
            }
        }
        std::vector<uint32_t> sorted(level);
        std::sort(sorted.begin(), sorted.end());
        const auto first_new = static_cast<uint32_t>(tree_.nodes.size());
        for (const uint32_t at : sorted) {
            uint32_t& top = top_[sets_.find(at)];
            if (top == kNoNode || top < first_new) {
                top = static_cast<uint32_t>(tree_.nodes.size());
                tree_.nodes.emplace_back();
            }
            tree_.nodes[top].switches.push_back(at);
            merged_[at] = top;
        }
        std::sort(below.begin(), below.end(), [](const Below& a, const Below& b) {
            return a.node != b.node ? a.node < b.node : a.edge < b.edge;
        });
        for (size_t i = 0; i < below.size();) {
            Trunk trunk;
            const Below& first = below[i];
            for (; i < below.size() && below[i].node == first.node; ++i) {
                add(trunk, graph_.edges()[below[i].edge].trunk);
            }
            connect(first.node, merged_[first.at], trunk);
        }
    }

    // R3's exception: a switch with hosts that leads to nothing but what hangs together by lower
    // levels already. Its edges end in the top node of that, so they are all of its links up, and
    // none of that node's.
    bool hang(uint32_t at) {
        if (hosts_on_[at] == 0) return false;
        uint32_t node = kNoNode;
        Trunk trunk;
        for (const auto& [other, edge] : graph_.neighbours(at)) {
            if (is_bridge_[edge]) continue;
            if (level_[other] >= level_[at]) return false;
            const uint32_t top = top_[sets_.find(other)];
            if (node != kNoNode && top != node) return false;
            node = top;
            add(trunk, graph_.edges()[edge].trunk);
        }
        if (node == kNoNode) return false;
        merged_[at] = static_cast<uint32_t>(tree_.nodes.size());
        tree_.nodes.push_back({{at}, {}});
        connect(merged_[at], node, trunk);
        return true;
    }

    // R4.
    void split_off() {
        const auto count = static_cast<uint32_t>(tree_.nodes.size());
        for (uint32_t node = 0; node < count; ++node) {
            if (tree_.nodes[node].switches.size() < 2) continue;
            const std::vector<uint32_t> switches = tree_.nodes[node].switches;
            for (const uint32_t at : switches) {
                if (hosts_on_[at] == 0) continue;
                ++tree_.split_off;
                Trunk trunk;
                for (const auto& [other, edge] : graph_.neighbours(at)) {
                    if (!is_bridge_[edge]) add(trunk, graph_.edges()[edge].trunk);
                }
                tree_.node_of_switch[at] = static_cast<uint32_t>(tree_.nodes.size());
                tree_.nodes.push_back({{at}, {}});
                connect(tree_.node_of_switch[at], node, trunk);
            }
        }
    }

    void connect(uint32_t one, uint32_t other, const Trunk& trunk) {
        tree_.nodes[one].neighbours.emplace_back(other, trunk);
        tree_.nodes[other].neighbours.emplace_back(one, trunk);
    }

    const SwitchGraph& graph_;
    const std::vector<uint32_t>& hosts_on_;
    std::vector<bool> is_bridge_;
    std::vector<uint32_t> level_;
    SwitchSets sets_;               // what hangs together by the levels that are done
    std::vector<uint32_t> top_;     // by name of a set: its node of the highest level
    std::vector<uint32_t> merged_;  // by switch: its node after R3
    LooseTree tree_;
};

}  // namespace

void add(Trunk& trunk, const Trunk& more) {
    trunk.links = trunk.links > UINT32_MAX - more.links ? UINT32_MAX : trunk.links + more.links;
    if (trunk.bits_per_s == 0 || (more.bits_per_s != 0 && more.bits_per_s < trunk.bits_per_s)) {
        trunk.bits_per_s = more.bits_per_s;
    }
    trunk.latency_ns = std::max(trunk.latency_ns, more.latency_ns);
}

SwitchGraph::SwitchGraph(uint32_t switches, std::vector<Edge> edges) : first_(switches + 1) {
    std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        return a.one != b.one ? a.one < b.one : a.other < b.other;
    });
    for (const Edge& edge : edges) {
        const bool is_same =
            !edges_.empty() && edges_.back().one == edge.one && edges_.back().other == edge.other;
        if (is_same) {
            add(edges_.back().trunk, edge.trunk);
        } else {
            edges_.push_back(edge);
        }
    }
    for (const Edge& edge : edges_) {
        ++first_[edge.one + 1];
        ++first_[edge.other + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    neighbours_.resize(2 * edges_.size());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (uint32_t number = 0; number < edges_.size(); ++number) {
        const Edge& edge = edges_[number];
        neighbours_[next[edge.one]++] = {edge.other, number};
        neighbours_[next[edge.other]++] = {edge.one, number};
    }
}

std::vector<uint32_t> parts_of(const SwitchGraph& graph) {
    SwitchSets sets(graph.switches());
    for (const SwitchGraph::Edge& edge : graph.edges()) sets.join(edge.one, edge.other);
    std::vector<uint32_t> part(graph.switches());
    for (uint32_t at = 0; at < graph.switches(); ++at) part[at] = sets.find(at);
    return part;
}

// Depth first with the earliest switch that can be reached from below without the edge by which
// one came (Tarjan 1974, "A note on finding the bridges of a graph",
// doi:10.1016/0020-0190(74)90003-9).
std::vector<bool> bridges_of(const SwitchGraph& graph) {
    std::vector<bool> is_bridge(graph.edges().size());
    std::vector<uint32_t> time(graph.switches(), kNoNode);
    std::vector<uint32_t> low(graph.switches());
    struct Visit {
        uint32_t at;
        uint32_t edge;  // by which one came
        uint32_t next;  // neighbour to look at
    };
    std::vector<Visit> path;
    uint32_t now = 0;
    const auto enter = [&](uint32_t at, uint32_t edge) {
        time[at] = low[at] = now++;
        path.push_back({at, edge, 0});
    };
    for (uint32_t start = 0; start < graph.switches(); ++start) {
        if (time[start] == kNoNode) enter(start, kNoNode);
        while (!path.empty()) {
            const Visit visit = path.back();
            const auto neighbours = graph.neighbours(visit.at);
            if (visit.next < neighbours.size()) {
                ++path.back().next;
                const auto& [other, edge] = neighbours[visit.next];
                if (edge == visit.edge) continue;
                if (time[other] == kNoNode) {
                    enter(other, edge);
                } else {
                    low[visit.at] = std::min(low[visit.at], time[other]);
                }
                continue;
            }
            path.pop_back();
            if (path.empty()) break;
            const uint32_t above = path.back().at;
            low[above] = std::min(low[above], low[visit.at]);
            if (low[visit.at] > time[above]) is_bridge[visit.edge] = true;
        }
    }
    return is_bridge;
}

LooseTree loosen(const SwitchGraph& graph, const std::vector<uint32_t>& hosts_on,
                 uint32_t leaf_hosts_min) {
    return Loosener(graph, hosts_on).loosen(leaf_hosts_min);
}

}  // namespace tutti::topo
