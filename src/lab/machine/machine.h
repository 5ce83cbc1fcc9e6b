// SPDX-License-Identifier: BSD-3-Clause
// What `tutti info` says of the machine. A row's subject is its title.
#pragma once

#include <string>

#include "base/facts.h"
#include "base/settings.h"

namespace tutti::machine {

// Processors, caches, instruction set, and how fast what protects multicast packets lets them
// through here, by these settings.
FactRow processor_facts(const McastSettings& settings);
// Shared memory: how much, and whether the ways that Tutti uses to share it work here.
FactRow memory_facts(SingleCopyChoice single_copy);

// Of the codes of multicast packets.
std::string code_text(const McastSettings& settings);

}  // namespace tutti::machine
