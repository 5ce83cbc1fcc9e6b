// SPDX-License-Identifier: BSD-3-Clause
// Which file describes the cluster, and who says so.
#pragma once

#include <string>

#include "base/result.h"

namespace tutti::cli {

struct FabricSearch {
    std::string named;        // on the command line, or empty
    std::string setting;      // TUTTI_FABRIC, or empty
    std::string site_folder;  // where the site's settings lie
    std::string slurm_conf;   // SLURM_CONF, or empty
};
struct FoundFabric {
    std::string file;    // empty: there is none
    std::string origin;  // "TUTTI_FABRIC"
};
// In this order: what is named, the setting, fabric.* in the site's folder, topology.yaml or
// topology.conf beside Slurm's file. Two in the site's folder are an error: nobody said which.
Result<FoundFabric> find_fabric(const FabricSearch& search);
// Of this process: its environment and site.
Result<FabricSearch> own_fabric_search();

}  // namespace tutti::cli
