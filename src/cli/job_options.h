// SPDX-License-Identifier: BSD-3-Clause
// On which hosts the ranks of a call are, by --fabric, --hosts and --placement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topo/placement.h"
#include "base/topo/switch_tree.h"
#include "cli/command_line.h"

namespace tutti::cli {

inline constexpr OptionDoc kFabricFileOption{
    "--fabric", "FILE",
    "The cluster's description (docs/formats/topology.md); then all its hosts, see --hosts"};

// A cluster that a file describes.
struct DescribedCluster {
    std::shared_ptr<const topo::Topology> topology;
    topo::SwitchTree tree;  // all of it
};

// Hosts are numbered as the placement's nodes are: in the order of their lowest ranks.
struct JobHosts {
    uint32_t ranks = 1;
    uint32_t hosts = 1;                  // with ranks on them
    std::vector<uint64_t> host_of_rank;  // empty: in blocks
    std::string placed;                  // "round-robin", "random:7", "as listed"; blocks: empty
    // By number: which of those that were told of this is. Behind them come those without a rank.
    std::vector<uint32_t> order;
    std::vector<std::string> names;  // by number; empty where nobody named them
    std::optional<DescribedCluster> cluster;
    std::vector<uint32_t> found;  // by number: the cluster's host, or topo::kNoNode

    [[nodiscard]] topo::Placement placement() const {
        return host_of_rank.empty() ? topo::Placement::blocks(ranks, hosts)
                                    : topo::Placement(host_of_rank);
    }
    // The part of the cluster's tree that the call's hosts span; none without --fabric.
    [[nodiscard]] std::optional<topo::SwitchTree> tree() const;
};

// The file of --fabric; none where there is no such word.
Result<std::optional<DescribedCluster>> read_cluster(const CommandLine& command_line);
// cluster: what read_cluster() gave. Says on standard error which hosts the file does not have, and
// which that --hosts names have no rank.
Result<JobHosts> read_job_hosts(const CommandLine& command_line, uint32_t ranks,
                                std::optional<DescribedCluster> cluster);
// Whether --placement deals ranks out by this word; else it lists the host of each.
bool is_way_of_placing(std::string_view word);

}  // namespace tutti::cli
