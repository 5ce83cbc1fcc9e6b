// SPDX-License-Identifier: BSD-3-Clause
// The fabric on which `tutti simulate` runs a call, `tutti explain` prices and `tutti check` counts
// one, as their options give it: a described cluster, or a switch or two levels of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topo/fabric.h"
#include "cli/command_line.h"
#include "cli/job_options.h"
#include "plan/price/cluster_parameters.h"
#include "plan/select/predict.h"

namespace tutti::cli {

std::span<const OptionDoc> fabric_options();

struct NamedFabric {
    topo::Fabric fabric;  // its first hosts are the call's
    std::string text;     // "100000 Mbit/s, 1 us", and what is told of leaves; "f.toml, 3 switches"
    // By number; empty where nobody named them.
    std::vector<std::string> host_names;
    std::vector<std::string> switch_names;
    price::ClusterParameters parameters;  // of which links are in the fabric
};
// What it is to prices.
inline select::Cluster priced_cluster(const NamedFabric& named) {
    return {price::Network::on(named.fabric, named.parameters), named.parameters.node};
}
// others: hosts of the described cluster that are on the fabric behind the call's own. assumed:
// what holds where there is no --parameters.
Result<NamedFabric> read_fabric(const CommandLine& command_line, const JobHosts& job,
                                std::span<const uint32_t> others = {},
                                const price::ClusterParameters& assumed = {});

}  // namespace tutti::cli
