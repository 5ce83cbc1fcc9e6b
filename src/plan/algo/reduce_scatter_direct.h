// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, of blocks alike or not, in which every rank sends each block straight to the rank
// whose result it goes into.
//
// Source: the pairwise exchange of Thakur, Rabenseifner, Gropp 2005, "Optimization of collective
// communication operations in MPICH", doi:10.1177/1094342005051521, section 4.3. Letters: p ranks,
// r own rank, n bytes of a block, f messages a round, i the distance between two ranks.
//
// Differs from the paper: there one message is under way at a time and folded as it comes, so that
// the operator must commute. Here f are, all blocks land first, and are folded from the left in the
// order of ranks: right for every operator, the same bits whatever the placement.
//
// At distance i, r sends block r + i to r + i and receives its own block from r - i, modulo p. Each
// rank sends and receives p - 1 blocks, the least, and folds them in p - 1 rounds of its own.
//
// Example, p = 4, what rank 1 does: sends blocks 2, 3, 0 to 2, 3, 0; lands those of 0, 3, 2;
//   then ((0's op own) op 2's) op 3's.
//
// Tuning::fan_in is f (otherwise 31, the most): two rounds are open at a time. Blocks that would
// take more than 16 MiB of scratch, or longer ones than Tuning::segment_bytes, go in pieces, one
// after the other.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  nothing is written to output before all messages are complete: in place it stands over the
//       block of rank 0, which may still be on its way to that
//   I2  a round has at most kRoundOpsMax operations, however large fan_in is
#pragma once

#include "plan/algo/algorithms.h"
#include "plan/algo/ring_slots.h"

namespace tutti::algo {

inline constexpr uint32_t kScatteredAtOnce = sched::kRoundOpsMax / 2 - 1;
// Of one rank: a quarter of what TUTTI_SCRATCH allows. Pieces are longer than 64 KiB up to 256
// ranks.
inline constexpr uint64_t kLandingBytesMax = uint64_t{16} << 20;

// Bytes of a piece: whole elements, and the same for the blocks of all ranks.
inline uint64_t scattered_piece(const Shape& shape, const Tuning& tuning) {
    const uint64_t fit = kLandingBytesMax / std::max<uint64_t>(shape.ranks - 1, 1);
    const uint64_t wanted = tuning.segment_bytes == 0 ? fit : tuning.segment_bytes;
    return std::max<uint64_t>(wanted / shape.element_bytes, 1) * shape.element_bytes;
}

class ReduceScatterDirect final : public Program {
  public:
    ReduceScatterDirect(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape),
          p_(shape.ranks),
          r_(rank),
          piece_(scattered_piece(shape, tuning)),
          f_(std::min(tuning.fan_in == 0 ? kScatteredAtOnce : tuning.fan_in, kScatteredAtOnce)) {}

    static constexpr std::string_view kName = "direct";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        const uint64_t pieces = (longest_block(shape_) + piece_ - 1) / piece_;
        return {1, 1, pieces * rounds_of_piece(), align_up((p_ - 1) * landing_bytes())};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (p_ == 1) {
            out.add(sched::copy(sched::output(0, shape_.block_bytes(r_)), own(0, ~uint64_t{0})));
            return;
        }
        const uint64_t piece = round / rounds_of_piece();
        const uint64_t step = round % rounds_of_piece();
        if (step < exchanges()) return exchange(piece, step, out);
        const Stretch part = part_of(r_, piece);
        if (part.bytes == 0) return;
        // The parts of ranks 0 and 1 first, then those of the others, one a round.
        const auto next = static_cast<Rank>(step - exchanges() + 1);
        const sched::Block result = sched::output(part.offset, part.bytes);
        out.add(sched::reduce(result, next == 1 ? given(0, part) : result, given(next, part)));
    }

  private:
    [[nodiscard]] uint64_t exchanges() const { return (p_ - 1 + f_ - 1) / f_; }
    [[nodiscard]] uint64_t rounds_of_piece() const { return exchanges() + p_ - 1; }
    [[nodiscard]] uint64_t landing_bytes() const {
        return std::min(piece_, shape_.block_bytes(r_));
    }
    // Of rank q's block; empty behind its end.
    [[nodiscard]] Stretch part_of(Rank q, uint64_t piece) const {
        const uint64_t offset = std::min(piece * piece_, shape_.block_bytes(q));
        return {offset, std::min(piece_, shape_.block_bytes(q) - offset)};
    }
    [[nodiscard]] sched::Block own(uint64_t offset, uint64_t bytes) const {
        return sched::input(shape_.block_offset(r_) + offset,
                            std::min(bytes, shape_.block_bytes(r_)));
    }
    // What rank q gives to that part of the own block, where it stands.
    [[nodiscard]] sched::Block given(Rank q, const Stretch& part) const {
        if (q == r_) return own(part.offset, part.bytes);
        return sched::scratch((q < r_ ? q : q - 1) * landing_bytes(), part.bytes);
    }
    void exchange(uint64_t piece, uint64_t step, sched::Round& out) const {
        const uint64_t first = 1 + step * f_;
        const uint64_t end = std::min<uint64_t>(first + f_, p_);
        const auto message = static_cast<uint32_t>(piece);
        const Stretch part = part_of(r_, piece);
        // The last fold of the piece before reads what landed for it.
        const uint64_t after = step == 0 && piece > 0 ? sched::kAfterAll : sched::kAfterNone;
        for (uint64_t i = first; i < end && part.bytes > 0; ++i) {
            const auto from = static_cast<Rank>((r_ + p_ - i) % p_);
            out.add(sched::recv(from, message, given(from, part), after));
        }
        for (uint64_t i = first; i < end; ++i) {
            const auto to = static_cast<Rank>((r_ + i) % p_);
            const Stretch theirs = part_of(to, piece);
            if (theirs.bytes == 0) continue;
            out.add(sched::send(to, message,
                                sched::input(shape_.block_offset(to) + theirs.offset, theirs.bytes),
                                sched::kAfterNone));
        }
    }

    Shape shape_;
    Rank p_;
    Rank r_;
    uint64_t piece_;
    uint32_t f_;
};

inline Algorithm reduce_scatter_direct_of(tutti_collective collective) {
    return {.name = ReduceScatterDirect::kName,
            .collective = collective,
            .summary = "every block straight to its rank, folded from the left",
            .make = make<ReduceScatterDirect>,
            .scratch_bytes = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                const uint64_t piece = scattered_piece(shape, tuning);
                return align_up((shape.ranks - 1) * std::min(piece, longest_block(shape)));
            },
            .steps = one_step,
            .has_fan_in = true,
            .has_pieces = true,
            .fan_in_max = kScatteredAtOnce,
            .folds_from_left = true};
}

}  // namespace tutti::algo
