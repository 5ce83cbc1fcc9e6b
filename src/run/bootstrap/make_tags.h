// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.h"
#include "run/bootstrap/rounds.h"
#include "run/transport/p2p/tags.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// Collective over the circle: a range that is free on all members, the lowest one unless other
// teams are being made at the same time.
Result<transport::TagLease> agree_on_tags(transport::TagBook& book, const tutti_p2p& p2p,
                                          Circle& circle);

}  // namespace tutti::bootstrap
