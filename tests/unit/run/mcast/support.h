// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the multicast machines share.
#pragma once

#include <array>
#include <vector>

#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

inline Params test_params(Member members = 4, Member member = 0) {
    Params params;
    params.group = 77;
    params.members = members;
    params.member = member;
    params.window_packets = 8;
    params.packet_bytes_max = kControlBytesMax;
    params.fan_out = 2;
    params.posts_max = 4;
    params.teams_max = 2;
    return params;
}

// A NAK that owns its ranges.
struct OwnNak {
    std::array<std::byte, kNakRangesMax * 8> bytes{};
    Nak nak;
    OwnNak(Member stream, std::vector<Range> ranges, bool others_asked = false) {
        const size_t used = write_ranges(ranges[0].first, ranges, bytes);
        nak = {stream, others_asked, ranges[0].first,
               std::span<const std::byte>(bytes).first(used)};
    }
    OwnNak(const OwnNak&) = delete;
    OwnNak& operator=(const OwnNak&) = delete;
};

inline std::vector<std::byte> test_bytes(size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 13 + 5);
    return data;
}

}  // namespace tutti::mcast
