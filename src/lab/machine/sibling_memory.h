// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/settings.h"

namespace tutti::machine {

// Why ranks that are started here could not read in each other's memory; empty: they can. Tried by
// two children, who are to each other what ranks of one launcher are: Linux may let a parent do
// what it denies to siblings. Forks: no other thread may be there.
std::string sibling_memory_obstacle(const Settings& settings);

}  // namespace tutti::machine
