// SPDX-License-Identifier: BSD-3-Clause
// How crowded ranks sleep where yielding does not help: on one futex word of their slice.
//
// A rank that has done something others may wait for rings; a ring costs one load where nobody
// sleeps. Nothing is lost: the sleeper counts itself before its last look, the ringer looks at the
// count after its deed, both sequentially consistent; and no sleep is longer than a millisecond
// anyway.
#pragma once

#include <cstdint>

#include "node/slice.h"

namespace tutti::engine {

// Wakes all sleepers, if any. The deed must have been stored before.
void ring(node::SliceHeader& header);

// One sleep: begin(), a last look at what is waited for, then sleep() if it is not there; end().
class Sleeper {
  public:
    explicit Sleeper(node::SliceHeader& header);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    // Until the bell rings, or has rung since construction; at most ns_max.
    void sleep(uint64_t ns_max);

  private:
    node::SliceHeader& header_;
    uint32_t rung_;
};

}  // namespace tutti::engine
