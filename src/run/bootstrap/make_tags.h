// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/result.h"
#include "run/bootstrap/rounds.h"
#include "run/transport/p2p/tags.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// Collective over the circle: so many ranges that are free on all members, the lowest ones unless
// other teams are being made at the same time.
Result<transport::TagLease> agree_on_tags(transport::TagBook& book, const tutti_p2p& p2p,
                                          Circle& circle, uint32_t ranges);

}  // namespace tutti::bootstrap
