// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv on a ring, p - 1 rounds of one block.
//
// Source: Patarasuk, Yuan 2007, doi:10.1109/IPDPS.2007.370405, section 3.2 (the second half of
// their allreduce). Letters: p ranks, r own rank, s the round.
//
// Differs from the paper: a block longer than a segment (Tuning::segment_bytes) travels as several
// messages of a round, so that each stays below what the fabric below us would first ask leave for.
//
// In round s, r sends block r - s to r + 1 and receives block r - s - 1 from r - 1, modulo p. Every
// rank receives each other block once; neighbours only talk to neighbours.
//
// Of an allgatherv, a round takes as long as the longest block that passes somewhere in it.
//
// Example, p = 4, what rank 0 does:  round    0  1  2
//                                    sends    0  3  2
//                                    receives 3  2  1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  the send of a round depends on nothing of the round before but what was received there
#pragma once

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class AllgatherRing final : public Program {
  public:
    AllgatherRing(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape), p_(shape.ranks), r_(rank), segment_bytes_(tuning.segment_bytes) {}

    static constexpr std::string_view kName = "ring";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        return {1, 1, std::max<uint64_t>(1, uint64_t{p_} - 1), 0};
    }
    void read(uint64_t, uint64_t s, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, shape_.block_bytes(r_));
        if (p_ > 1) {
            const auto message = static_cast<uint32_t>(s * kPiecesMax);
            const sched::Block next = block(s + 1);
            for (uint32_t i = 0; i < pieces(next); ++i) {
                out.add(sched::recv((r_ + p_ - 1) % p_, message + i, piece_of(next, i),
                                    sched::kAfterNone));
            }
            const sched::Block held = s == 0 ? own : block(s);
            // What the round before received stands first in it.
            const uint64_t received = sched::after_op(pieces(held)) - 1;
            for (uint32_t i = 0; i < pieces(held); ++i) {
                out.add(sched::send((r_ + 1) % p_, message + i, piece_of(held, i), received));
            }
        }
        if (s == 0) out.add(sched::copy(block(0), own));
    }

  private:
    // The block of rank r - back.
    [[nodiscard]] sched::Block block(uint64_t back) const {
        const auto i = static_cast<Rank>((r_ + p_ - back) % p_);
        return sched::output(shape_.block_offset(i), shape_.block_bytes(i));
    }

    // Messages of a block: a round holds those of two blocks and a copy.
    static constexpr uint32_t kPiecesMax = 16;
    static_assert(2 * kPiecesMax < sched::kRoundOpsMax);

    [[nodiscard]] uint32_t pieces(const sched::Block& block) const {
        if (segment_bytes_ == 0 || block.bytes <= segment_bytes_) return 1;
        const uint64_t wanted = (block.bytes + segment_bytes_ - 1) / segment_bytes_;
        return static_cast<uint32_t>(std::min<uint64_t>(wanted, kPiecesMax));
    }
    // All of a block's pieces but the last are equally long.
    [[nodiscard]] sched::Block piece_of(sched::Block block, uint32_t i) const {
        const uint64_t each = (block.bytes + pieces(block) - 1) / pieces(block);
        const uint64_t from = std::min(i * each, block.bytes);
        return {block.buffer, block.offset + from, std::min(each, block.bytes - from)};
    }

    Shape shape_;
    Rank p_;
    Rank r_;
    uint64_t segment_bytes_;
};

inline Algorithm allgather_ring_of(tutti_collective collective) {
    return {.name = AllgatherRing::kName,
            .collective = collective,
            .summary = "blocks around a ring: neighbours only",
            .obstacle = if_block_too_long,
            .make = make<AllgatherRing>,
            .alike = [](const Shape& shape) -> AlikeRounds {
                if (shape.lengths.are_there()) return {};
                return {{{0, shape.ranks - uint64_t{1}}}};
            },
            .steps = passing_steps,
            .has_single_blocks = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
