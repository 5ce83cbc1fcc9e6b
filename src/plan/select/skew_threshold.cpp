// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/skew_threshold.h"

#include <algorithm>

namespace tutti::select {

std::optional<uint64_t> faster_from_ns(const Contender& follower, const Contender& fixed,
                                       const sched::Shape& shape, const topo::Placement& placement,
                                       const Cluster& cluster, uint64_t messages_max) {
    const auto price_ns = [&](const Contender& one, uint64_t skew_ns) {
        return predicted_late_ns(*one.algorithm, shape, placement, one.tuning, cluster, skew_ns,
                                 messages_max);
    };
    const auto is_faster = [&](uint64_t skew_ns) {
        const auto one = price_ns(follower, skew_ns);
        const auto other = price_ns(fixed, skew_ns);
        return one && other && *one < *other;
    };
    const auto following_ns = price_ns(follower, 0);
    const auto fixed_ns = price_ns(fixed, 0);
    if (!following_ns || !fixed_ns) return std::nullopt;
    // It is faster from there on.
    uint64_t from_ns = 2 * std::max({*following_ns, *fixed_ns, uint64_t{1}});
    if (!is_faster(from_ns)) return kNoSkew;
    uint32_t halves = 0;
    while (halves < kSkewHalves && is_faster(from_ns / 2)) {
        from_ns /= 2;
        ++halves;
    }
    if (halves == kSkewHalves) return *following_ns < *fixed_ns ? 0 : from_ns;
    uint64_t behind_ns = from_ns / 2;
    for (uint32_t step = 0; step < kSkewSteps; ++step) {
        const uint64_t between_ns = behind_ns + (from_ns - behind_ns) / 2;
        (is_faster(between_ns) ? from_ns : behind_ns) = between_ns;
    }
    return from_ns;
}

}  // namespace tutti::select
