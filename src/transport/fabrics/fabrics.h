// SPDX-License-Identifier: BSD-3-Clause
// The fabric that carries multicast, as the settings want it. A new one is chosen here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/settings.h"
#include "transport/carrier/datagrams.h"

namespace tutti::transport::fabrics {

// Errors: no such interface, no socket.
Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(const McastSettings& settings);

// For a group, by a process that need not carry packets. Errors: what the settings name is no
// address of a group.
Result<carrier::GroupAddress> draw_group(const McastSettings& settings, uint64_t random);
// "239.192.4.7 port 17717".
std::string to_text(const carrier::GroupAddress& group, const McastSettings& settings);

}  // namespace tutti::transport::fabrics
