// SPDX-License-Identifier: BSD-3-Clause
// Measures messages between hosts, for a team that has made calls already.
#pragma once

#include "base/settings.h"
#include "plan/select/rules.h"
#include "run/engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// Whether a team across hosts is to measure under these settings, when its calls come often.
bool may_measure(const Settings& settings, const select::Rules& rules);

// An engine::Team::Trial, for teams across hosts. Where it cannot be measured, that is no error,
// and it is not tried again.
tutti_status measure_messages(engine::Team& team);

}  // namespace tutti::bootstrap
