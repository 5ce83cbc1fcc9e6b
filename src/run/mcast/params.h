// SPDX-License-Identifier: BSD-3-Clause
// What a group of multicast members agrees on, and every timer of the protocol with its derivation.
// docs/protocol/multicast.md has the table.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.h"
#include "run/mcast/packet.h"

namespace tutti::mcast {

inline constexpr uint64_t kNever = UINT64_MAX;
inline constexpr uint64_t kMicrosecond = 1'000;
inline constexpr uint64_t kMillisecond = 1'000'000;
inline constexpr uint32_t kFanOutMax = 16;

// Wire overhead of a packet beyond its own bytes: UDP 8, IPv4 20, Ethernet 14. What counts against
// a shaper or a switch's port; preamble and gap make no more than 24 of 1,500.
inline constexpr uint32_t kWireBytes = 42;

struct Timing {
    // A gap may be a packet that was overtaken: wait for so many packets' time, within bounds.
    uint32_t reorder_packets = 3;
    uint64_t reorder_ns_min = 50 * kMicrosecond;
    uint64_t reorder_ns_max = kMillisecond;
    // Random back-off before a NAK, so that others are heard first: 4 round trips (RFC 5401's
    // default factor), within bounds. Its upper bound keeps a first repair within few ms.
    uint64_t backoff_ns_min = 100 * kMicrosecond;
    uint64_t backoff_ns_max = kMillisecond;
    // The same NAK again, as measured (RFC 6298's estimate, at most twice the mean and the least),
    // within bounds, doubled from the third on. At 5 % loss one try fails with probability 1 -
    // 0.95^2 = 0.10, so 99 % of repairs need two tries and nearly all three: three within 10 ms.
    // Above hold_off_ns, or it would be ignored.
    uint64_t renak_ns_min = 2 * kMillisecond;
    uint64_t renak_ns_max = 20 * kMillisecond;
    // The sender answers NAKs for one packet once in so long. Members that ask at about the same
    // time differ by the back-off at most.
    uint64_t hold_off_ns = 1'500 * kMicrosecond;
    // After the last data packet; then doubled each time. The first tells of a lost last packet,
    // which nothing else would.
    uint64_t heartbeat_ns_first = kMillisecond;
    uint64_t heartbeat_ns_max = 100 * kMillisecond;
    // So many first heartbeats do not ask: acknowledgements that come by themselves are on the way.
    uint32_t heartbeats_silent = 2;
    // An acknowledgement that the window does not need yet waits for more to acknowledge. Below the
    // third heartbeat (1 + 2 + 4 ms), the first that asks.
    uint64_t ack_delay_ns = 5 * kMillisecond;
    // Who is waited for and silent is asked; each ask and its answer may be lost. At 20 % loss one
    // try fails with 0.36, sixteen with 8e-8.
    uint64_t ask_ns_first = 500 * kMillisecond;
    uint64_t ask_ns_again = 200 * kMillisecond;
    uint32_t asks_max = 16;
    // Notices of failure: at random within this, then doubled each time.
    uint64_t notice_ns = 5 * kMillisecond;
    uint32_t notices = 6;
    // Probes: one every so long from each member; the round ends when all know of all, at the
    // latest after probes_max.
    uint64_t probe_ns = 5 * kMillisecond;
    uint32_t probes_max = 40;
};

struct Params {
    uint32_t group = 0;
    Member member = 0;
    Member members = 0;
    // Packets of each stream that a member can hold unposted, and that a sender keeps for repair.
    uint32_t window_packets = 256;
    uint32_t packet_bytes_max = 1472;  // IPv4 and UDP on an MTU of 1,500
    uint64_t bytes_per_s = 0;          // of the own stream on the wire; 0: not paced
    // A burst stands in the narrowest queue for as long as the stream lasts, and repairs behind it.
    uint32_t burst_bytes = 4 * 1024;
    // Or as much as the rate makes in this time, if that is more: timers are no finer than that.
    uint64_t burst_ns = 100 * kMicrosecond;
    uint32_t fan_out = 4;  // children in the acknowledgement tree
    // Acknowledged at the latest after so many packets, if a quarter of the window is more: a user
    // who keeps messages until all have them may have room for few (64 of one packet in a ring).
    // 16 packets of data are 24 KB, their acknowledgement 94 bytes.
    uint32_t ack_packets_max = 16;
    // Packets that the sender may send at all, whatever they are; then it is as if it were gone.
    uint64_t packets_max = kCounterMax;
    uint32_t teams_max = 1024;
    uint32_t posts_max = 256;
    // Full packets in a row from member 0 when probing; the first half fills shapers' bursts.
    uint32_t train_packets = 64;
    uint64_t seed = 1;  // of the random back-offs; different on every member
    Timing timing;
};

// Of packets by one sender: so far below the highest that has come, one that comes late is told
// from one that has been here. A receiver that got no processor for long has up to a window of each
// sender's data at one of its sockets while it reads control packets that are newer at the other,
// and each of these may have been repaired to all; eight times as many are far more, and 1 KB.
inline uint32_t replay_counters(const Params& params) {
    return std::max(1024u, 8 * params.window_packets);
}

// How much a sender may send at once.
inline uint64_t burst_bytes(const Params& params, uint64_t bytes_per_s) {
    const uint64_t in_time = bytes_per_s / kMicrosecond * params.burst_ns / kMillisecond;
    return in_time > params.burst_bytes ? in_time : params.burst_bytes;
}

// An error names the parameter.
Result<Done> validate(const Params& params);

// Bytes of data that one packet carries.
inline uint32_t payload_bytes_max(const Params& params) {
    return params.packet_bytes_max - static_cast<uint32_t>(kDataHeaderBytes);
}

}  // namespace tutti::mcast
