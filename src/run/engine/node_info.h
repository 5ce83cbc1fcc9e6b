// SPDX-License-Identifier: BSD-3-Clause
// Information on a team's node, for reports.
#pragma once

#include "run/engine/members.h"
#include "tutti/tutti.h"

namespace tutti::engine {

// All but struct_bytes. No call of the team is under way.
void describe_node(const Members& members, tutti_node_info& info);

}  // namespace tutti::engine
