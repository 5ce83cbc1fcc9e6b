// SPDX-License-Identifier: BSD-3-Clause
// From any graph of switches to a tree without a root: rules R1 to R4 of base/topo/switch_tree.h.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/topo/switch_tree.h"

namespace tutti::topo {

// The links of both together; a rate or latency that is not known is no obstacle.
void add(Trunk& trunk, const Trunk& more);

// Switches, and one edge between any two that have links.
class SwitchGraph {
  public:
    struct Edge {
        uint32_t one = 0;  // the lower number
        uint32_t other = 0;
        Trunk trunk;
    };
    // Several edges of the same two become one.
    SwitchGraph(uint32_t switches, std::vector<Edge> edges);

    [[nodiscard]] uint32_t switches() const { return static_cast<uint32_t>(first_.size()) - 1; }
    [[nodiscard]] std::span<const Edge> edges() const { return edges_; }
    struct Neighbour {
        uint32_t at = 0;
        uint32_t edge = 0;
    };
    [[nodiscard]] std::span<const Neighbour> neighbours(uint32_t at) const {
        return std::span(neighbours_).subspan(first_[at], first_[at + 1] - first_[at]);
    }

  private:
    std::vector<Edge> edges_;
    std::vector<uint32_t> first_;
    std::vector<Neighbour> neighbours_;
};

// By switch: the lowest switch that it hangs together with.
std::vector<uint32_t> parts_of(const SwitchGraph& graph);
// By edge: whether the graph would fall apart without it.
std::vector<bool> bridges_of(const SwitchGraph& graph);

struct LooseTree {
    struct Node {
        std::vector<uint32_t> switches;
        std::vector<std::pair<uint32_t, Trunk>> neighbours;
    };
    std::vector<Node> nodes;
    std::vector<uint32_t> node_of_switch;  // where its hosts are; kNoNode: in another part
    uint32_t split_off = 0;                // switches that R4 gave a node
};
// Of the part of the graph where there are hosts; one part alone. hosts_on: by switch; with
// leaf_hosts_min of them, at least 1, a switch is a leaf.
LooseTree loosen(const SwitchGraph& graph, const std::vector<uint32_t>& hosts_on,
                 uint32_t leaf_hosts_min);

}  // namespace tutti::topo
