// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"
#include "topo/topology.h"

namespace tutti::cli {

// Asks the InfiniBand fabric, by running ibnetdiscover; that takes rights, and as long as it takes.
Result<topo::Topology> discover_fabric();

}  // namespace tutti::cli
