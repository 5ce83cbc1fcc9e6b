// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/probe_findings.h"

#include <algorithm>

namespace tutti::multicast {

namespace {

void take_slower(std::optional<uint64_t>& slowest, uint64_t bytes_per_s) {
    if (bytes_per_s == 0) return;
    slowest = std::min(slowest.value_or(UINT64_MAX), bytes_per_s);
}

}  // namespace

std::optional<uint64_t> JointFinding::rate(uint64_t wanted) const {
    const auto of_network = wanted > 0 ? std::optional(wanted) : bytes_per_s;
    if (!of_network) return std::nullopt;
    return std::min(*of_network, code_bytes_per_s.value_or(UINT64_MAX));
}

JointFinding join_findings(std::span<const Finding> all, const sched::Speed& message) {
    JointFinding joint;
    joint.message = message;
    for (const Finding& one : all) {
        joint.is_good &= one.obstacle == agree::Obstacle::kNone;
        joint.is_of_network &=
            one.obstacle == agree::Obstacle::kNone || one.obstacle == agree::Obstacle::kNetwork;
        joint.is_cut |= one.is_cut != 0;
        take_slower(joint.bytes_per_s, one.bytes_per_s);
        take_slower(joint.code_bytes_per_s, one.code_bytes_per_s);
        joint.round_trip_ns = std::max(joint.round_trip_ns, one.round_trip_ns);
        joint.latency_ns = std::max(joint.latency_ns, one.round_trip_ns_min / 2);
        joint.message = sched::slower(joint.message, one.message);
    }
    return joint;
}

}  // namespace tutti::multicast
