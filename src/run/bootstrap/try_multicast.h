// SPDX-License-Identifier: BSD-3-Clause
// Tries multicast for a team that has made calls already.
#pragma once

#include "run/engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// An engine::Team::Trial, for teams across hosts. Where there is no multicast, that is no
// error.
tutti_status try_multicast(engine::Team& team);

}  // namespace tutti::bootstrap
