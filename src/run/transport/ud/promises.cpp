// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/ud/promises.h"

#include <algorithm>

namespace tutti::transport::ud {

uint32_t choose_window(std::span<const uint32_t> free_of_member) {
    const uint32_t least = *std::min_element(free_of_member.begin(), free_of_member.end());
    const auto senders = static_cast<uint32_t>(free_of_member.size()) - 1;
    return std::clamp(least / 2 / std::max(senders, 1u), kWindowPacketsMin, kWindowPacketsMax);
}

uint32_t promise_of(uint32_t window_packets, size_t members, uint32_t own_free) {
    return std::min(window_packets * static_cast<uint32_t>(members - 1), own_free);
}

}  // namespace tutti::transport::ud
