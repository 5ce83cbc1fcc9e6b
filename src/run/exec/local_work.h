// SPDX-License-Identifier: BSD-3-Clause
// Copies and folds of this rank alone, first in, first out, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "run/exec/call_context.h"

namespace tutti::exec {

class LocalWork {
  public:
    explicit LocalWork(CallContext& call) : call_(call) {}
    // Memory for so many operations under way.
    void reserve(size_t operations) { refs_.resize(operations); }
    // The next call.
    void start() { head_ = tail_ = 0; }
    [[nodiscard]] bool is_empty() const { return head_ == tail_; }

    // A copy or a fold; also of a message that has come.
    void begin(Ref ref) {
        TUTTI_ASSERT(tail_ - head_ < refs_.size(), "memory for all that are under way");
        call_.slots.task_of(ref).worked_bytes = 0;
        refs_[tail_++ % refs_.size()] = ref;
    }
    // Works until an operation is complete, which it returns, but no more than about so many bytes,
    // from which it takes what it has done.
    [[nodiscard]] std::optional<Ref> step(uint64_t& bytes_left);

  private:
    uint64_t do_piece(Ref ref, uint64_t bytes_max);

    CallContext& call_;
    std::vector<Ref> refs_;  // a ring: from head_ to tail_, modulo its size
    uint64_t head_ = 0;
    uint64_t tail_ = 0;
};

}  // namespace tutti::exec
