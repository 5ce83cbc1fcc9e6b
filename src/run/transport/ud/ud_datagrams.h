// SPDX-License-Identifier: BSD-3-Clause
// A carrier's packets over unreliable datagrams of verbs: one queue pair for all groups of a
// process.
//
// Source: Kini 2003, 4.2.4 (a queue pair and a completion queue of its own, attached to the group)
// and 4.2.5; docs/protocol/ud.md.
#pragma once

#include <memory>

#include "base/result.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/verbs/device.h"

namespace tutti::transport::ud {

// Errors: packets of the port are too short, no memory that may be registered, no queue pair.
Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(std::shared_ptr<verbs::Device> device);

// 239.192.0.0/14, as over UDP: switches with IGMP know what to do with it.
carrier::GroupAddress make_group_address(uint64_t random);

}  // namespace tutti::transport::ud
