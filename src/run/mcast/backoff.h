// SPDX-License-Identifier: BSD-3-Clause
// Random times before members say the same thing, so that few say it and the others hear them.
//
// Source: truncated exponential distribution, Nonnenmacher & Biersack 1998 ("Optimal Multicast
// Feedback"), as RFC 5401, Section 3.2 and RFC 5740 use it. Density on [0, T]:
//     l / (T (e^l - 1)) e^(l t / T)   with   l = 1 + ln(members)
// drawn by inverting its distribution function: t = T / l ln(1 + u (e^l - 1)), u uniform in [0, 1).
// The more members, the more of the weight lies near T, and the first is early all the same.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/prng.h"

namespace tutti::mcast {

inline uint64_t draw_backoff_ns(Prng& prng, uint64_t ns_max, uint32_t members) {
    constexpr double kSteps = 1 << 30;
    const double u = static_cast<double>(prng.below(uint64_t{1} << 30)) / kSteps;
    const double l = 1 + std::log(static_cast<double>(members));
    const double t = std::log(1 + u * (std::exp(l) - 1)) / l;
    return static_cast<uint64_t>(t * static_cast<double>(ns_max));
}

}  // namespace tutti::mcast
