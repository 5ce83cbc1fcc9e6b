// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/lost_hosts.h"

#include "base/assert.h"

namespace tutti::survey {

bool LostHosts::take(std::span<const Transfer> transfers, std::span<const uint64_t> times_ns) {
    TUTTI_ASSERT(times_ns.size() == transfers.size(), "one by transfer");
    const size_t hosts = is_lost_.size();
    std::vector<uint8_t> came(hosts);
    std::vector<uint8_t> failed(hosts);
    for (size_t i = 0; i < times_ns.size(); ++i) {
        const auto [from, to] = transfers[i];
        if (times_ns[i] != kMissingNs) {
            came[from] = came[to] = 1;
            continue;
        }
        if (missing_in_a_row_[to] == 0) failed[from] = 1;
        if (missing_in_a_row_[from] == 0) failed[to] = 1;
    }
    bool has_lost = false;
    for (size_t host = 0; host < hosts; ++host) {
        if (came[host]) missing_in_a_row_[host] = 0;
        if (came[host] || !failed[host] || is_lost_[host]) continue;
        if (++missing_in_a_row_[host] < kMissingMax) continue;
        is_lost_[host] = has_lost = true;
    }
    return has_lost;
}

std::vector<uint32_t> LostHosts::alive() const {
    std::vector<uint32_t> hosts;
    for (uint32_t host = 0; host < is_lost_.size(); ++host) {
        if (!is_lost_[host]) hosts.push_back(host);
    }
    return hosts;
}

}  // namespace tutti::survey
