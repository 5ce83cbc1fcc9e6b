// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/followed_rounds.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::price {
namespace {

// Rounds of a stretch that are followed, and how many of them are in step: the first ones fill the
// links.
constexpr uint64_t kKept = 4;
constexpr uint64_t kSteady = 2;

}  // namespace

FollowedRounds::FollowedRounds(uint64_t rounds, std::span<const sched::Stretch> alike)
    : whole_(rounds), rounds_(rounds) {
    for (const sched::Stretch& one : alike) {
        if (one.rounds <= 2 * kKept) continue;
        TUTTI_ASSERT(one.first + one.rounds <= whole_, "a stretch is within the lane");
        stretches_.push_back(one);
        gaps_.push_back({one.first + kKept - (whole_ - rounds_), one.rounds - kKept});
        rounds_ -= one.rounds - kKept;
    }
    ends_ns_.resize(rounds_ + 1);
}

std::unique_ptr<sched::Program> FollowedRounds::brief(const sched::Program& whole) const {
    const std::vector<uint64_t> kept(stretches_.size(), kKept);
    return sched::shortened(whole, stretches_, kept);
}

void FollowedRounds::complete(uint64_t rounds, uint64_t at_ns) {
    TUTTI_ASSERT(rounds <= rounds_, "a round that is followed");
    ends_ns_[rounds] = std::max(ends_ns_[rounds], at_ns);
}

uint64_t FollowedRounds::left_out_ns() const {
    uint64_t sum = 0;
    for (const Gap& gap : gaps_) {
        const uint64_t seen_ns = ends_ns_[gap.behind] - ends_ns_[gap.behind - kSteady];
        sum += seen_ns * gap.rounds / kSteady;
    }
    return sum;
}

}  // namespace tutti::price
