// SPDX-License-Identifier: BSD-3-Clause
// The fabrics that carry multicast. A new one is added here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/settings.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/verbs/device.h"

namespace tutti::transport::fabrics {

enum class Fabric : uint8_t { kUdp, kVerbs };
inline constexpr size_t kFabrics = 2;

// The process's port for RDMA, looked for when it is asked for.
using FindPort = std::function<Result<std::shared_ptr<verbs::Device>>()>;

// Errors: no such interface, no socket; no port, too little memory that may be registered.
Result<std::unique_ptr<carrier::Datagrams>> open_datagrams(Fabric fabric,
                                                           const McastSettings& settings,
                                                           const FindPort& find_port);

// For a group, by a process that need not carry packets. Errors: what the settings name is no
// address of a group there.
Result<carrier::GroupAddress> draw_group(Fabric fabric, const McastSettings& settings,
                                         uint64_t random);
// "239.192.4.7 port 17717"; by verbs without a port.
std::string to_text(const carrier::GroupAddress& group, const McastSettings& settings);

}  // namespace tutti::transport::fabrics
