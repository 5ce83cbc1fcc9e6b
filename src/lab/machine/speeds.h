// SPDX-License-Identifier: BSD-3-Clause
// How fast data moves between two processors of this machine, as a team on them would measure it.
#pragma once

#include "base/facts.h"
#include "base/settings.h"

namespace tutti::machine {

// A pair of processors for every distance between those that this process may use, and what would
// follow from it under these settings. Takes milliseconds for each; moves this thread about
// meanwhile.
FactRow speed_facts(const Settings& settings);

}  // namespace tutti::machine
