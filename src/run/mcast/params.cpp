// SPDX-License-Identifier: BSD-3-Clause
#include "run/mcast/params.h"

namespace tutti::mcast {
namespace {

constexpr uint32_t kWindowPacketsMax = 65'536;
// The largest UDP payload.
constexpr uint32_t kPacketBytesMax = 65'507;

Error bad(const char* what) {
    return {ErrorCode::kArgument, std::string("multicast group: ") + what};
}

}  // namespace

Result<Done> validate(const Params& params) {
    const Timing& timing = params.timing;
    if (params.members < 2) return bad("a group has at least 2 members");
    if (params.members > kMembersMax) return bad("a group has at most 4096 members");
    if (params.member >= params.members) return bad("the own member is not in the group");
    if (params.window_packets < 4) return bad("the window has at least 4 packets");
    if (params.window_packets > kWindowPacketsMax)
        return bad("the window has at most 65536 packets");
    if (params.packet_bytes_max > kPacketBytesMax) return bad("a packet has at most 65507 bytes");
    if (params.packet_bytes_max < kControlBytesMax) {
        return bad("a packet has room for at least 564 bytes");
    }
    if (params.fan_out < 1 || params.fan_out > kFanOutMax) {
        return bad("the acknowledgement tree has a fan-out of 1 to 16");
    }
    if (params.ack_packets_max == 0) return bad("packets are acknowledged");
    if (params.posts_max == 0) return bad("at least one message can be posted");
    if (params.teams_max == 0) return bad("at least one team can be open");
    if (timing.renak_ns_min <= timing.hold_off_ns) {
        return bad("a NAK is repeated no sooner than the sender answers it again");
    }
    return Done{};
}

}  // namespace tutti::mcast
