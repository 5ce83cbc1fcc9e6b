// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/contest.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace tutti::node {
namespace {

// Of single copies that fold at the root (single_fold.cpp).
constexpr Rank kReduceRanksMax = 3;

// The quicker half, so that calls that were disturbed, or found a late member, do not count.
uint64_t quicker_half(std::array<uint32_t, Contest::kTimes> times) {
    std::ranges::sort(times);
    uint64_t sum = 0;
    for (size_t i = 0; i < times.size() / 2; ++i) sum += times[i];
    return sum;
}

}  // namespace

// Gathers and scatters may differ in size from rank to rank, which then count otherwise. But their
// receivers follow the givers (node_algorithms.cpp).
bool Contest::is_about(const Call& call, Rank ranks) {
    if (call.bytes < kBytesMin || call.is_signal) return false;
    switch (call.collective) {
        case TUTTI_BCAST:
        case TUTTI_ALLREDUCE:
        case TUTTI_ALLGATHER:
        case TUTTI_ALLTOALL:
        case TUTTI_GATHER:
        case TUTTI_SCATTER:
            return true;
        case TUTTI_REDUCE:
            return ranks <= kReduceRanksMax;
        default:
            return false;
    }
}

size_t Contest::size_of(const Call& call) {
    const uint64_t times = std::max(call.bytes / kBytesMin, uint64_t{1});
    return std::min(static_cast<size_t>(std::bit_width(times)) - 1, kSizes - 1);
}

bool Contest::prefers_second(const Call& call, bool tuned) const {
    const auto& kinds = kinds_[call.collective];
    for (size_t size = size_of(call) + 1; size-- > 0;) {
        if (kinds[size].says != Says::kNothing) return kinds[size].says == Says::kSecondWay;
        if (!inherits_) break;
    }
    return tuned;
}

bool Contest::enter(const Call& call, bool tuned) {
    Kind& kind = of(call);
    timed_ = nullptr;
    const bool in_use = prefers_second(call, tuned);
    const bool is_in_contest = is_on(call);
    const uint32_t number = kind.calls++;
    if (!is_in_contest) return in_use;
    const uint32_t at = number - kind.next;
    TUTTI_ASSERT(at < kCalls, "a contest has so many calls");
    if (at == 0) {
        kind.says =
            in_use ? Says::kSecondWay : Says::kFirstWay;  // whatever shorter calls find meanwhile
        kind.times = {};
    }
    const uint32_t turn = at / kCallsATurn;
    const bool is_second = turn % 2 == 0 ? in_use : !in_use;
    if (at % kCallsATurn > 0) {
        const uint32_t index = turn / 2 * (kCallsATurn - 1) + at % kCallsATurn - 1;
        timed_ = &kind.times[is_second ? 1 : 0][index];
        timed_bytes_ = call.bytes;
    }
    return is_second;
}

void Contest::ended(uint64_t now_ns) {
    TUTTI_ASSERT(timed_ != nullptr, "a time that is wanted");
    constexpr uint64_t kMost = UINT32_MAX;
    constexpr uint64_t kNsMax = uint64_t{1} << 40;  // a quarter of an hour
    const uint64_t ns = std::min(now_ns - began_ns_, kNsMax);
    *timed_ = static_cast<uint32_t>(
        std::min(ns * 1000 / std::max<uint64_t>(timed_bytes_ / 1024, 1), kMost));
    timed_ = nullptr;
}

void Contest::heard(const Call& call, const Times& all) {
    Kind& kind = of(call);
    TUTTI_ASSERT(compares(call), "times are compared when the contest's calls are over");
    const bool in_use = kind.says == Says::kSecondWay;
    const auto& used = all[in_use ? 1 : 0];
    const auto& other = all[in_use ? 0 : 1];
    uint32_t growth = kDistanceGrowth;
    if (kind.length == kCallsAtLeast) {
        if (uint64_t{2} * other[0] <= uint64_t{3} * std::max(used[0], used[1])) {
            kind.length = kCalls;
            return;
        }
        growth = kDistanceGrowthThen;
    } else if (quicker_half(other) * 10 < quicker_half(used) * 9) {
        // By a tenth, so that no accident changes what runs.
        kind.says = in_use ? Says::kFirstWay : Says::kSecondWay;
    }
    kind.length = kCallsAtLeast;
    kind.next = kind.calls + kind.distance;
    kind.distance = std::min(kind.distance * growth, kDistanceMax);
    TUTTI_ASSERT(!compares(call), "the next contest is still to come");
}

}  // namespace tutti::node
