// SPDX-License-Identifier: BSD-3-Clause
// Facts about live tuning: for one kind of a team's calls which ways were tried, and what came of
// it. docs/live.md.
#pragma once

#include <cstdint>

#include "base/facts.h"
#include "plan/select/live.h"

namespace tutti::select {

// For a member of a team of so many ranks. All have the same facts, so the first tells them, if
// there is something to try.
FactRow facts_of(const Live::Question& question, uint32_t rank, uint32_t ranks);

}  // namespace tutti::select
