// SPDX-License-Identifier: BSD-3-Clause
// The blocks of an alltoall that go straight to their participants, cut into messages. Inside algo/
// only.
#pragma once

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class AlltoallPieces {
  public:
    // Messages are as long as Tuning::segment_bytes says, and as one may be.
    AlltoallPieces(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape), rank_(rank), bytes_(sched::kBlockBytesMax) {
        if (tuning.segment_bytes != 0) bytes_ = std::min(tuning.segment_bytes, bytes_);
    }

    // Of the longest block.
    [[nodiscard]] uint64_t count() const {
        return (shape_.pair_bytes_max(rank_) + bytes_ - 1) / bytes_;
    }
    // Piece i of the block for or from participant q; empty behind its end.
    [[nodiscard]] Stretch piece(Rank q, uint64_t i) const {
        const uint64_t begin = std::min(i * bytes_, shape_.pair_bytes(rank_, q));
        return {shape_.pair_offset(rank_, q) + begin,
                std::min(bytes_, shape_.pair_bytes(rank_, q) - begin)};
    }
    [[nodiscard]] sched::Operation copy_own() const {
        const uint64_t offset = shape_.pair_offset(rank_, rank_);
        const uint64_t bytes = shape_.pair_bytes(rank_, rank_);
        return sched::copy(sched::output(offset, bytes), sched::input(offset, bytes));
    }

  private:
    Shape shape_;
    Rank rank_;
    uint64_t bytes_;
};

}  // namespace tutti::algo
