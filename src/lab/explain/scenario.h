// SPDX-License-Identifier: BSD-3-Clause
// A scenario: a call that a user asks about. Which collective is called, by how many ranks, on
// which hosts, under which settings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "base/topo/placement.h"
#include "base/topo/switch_tree.h"
#include "lab/check/length_patterns.h"
#include "plan/algo/registry.h"
#include "plan/sched/shape.h"
#include "plan/select/rules.h"
#include "plan/select/select.h"

namespace tutti::explain {

struct Scenario {
    tutti_collective collective = TUTTI_BARRIER;
    uint32_t ranks = 1;
    uint32_t hosts = 1;
    uint32_t root = 0;
    std::vector<uint64_t> host_of_rank;  // empty: in blocks
    std::string placed;                  // how, where not in blocks: "round-robin"
    bool is_commutative = true;
    // Of a vector form whose lengths all ranks know; sizes are then those of the longest block.
    check::LengthPattern pattern = check::LengthPattern::kEqual;
    bool has_multicast = false;
    std::string host_mpi;        // empty: none
    Settings settings;           // the environment's, then the options'
    std::string_view forced_by;  // empty: a variable
    select::Rules rules;
    // Of the cluster that the hosts are on, if it is described, what they span: host i of it is
    // node i of the placement.
    std::optional<topo::SwitchTree> tree;

    // Of the shapes that were asked for, by their bytes.
    mutable std::map<uint64_t, sched::OwnLengths> lengths_of_bytes;

    // Elements are of 8 bytes where that divides the vector, else of 4, 2 or 1. Refers to this.
    [[nodiscard]] sched::Shape shape(uint64_t bytes) const;
    [[nodiscard]] topo::Placement placement() const;
    // Where the settings ask for it, as if all hosts could.
    [[nodiscard]] NetworkSet networks() const;
    // "allreduce of 1 MiB, 16 ranks on 4 hosts"
    [[nodiscard]] std::string text(uint64_t bytes) const;
    [[nodiscard]] Result<select::Choice> choose(const sched::Shape& shape,
                                                const topo::Placement& placement,
                                                const select::NodeCall* on_node = nullptr,
                                                select::Prices* prices = nullptr,
                                                select::Prices* measured = nullptr) const;
    // This algorithm, whatever the variable says. by: what forces it, as messages name it; stays
    // valid.
    [[nodiscard]] Result<Done> force(const std::string& algorithm, std::string_view by);
};

// "segments of 64 KiB, 4 lanes in flight, 2 leaders a host, flat", or an empty text. Segments are
// worth a word only where the vector is longer.
std::string tuning_text(const algo::Algorithm& algorithm, const algo::Tuning& tuning,
                        uint64_t bytes);

}  // namespace tutti::explain
