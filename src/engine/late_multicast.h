// SPDX-License-Identifier: BSD-3-Clause
// Multicast for a team that has made calls already.
#pragma once

#include "engine/circle.h"
#include "engine/team.h"
#include "tutti/tutti.h"

namespace tutti::engine {

// See tutti_multicast_try().
tutti_status try_multicast(Team& team, Circle::Allgather allgather, void* user);

}  // namespace tutti::engine
