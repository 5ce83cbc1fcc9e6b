// SPDX-License-Identifier: BSD-3-Clause
// A team over RDMA with links of its own, of which link i goes to peer i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "run/transport/verbs/device.h"
#include "run/transport/verbs/links.h"
#include "run/transport/verbs/rc.h"

namespace tutti::test {

inline std::unique_ptr<transport::verbs::Rc> make_first(
    std::unique_ptr<transport::verbs::Endpoint> endpoint, Clock& clock, uint32_t mtu_bytes,
    std::vector<transport::Rank> peers, size_t direct_bytes, bool polls_tails = false) {
    const auto count = static_cast<uint32_t>(peers.size());
    auto links = std::make_shared<transport::verbs::Links>(std::move(endpoint), clock, mtu_bytes,
                                                           count, polls_tails);
    std::vector<uint32_t> link_of(count);
    std::iota(link_of.begin(), link_of.end(), 0u);
    return std::make_unique<transport::verbs::Rc>(std::move(links), 0, std::move(peers),
                                                  std::move(link_of), direct_bytes);
}

}  // namespace tutti::test
