// SPDX-License-Identifier: BSD-3-Clause
// What a team knows of its ranks on one node.
#pragma once

#include "run/engine/members.h"
#include "run/node/measured_facts.h"

namespace tutti::engine {

// No call of the team is under way.
node::NodeStory node_story(const Members& members);

}  // namespace tutti::engine
