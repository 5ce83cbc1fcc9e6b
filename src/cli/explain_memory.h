// SPDX-License-Identifier: BSD-3-Clause
// The text of `tutti explain --memory`.
#pragma once

#include <optional>

#include "base/topo/placement.h"
#include "lab/explain/rdma_use.h"
#include "lab/explain/scenario.h"

namespace tutti::cli {

// What one communicator takes, a line for each part that is there: of the node with most ranks, and
// of the rank with most. By the functions by which teams are made; nothing is measured.
// rdma: none where messages do not go so.
void print_memory(const explain::Scenario& scenario, const topo::Placement& placement,
                  const std::optional<explain::RdmaUse>& rdma);

}  // namespace tutti::cli
