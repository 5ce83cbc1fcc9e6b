// SPDX-License-Identifier: BSD-3-Clause
// What a block that one rank reads costs in processor time: written to shared memory and copied
// from there, or read where it stands. That counts where ranks share processors. There no trip
// between two of them can be measured, since each waits for its turn. So each rank measures by
// itself. Inside node/ only.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "run/node/peer_memory.h"
#include "run/node/tuning.h"

namespace tutti::node {

class ReadOnce {
  public:
    // Takes all memory that measure() needs, some 2 MiB.
    ReadOnce();
    // Nanoseconds, by size up to 64 KiB: `ring` two copies, `single` one reading of this rank's
    // own memory, as `memory` reads it. 0: it cannot, or was not tried.
    [[nodiscard]] Times measure(PeerMemory& memory, Rank own, Clock& clock);

  private:
    // Each part is used once, behind all before it: a program's blocks are seldom in a cache.
    [[nodiscard]] std::byte* next(size_t bytes);

    std::vector<std::byte> space_;
    size_t used_ = 0;
};

// Of several ranks: the most that any of them takes for each.
void take_most(Times& times, const Times& other);

}  // namespace tutti::node
