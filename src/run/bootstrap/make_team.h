// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "base/result.h"
#include "run/engine/context.h"
#include "run/engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// Collective; see tutti_team_create().
Result<std::unique_ptr<engine::Team>> make_team(engine::Context& context,
                                                const tutti_team_params& params);

}  // namespace tutti::bootstrap
