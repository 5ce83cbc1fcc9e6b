// SPDX-License-Identifier: BSD-3-Clause
// A streamed call: which of the node bcasts that close a lane hands on what an inner round has
// brought. Inside algo/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/algo/plan_inner.h"

namespace tutti::algo {

class Stream {
  public:
    // Of an algorithm that leaves blocks of so many bytes, all together, on so many nodes. None
    // where its blocks are short, too many to be counted or to stand in a round, or where a rank
    // collects some elsewhere and copies them: there one bcast closes the call.
    static std::optional<Stream> plan(const Inner& inner, uint64_t bytes, uint32_t nodes);

    // Node bcasts of a lane: number 0 is that of the own node's blocks.
    [[nodiscard]] uint64_t count() const { return count_; }
    // The first of those that hand on what this inner round has brought.
    [[nodiscard]] uint64_t first_of(uint64_t round) const {
        return before_.empty() ? round + 1 : before_[round];
    }

  private:
    uint64_t count_ = 1;
    std::vector<uint32_t> before_;  // by round; empty where each brings one block
};

}  // namespace tutti::algo
