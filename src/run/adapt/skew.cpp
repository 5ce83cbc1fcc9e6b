// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/skew.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/prng.h"

namespace tutti::adapt {
namespace {

// A generator of its own for each number under the seed.
Prng branch(uint64_t seed, uint64_t number) { return Prng(Prng(seed).next() + number); }

// -log of a share in (0, 1] is exponential with mean 1. Of 2^20 shares the least is 14 times the
// mean; what is above 4 is cut anyway.
uint64_t exponential_ns(Prng& random, uint64_t most_ns) {
    constexpr uint64_t kShares = 1u << 20;
    const double share = static_cast<double>(1 + random.below(kShares)) / kShares;
    const double ns = -std::log(share) * static_cast<double>(most_ns) / 4;
    return std::min(static_cast<uint64_t>(ns), most_ns);
}

}  // namespace

std::optional<Skew> find_skew(std::string_view name) {
    const auto* const found = std::find(kSkewNames.begin(), kSkewNames.end(), name);
    if (found == kSkewNames.end()) return std::nullopt;
    return static_cast<Skew>(found - kSkewNames.begin());
}

uint64_t Delays::delay_ns(uint64_t call, uint32_t rank, uint32_t host) const {
    TUTTI_ASSERT(rank < ranks && host < hosts, "one of those that are counted");
    Prng of_call = branch(seed, call);
    Prng of_rank = branch(of_call.next(), rank);
    switch (skew) {
        case Skew::kOne:
            return of_call.below(ranks) == rank ? most_ns : 0;
        case Skew::kUniform:
            return of_rank.below(most_ns + 1);
        case Skew::kExponential:
            return exponential_ns(of_rank, most_ns);
        case Skew::kNode:
            return of_call.below(hosts) == host ? most_ns : 0;
        case Skew::kAlternating:
            return rank % 2 * most_ns;
        case Skew::kReport:
            return (*recorded)[(seed + call) % recorded->size()][rank];
        default:
            return 0;
    }
}

}  // namespace tutti::adapt
