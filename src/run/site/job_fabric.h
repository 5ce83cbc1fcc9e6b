// SPDX-License-Identifier: BSD-3-Clause
// The part of a cluster's description that a job needs. One process of the job reads the file,
// which may be another on each host or too long for all, and hands on the text of the part; all
// make the same tree of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/topo/switch_tree.h"

namespace tutti::site {

struct FabricPart {
    std::string text;     // in our own format (docs/formats/topology.md); empty: of no use
    std::string missing;  // a list of the hosts that the file does not have; each is on its own
};
// hosts: names, in any order; one that repeats counts once. An error is one line that begins with
// the file's name. Slurm's topology.yaml is none of the formats that are read here.
Result<FabricPart> fabric_part(const std::string& file, std::span<const std::string> hosts);

struct JobFabric {
    topo::SwitchTree tree;
    std::vector<std::string> hosts;  // by number in the tree
    // topo::kNoNode where there is none of this name.
    [[nodiscard]] uint32_t find(std::string_view host) const;
};
Result<JobFabric> parse_fabric_part(std::string_view text);

}  // namespace tutti::site
