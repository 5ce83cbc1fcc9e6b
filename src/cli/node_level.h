// SPDX-License-Identifier: BSD-3-Clause
// What the node level does with a call of a team on one host, for `tutti explain`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/call.h"
#include "node/cost.h"

namespace tutti::cli {

struct NodeLevel {
    std::string obstacle;  // why it has no memory for such a team; then all else is empty
    std::string algorithm;
    std::string why;
    std::string meeting;  // how the ranks meet; empty where that makes no difference
    node::Cost most;      // of the rank that has most, each number by itself
};

// A core for every rank is assumed. The order of the ranks' operands is kept under
// TUTTI_REPRODUCIBLE and where the operator does not commute.
NodeLevel node_level(const Call& call, uint64_t bytes);

}  // namespace tutti::cli
