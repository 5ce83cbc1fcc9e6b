// SPDX-License-Identifier: BSD-3-Clause
// Which file describes the cluster, and which setting names it.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "run/site/site.h"

namespace tutti::site {

struct FabricSearch {
    std::string setting;      // TUTTI_FABRIC, or empty; "off": none
    std::string site_folder;  // where the site's settings lie
    std::string slurm_conf;   // SLURM_CONF, or empty
    std::string tuned_file;   // that describes the cluster, or empty
    bool reads_yaml = true;   // else Slurm's topology.conf goes before its topology.yaml
};
struct FoundFabric {
    std::string file;    // empty: there is none
    std::string origin;  // "TUTTI_FABRIC"
};
// In this order: the setting, fabric.* in the site's folder, topology.yaml or topology.conf beside
// Slurm's file, the tuned file. Two in the site's folder are an error: nobody said which. Who reads
// no YAML gets it where there is nothing else, and says so when reading.
Result<FoundFabric> find_fabric(const FabricSearch& search);
// own: the environment's entries that are Tutti's; slurm: SLURM_CONF or null. A site's file that is
// broken is an error.
Result<FabricSearch> fabric_search(const Result<Site>& site, std::span<const std::string> own,
                                   const char* slurm);
// Of this process: its environment and site.
Result<FabricSearch> own_fabric_search();

}  // namespace tutti::site
