// SPDX-License-Identifier: BSD-3-Clause
// The tuned file as text: docs/formats/tuned.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/topo/fabric.h"
#include "base/topo/topology.h"
#include "lab/survey/link_survey.h"
#include "plan/price/cluster_parameters.h"
#include "plan/select/fingerprint.h"
#include "plan/select/rules.h"

namespace tutti::tune {

struct Tuned {
    select::Fingerprint fingerprint;
    std::string on;     // the day
    std::string about;  // the job
    // None where there is one host: nothing was measured between hosts.
    std::optional<price::ClusterParameters> parameters;
    std::optional<topo::Topology> switches;  // that were found by measuring
    std::vector<select::Rule> rules;
};

std::string tuned_text(const Tuned& tuned);

// What was measured between hosts, with what nobody has measured as in `assumed`.
price::ClusterParameters parameters_of(const survey::LinkFigures& figures,
                                       const price::ClusterParameters& assumed);

// A fabric that was found by measuring, with the hosts' names.
Result<topo::Topology> topology_of(const topo::Fabric& fabric, std::span<const std::string> hosts);

}  // namespace tutti::tune
