// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/settings.h"
#include "plan/select/rules.h"

namespace tutti::bootstrap {

// Whether a team across hosts has any use for it under these settings; and whether it waits with it
// until calls come that would use it, where the embedder can.
bool wants_multicast(const Settings& settings);
bool may_wait_for_multicast(const Settings& settings, const select::Rules& rules);

}  // namespace tutti::bootstrap
