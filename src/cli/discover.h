// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/result.h"
#include "base/topo/topology.h"

namespace tutti::cli {

// Where ibnetdiscover is looked for, given PATH or null.
std::string discovery_places(const char* path);
// Asks the InfiniBand fabric, by running ibnetdiscover; that takes rights, and as long as it takes.
// What it complains of although it succeeds is told on standard error, in one line.
Result<topo::Topology> discover_fabric();

}  // namespace tutti::cli
