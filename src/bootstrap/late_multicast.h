// SPDX-License-Identifier: BSD-3-Clause
// Multicast for a team that has made calls already.
#pragma once

#include "bootstrap/circle.h"
#include "engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// See tutti_multicast_try().
tutti_status try_multicast(engine::Team& team, Circle::Allgather allgather, void* user);

}  // namespace tutti::bootstrap
