// SPDX-License-Identifier: BSD-3-Clause
// What both of ibnetdiscover's files have in common: nodes with a GUID and a description, and ports
// that are linked. docs/formats/ibnetdiscover.md says how hosts are told from that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/topo/topology.h"

namespace tutti::topo {

enum class IbKind { kAdapter, kSwitch, kRouter };

// Of one lane, both ways, without what coding takes; 0: not known.
uint64_t ib_lane_bits(std::string_view speed);

class IbNetwork {
  public:
    explicit IbNetwork(std::string source) : source_(std::move(source)) {}

    struct Node {
        IbKind kind = IbKind::kAdapter;
        uint64_t guid = 0;
        std::string description;
        std::string chassis;  // where it is told
        uint64_t system_guid = 0;
        uint32_t line = 0;
    };
    struct Port {
        IbKind kind = IbKind::kAdapter;
        uint64_t guid = 0;
        uint32_t number = 0;
    };
    // The same node again is an error.
    Result<Done> add_node(Node node);
    // From either end or from both; line: where it was told.
    void add_link(const Port& one, const Port& other, uint64_t bits_per_s, uint32_t line);

    Result<Topology> make();

  private:
    struct Wire {
        Port one;
        Port other;
        uint64_t bits_per_s = 0;
        uint32_t line = 0;
    };
    void sort_nodes();
    [[nodiscard]] Result<Done> check_wires();
    Result<Done> add_switches(TopologyBuilder& made);
    Result<Done> add_hosts(TopologyBuilder& made);
    Result<Done> add_links(TopologyBuilder& made);

    std::string source_;
    std::vector<Node> nodes_;
    std::vector<TopologyBuilder::End> ends_;            // by node
    std::vector<bool> is_used_;                         // by node: it is a host's or a switch
    std::unordered_map<uint64_t, uint32_t> number_of_;  // by GUID
    std::vector<Wire> wires_;
};

}  // namespace tutti::topo
