// SPDX-License-Identifier: BSD-3-Clause
// Reads the clock of the first member, for a team across hosts that has made calls already.
#pragma once

#include "run/engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// An engine::Team::Trial. Each host reads the clock of another one, by the best of some messages
// there and back (run/adapt/clock_offset.h), in as many steps as the hosts' number has bits;
// together they lead to the first. Where there is no memory for it, the team does without figures.
tutti_status read_clocks(engine::Team& team);

}  // namespace tutti::bootstrap
