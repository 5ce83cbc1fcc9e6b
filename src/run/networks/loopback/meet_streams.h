// SPDX-License-Identifier: BSD-3-Clause
// Connects the members of a team by stream sockets of their machine.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/topo/placement.h"
#include "run/agree/circle.h"
#include "run/networks/loopback/stream_messages.h"
#include "run/networks/message_network.h"

namespace tutti::networks::loopback {

// So many ranks at most: each has a socket to each rank of another host.
inline constexpr uint32_t kRanksMax = 128;

// Collective over `all`, the members of the team, each of which gets its own end. Errors:
// TeamNetwork::make().
// machine: equal for processes of one (arena::machine_hash()).
Result<Done> meet_streams(Process& process, uint64_t machine, const topo::Placement& placement,
                          agree::Circle& all, std::unique_ptr<StreamMessages>& own);

}  // namespace tutti::networks::loopback
