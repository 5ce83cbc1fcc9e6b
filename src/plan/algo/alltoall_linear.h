// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, alltoallv and alltoallw in which every rank sends each block straight to the rank that
// it is for, a bounded number of them at a time.
//
// Source: Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations in
// MPICH", doi:10.1177/1094342005051521, section "All-to-all", messages of medium size. Letters: p
// ranks, r own rank, n bytes of a block, f messages a round each way, i the distance between two
// ranks.
//
// Differs from the paper: there all messages are posted at once, here f of them.
//
// At distance i, r sends to r + i and receives from r - i, modulo p. So no two ranks send to one
// rank at the same distance: a receiver's link is shared only by ranks that are ahead or behind.
// Every rank sends and receives p - 1 blocks, the least, and its own one is copied. Of a vector
// form blocks of no bytes send no message; distances have their rounds all the same.
//
// Example, p = 5, f = 2, what rank 3 does:
//   round 0: copy own, recv 2, recv 1, send 4, send 0;  round 1: recv 0, recv 4, send 1, send 2
//
// Tuning::fan_in is f (otherwise 31, the most): two rounds are open at a time, so at most 2 f
// messages are under way each way. Blocks longer than Tuning::segment_bytes (otherwise 1 GiB) go in
// pieces: the first pieces of all blocks, then the second ones.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  no operation depends on another, so that nobody waits for a rank that is late but for its
//       own blocks, and those of the two rounds
//   I2  a round has at most kRoundOpsMax operations, however large fan_in is
//   I3  a message is in the rounds of the same piece and distance at both ends, whatever else is
//       sent or not: so the one with the least of these never waits for another
#pragma once

#include "plan/algo/block_pieces.h"

namespace tutti::algo {

class AlltoallLinear final : public Program {
  public:
    AlltoallLinear(const Shape& shape, Rank rank, const Tuning& tuning)
        : p_(shape.ranks),
          r_(rank),
          f_(at_once(tuning)),
          pieces_(shape, rank, tuning.segment_bytes) {}

    static constexpr std::string_view kName = "linear";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        const uint64_t least = pieces_.has_own() ? 1 : 0;
        return {1, 1, std::max(least, pieces_.count() * rounds_of_piece(p_, f_)), 0};
    }
    void set_blocks(const sched::CallBlocks& blocks) override { pieces_.set_blocks(blocks); }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round == 0 && pieces_.has_own()) out.add(pieces_.copy_own());
        if (p_ == 1) return;
        const uint64_t piece = round / rounds_of_piece(p_, f_);
        const uint64_t first = 1 + round % rounds_of_piece(p_, f_) * f_;
        const uint64_t end = std::min<uint64_t>(first + f_, p_);
        const auto message = static_cast<uint32_t>(piece);
        for (uint64_t i = first; i < end; ++i) {
            const auto from = static_cast<Rank>((r_ + p_ - i) % p_);
            const sched::Block part = pieces_.received(from, piece);
            if (part.bytes == 0) continue;
            out.add(sched::recv(from, message, part, sched::kAfterNone));
        }
        for (uint64_t i = first; i < end; ++i) {
            const auto to = static_cast<Rank>((r_ + i) % p_);
            const sched::Block part = pieces_.sent(to, piece);
            if (part.bytes == 0) continue;
            out.add(sched::send(to, message, part, sched::kAfterNone));
        }
    }

    // The longest chain of messages: two rounds are open at a time.
    static uint64_t steps(const Shape& shape, const Tuning& tuning) {
        const uint64_t rounds = rounds_of_piece(shape.ranks, at_once(tuning));
        return std::max<uint64_t>((rounds + 1) / 2, 1);
    }

    // A send and a receive for each distance, and the copy.
    static constexpr uint32_t kAtOnce = (sched::kRoundOpsMax - 1) / 2;
    static uint32_t at_once(const Tuning& tuning) {
        return std::min(tuning.fan_in == 0 ? kAtOnce : tuning.fan_in, kAtOnce);
    }

  private:
    static uint64_t rounds_of_piece(uint64_t p, uint64_t f) { return (p - 1 + f - 1) / f; }

    uint64_t p_;
    Rank r_;
    uint32_t f_;
    BlockPieces pieces_;
};

// The record of each of the collectives that have it.
inline Algorithm linear_of(tutti_collective collective) {
    return {.name = AlltoallLinear::kName,
            .collective = collective,
            .summary = "every block straight to its rank, some at a time",
            .make = make<AlltoallLinear>,
            .steps = AlltoallLinear::steps,
            .has_single_blocks = true,
            .has_fan_in = true,
            .has_pieces = true,
            .fan_in_max = AlltoallLinear::kAtOnce};
}

}  // namespace tutti::algo
