// SPDX-License-Identifier: BSD-3-Clause
// The receive buffer of an allgatherv as schedules have it: its blocks one after the other in the
// order of ranks. If the program wants them elsewhere, they are received into memory of this and
// copied to their places at the end. Ranks may differ in that, so nothing is chosen by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "run/node/node_team.h"

namespace tutti::engine {

class BlockPlaces {
  public:
    // A call begins. Makes the memory that it takes, if that is not there from an earlier one.
    // Throws std::bad_alloc; then it may be tried again.
    void begin(const node::Call& call, uint32_t ranks);
    // Where the first block goes in that call.
    [[nodiscard]] std::byte* first(const node::Call& call) const {
        return is_elsewhere_ ? memory_.get() : call.recv + offset_;
    }
    [[nodiscard]] bool are_elsewhere() const { return is_elsewhere_; }
    // It is over, and blocks are elsewhere: they go to their places. rank: the own one.
    void end(const node::Call& call, uint32_t rank, uint32_t ranks);

  private:
    std::unique_ptr<std::byte[]> memory_;
    uint64_t bytes_ = 0;
    uint64_t offset_ = 0;  // of the first block in the program's buffer, if they are in order
    bool is_elsewhere_ = false;
};

}  // namespace tutti::engine
