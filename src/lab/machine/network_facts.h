// SPDX-License-Identifier: BSD-3-Clause
// What `tutti info` says of the networks that carry messages between hosts (docs/networks.md).
#pragma once

#include <vector>

#include "base/facts.h"
#include "base/settings.h"

namespace tutti::machine {

// A row for each: whether runs use it, and what this process has of it. Those for tests are left
// out unless they are on. A row's subject is its title.
std::vector<FactRow> network_facts(const Settings& settings);

}  // namespace tutti::machine
