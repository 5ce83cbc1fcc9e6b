// SPDX-License-Identifier: BSD-3-Clause
// Which multicasts a rank has posted, and which of them are not complete.
#pragma once

#include <algorithm>
#include <cstdint>

#include "run/transport/multicast.h"

namespace tutti::transport::carrier {

struct Progress {
    uint64_t next = 0;       // all below are posted
    uint32_t under_way = 0;  // a bit for each number, modulo the bits
    // The rank waits for nothing any more.
    bool is_called_off = false;
    static_assert(kMulticastsInFlightMax == 32);

    [[nodiscard]] bool is_under_way(uint64_t number) const {
        return number < next && next - number <= kMulticastsInFlightMax &&
               (under_way >> number % kMulticastsInFlightMax & 1) != 0;
    }
    [[nodiscard]] bool is_missing(uint64_t number) const {
        return !is_called_off && (number >= next || is_under_way(number));
    }
    // Ascending.
    template <class Use>
    void for_all_under_way(Use use) const {
        const uint64_t behind = std::min<uint64_t>(next, kMulticastsInFlightMax);
        for (uint64_t number = next - behind; number < next; ++number) {
            if (is_under_way(number)) use(number);
        }
    }
};

}  // namespace tutti::transport::carrier
