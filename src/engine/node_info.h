// SPDX-License-Identifier: BSD-3-Clause
// What a team has to say of its own node, for reports.
#pragma once

#include "engine/members.h"
#include "tutti/tutti.h"

namespace tutti::engine {

// All but struct_bytes. No call of the team is under way.
void describe_node(const Members& members, tutti_node_info& info);

}  // namespace tutti::engine
