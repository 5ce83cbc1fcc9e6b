// SPDX-License-Identifier: BSD-3-Clause
// What `tutti info` says of the machine. A row's subject is its title.
#pragma once

#include <memory>
#include <string>

#include "base/facts.h"
#include "base/settings.h"
#include "run/transport/verbs/device.h"

namespace tutti::machine {

// Processors, caches, instruction set, and how fast what protects multicast packets lets them
// through here, by these settings.
FactRow processor_facts(const McastSettings& settings);
// Shared memory: how much, and whether the ways that Tutti uses to share it work here.
FactRow memory_facts(SingleCopyChoice single_copy);

// Of the codes of multicast packets.
std::string code_text(const McastSettings& settings);
// Whether a port of RDMA can multicast, and whether runs use it.
std::string multicast_text(const std::shared_ptr<transport::verbs::Device>& port,
                           const McastSettings& settings);

}  // namespace tutti::machine
