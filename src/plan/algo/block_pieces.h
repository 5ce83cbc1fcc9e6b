// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a call that go straight to their participants, cut into messages. Inside algo/
// only.
//
// Blocks are as long as the shape says. Those of a vector form whose lengths not all ranks know are
// as the call has them, once it has given them; each participant is one rank then. Both ends of a
// block know its length, so they cut it alike, and send nothing where there is nothing.
#pragma once

#include <optional>

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class BlockPieces {
  public:
    // Messages have at most so many bytes; 0: as many as one may have.
    BlockPieces(const Shape& shape, Rank participant, uint64_t message_bytes);

    void set_blocks(const sched::CallBlocks& blocks);

    // Messages of the longest block that comes from another participant or goes to one.
    [[nodiscard]] uint64_t count() const { return count_; }
    // There is something of the participant's own to be copied: never more than there is room for.
    [[nodiscard]] bool has_own() const { return copy_own_.to.bytes > 0; }
    [[nodiscard]] const sched::Operation& copy_own() const { return copy_own_; }

    // While the call lasts.
    // Message i of the block for participant q, or from it; of no bytes behind the block's end.
    [[nodiscard]] sched::Block sent(Rank q, uint64_t i) const { return piece(input_of(q), i); }
    [[nodiscard]] sched::Block received(Rank q, uint64_t i) const { return piece(output_of(q), i); }

  private:
    [[nodiscard]] sched::Operation make_copy() const;
    [[nodiscard]] sched::Block input_of(Rank q) const;
    [[nodiscard]] sched::Block output_of(Rank q) const;
    [[nodiscard]] Stretch block_of(const CollectiveBuffer& side, Rank q) const;
    [[nodiscard]] Stretch given(const uint64_t* bytes, const uint64_t* offsets, Rank q) const;
    [[nodiscard]] sched::Block piece(sched::Block block, uint64_t i) const;
    [[nodiscard]] uint64_t messages_of(uint64_t bytes) const {
        return (bytes + message_bytes_ - 1) / message_bytes_;
    }

    Shape shape_;
    Rank own_;
    uint64_t message_bytes_;
    // Asked for between calls, too, when the arrays of the last one may be gone.
    uint64_t count_ = 0;
    sched::Operation copy_own_;
    std::optional<sched::CallBlocks> blocks_;
};

}  // namespace tutti::algo
