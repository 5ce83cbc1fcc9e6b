// SPDX-License-Identifier: BSD-3-Clause
// How crowded ranks sleep where yielding does not help: on one futex word of their slice.
//
// A rank that has done something others may wait for rings; a ring costs one load where nobody
// sleeps. Nothing is lost: the sleeper counts itself before its last look, the ringer looks at the
// count after its deed, both sequentially consistent; and no sleep is longer than a millisecond
// anyway. Who knows whose deed it needs is woken by no other.
#pragma once

#include <cstdint>

#include "node/slice.h"

namespace tutti::engine {

// Ringers, or those for whose ring one sleeps: a bit for each rank modulo their number.
using Ringers = uint32_t;
inline constexpr Ringers kAllRingers = ~Ringers{0};
constexpr Ringers ringer(node::Rank rank) { return Ringers{1} << rank % 32; }

// Wakes all who sleep for one of these ringers, if any, and says how many. The deed must have been
// stored before.
uint32_t ring(node::SliceHeader& header, Ringers who = kAllRingers);

// One sleep: begin(), a last look at what is waited for, then sleep() if it is not there; end().
class Sleeper {
  public:
    explicit Sleeper(node::SliceHeader& header);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    // Until one of these rings, or anybody has rung since construction; at most ns_max.
    // False if that was how it ended.
    bool sleep(uint64_t ns_max, Ringers for_whom = kAllRingers);

  private:
    node::SliceHeader& header_;
    uint32_t rung_;
};

}  // namespace tutti::engine
