// SPDX-License-Identifier: BSD-3-Clause
// The slots in which blocks of any lengths pass a ring, so that a long block is a pipeline.
//
// Letters: p participants, c bytes of a slot at most. A block takes ceil(its bytes / c) slots, an
// empty one an empty slot, so that every participant begins with a block of its own. Blocks pass in
// descending order from `first` on: first, first - 1, ..., first + 1, modulo p.
//
// A participant sends its first block and then what it has received, and receives all but its first
// block. So what it receives as slot t is slot t + s of its order, s being the slots of its first
// block, and it sends that on in round t + s. It sends the same order, but for the last block.
//
// Example, p = 3, blocks of 2, 1 and 1 slots, slots by block, first = r:
//   rank 0 sends 0 0 2     rank 1 sends 1 0 0    rank 2 sends 2 1
//          receives 2 1           receives 0 0 2        receives 1 0 0
#pragma once

#include <vector>

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class RingSlots {
  public:
    // Of a block: where its bytes stand in it.
    struct Slot {
        Rank block = 0;
        Stretch part;
    };

    RingSlots(const Shape& shape, Rank first, uint64_t slot_bytes);

    // Of all blocks, and of one.
    [[nodiscard]] uint64_t total() const { return total_; }
    [[nodiscard]] uint64_t of(Rank block) const { return slots(shape_.block_bytes(block)); }
    // Slot i < total() of the order.
    [[nodiscard]] Slot at(uint64_t i) const;

  private:
    [[nodiscard]] uint64_t slots(uint64_t bytes) const {
        return std::max<uint64_t>(1, (bytes + slot_bytes_ - 1) / slot_bytes_);
    }

    Shape shape_;
    Rank first_;
    uint64_t slot_bytes_;
    uint64_t total_ = 0;
    // Where each block's slots end in the order; empty where all blocks take as many.
    std::vector<uint64_t> ends_;
};

// The longest block of a participant.
uint64_t longest_block(const Shape& shape);

// Of blocks that are about alike, p - 1 are no less than all, or less by a sixteenth of them.
bool are_about_alike(const Shape& shape);

// Bytes of a slot, whole elements: Tuning::segment_bytes, or up to slot_bytes_max as follows.
//
// Blocks that are about alike stay whole, since all links of the ring are busy all the time. If
// some are much longer, the ring takes p - 2 slots more than all blocks together. A sixteenth of
// all blocks is little for these. 4 KiB are worth their start-up: 16 hosts at 25 Mbit/s take 40 ms
// for one block of 64 KiB, and 95 ms in slots of 16 KiB (tutti simulate).
uint64_t ring_slot_bytes(const Shape& shape, const Tuning& tuning, uint64_t slot_bytes_max);

// At most so many messages wait for each other: one slot behind the other around the ring.
uint64_t ring_slot_steps(const Shape& shape, uint64_t slot_bytes);

}  // namespace tutti::algo
