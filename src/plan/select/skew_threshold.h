// SPDX-License-Identifier: BSD-3-Clause
// The skew from which on an algorithm that follows arrivals is faster, by price, than one that does
// not.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/select/predict.h"

namespace tutti::select {

inline constexpr uint64_t kNoSkew = UINT64_MAX;

struct Contender {
    const algo::Algorithm* algorithm;
    algo::Tuning tuning = {};
    bool operator==(const Contender&) const = default;
};

// The least skew, where one participant comes late, from which on `follower` takes less from the
// last arrival to the last exit than `fixed`; 0: without skew, too; kNoSkew: however late that one
// is. None where one of them has no such price (predicted_late_ns).
//
// Such a time grows never with the skew where messages wait for given others: then it is the later
// one of what the late participant's own message begins, and of what goes on beside, less the skew.
// Of two of them the one may be ahead, behind and ahead again; so skews are looked at from the
// longest on, by halves, and what is found holds from there on. From twice the longer of both times
// without skew on nobody has anything left to do but wait. To an eighth, by kSkewsMax skews at
// most, of kLateMax walks for each contender.
std::optional<uint64_t> faster_from_ns(const Contender& follower, const Contender& fixed,
                                       const sched::Shape& shape, const topo::Placement& placement,
                                       const Cluster& cluster,
                                       uint64_t messages_max = price::kFollowedMessagesMax);
inline constexpr uint32_t kSkewHalves = 6;
inline constexpr uint32_t kSkewSteps = 2;
inline constexpr uint32_t kSkewsMax = 2 + kSkewHalves + kSkewSteps;

}  // namespace tutti::select
