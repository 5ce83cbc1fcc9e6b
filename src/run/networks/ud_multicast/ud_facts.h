// SPDX-License-Identifier: BSD-3-Clause
// What is told of multicast by an RDMA port without a team.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/settings.h"
#include "run/transport/verbs/device.h"

namespace tutti::networks::ud_multicast {

// Teams try it.
[[nodiscard]] bool is_wanted(const McastSettings& settings);
// Whether teams go by it, as one opens it: "where all hosts can".
[[nodiscard]] std::string port_text(const std::shared_ptr<transport::verbs::Device>& port,
                                    const McastSettings& settings);

// What a process registers at most for the multicast of all its teams.
struct Registered {
    uint64_t bytes = 0;
    uint32_t receives = 0;
    uint32_t sends = 0;
};
[[nodiscard]] Registered registered_for(uint32_t mtu_bytes);

}  // namespace tutti::networks::ud_multicast
