// SPDX-License-Identifier: BSD-3-Clause
// The tree for calls that fold nothing, chosen by measured times.
#pragma once

#include "run/node/layout.h"
#include "run/node/tuning.h"

namespace tutti::node {

// Layout::quick, from a tree and the flags between its ranks: levels that the flags do not tell
// apart are one, but for the outermost. The same on all ranks that have the same figures.
// Allocates: for the making of teams.
void follow_flags(Layout& layout, const Figures& figures);

}  // namespace tutti::node
