// SPDX-License-Identifier: BSD-3-Clause
// Chooses the fabric of a team's multicast where two reach all its hosts: the one on which
// broadcasts are predicted to be faster. It computes in integers, and only from results of the two
// trials that all members know, so all choose the same.
//
// Source: ours; docs/protocol/ud.md, "Which teams go by it". A broadcast takes what prices give it:
// one latency, and its bytes at the rate, which no processor's codes exceed (docs/price.md).
#pragma once

#include <cstdint>

namespace tutti::multicast {

struct AgreedMulticast;

// Of how many bytes, one that the latency decides, one that the rate does.
inline constexpr uint64_t kShortBytes = 8;
inline constexpr uint64_t kLongBytes = 64u << 10;

// What these broadcasts take by one fabric; 0: it was not compared with another.
struct Predicted {
    uint64_t short_ns = 0;
    uint64_t long_ns = 0;
    bool operator==(const Predicted&) const = default;
};

// 0 where the trial could not tell a latency or a rate.
Predicted predict(const AgreedMulticast& measured);

// Else verbs stay: also where one of them is not known, and where the two are near each other.
bool is_udp_faster(const Predicted& verbs, const Predicted& udp);

}  // namespace tutti::multicast
