// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, alltoallv and alltoallw in p - 1 rounds, in each of which every rank sends one block
// and receives one.
//
// Source: Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations
// in MPICH", doi:10.1177/1094342005051521, section "All-to-all", long messages. Letters: p ranks,
// r own rank, n bytes of a block, i the number of the round from 1 on.
//
// Where p is a power of two, r exchanges with r XOR i. Otherwise, and wherever participants stand
// along the switches, it sends to r + i and receives from r - i, modulo p. The participants below a
// switch are neighbours there: of m of them min(i, m, p - i, p - m) send out in round i. So in
// every round the largest subtree loads its link most, and in all rounds together each link carries
// its m (p - m) blocks, the least.
//
// Differs from the paper: a receive is posted a round early, so that no message comes unexpected.
//
// Example, p = 4, what rank 1 does: with 0, with 3, with 2
//          p = 5, what rank 1 does: to 2 and from 0; to 3 and from 4; to 4 and from 3; to 0 and
//                                   from 2
//
// Blocks longer than Tuning::segment_bytes (otherwise 1 GiB) go in pieces, up to kPiecesAtOnce in
// a round. Of a vector form blocks of no bytes send no message, and a rank has as many rounds for a
// partner as its longest block takes.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends nothing before all of the round before it is complete
//   I2  at both ends a message stands behind those of earlier rounds and pieces, whatever else is
//       sent or not: so the earliest one never waits for another
#pragma once

#include "plan/algo/block_pieces.h"

namespace tutti::algo {

class AlltoallPairwise final : public Program {
  public:
    AlltoallPairwise(const Shape& shape, Rank rank, const Tuning& tuning)
        : p_(shape.ranks),
          r_(rank),
          is_paired_(std::has_single_bit(p_) && shape.switches == nullptr),
          pieces_(shape, rank, tuning.segment_bytes) {}

    static constexpr std::string_view kName = "pairwise";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        const uint64_t least = pieces_.has_own() ? 1 : 0;
        return {1, 1, std::max(least, (p_ - 1) * rounds_of_block()), 0};
    }
    void set_blocks(const sched::CallBlocks& blocks) override { pieces_.set_blocks(blocks); }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (p_ > 1 && rounds_of_block() > 0) {
            const uint64_t i = 1 + round / rounds_of_block();
            const uint64_t first = round % rounds_of_block() * kPiecesAtOnce;
            const uint64_t end = std::min(first + kPiecesAtOnce, pieces_.count());
            const Rank from = is_paired_ ? partner(i) : static_cast<Rank>((r_ + p_ - i) % p_);
            const Rank to = is_paired_ ? partner(i) : static_cast<Rank>((r_ + i) % p_);
            for (uint64_t j = first; j < end; ++j) {
                const sched::Block part = pieces_.received(from, j);
                if (part.bytes == 0) break;
                out.add(sched::recv(from, static_cast<uint32_t>(j), part, sched::kAfterNone));
            }
            for (uint64_t j = first; j < end; ++j) {
                const sched::Block part = pieces_.sent(to, j);
                if (part.bytes == 0) break;
                out.add(sched::send(to, static_cast<uint32_t>(j), part));
            }
        }
        if (round == 0 && pieces_.has_own()) out.add(pieces_.copy_own());
    }

  private:
    // Pieces of a block in a round, as many as the ring has.
    static constexpr uint64_t kPiecesAtOnce = 16;
    static_assert(2 * kPiecesAtOnce < sched::kRoundOpsMax);

    [[nodiscard]] uint64_t rounds_of_block() const {
        return (pieces_.count() + kPiecesAtOnce - 1) / kPiecesAtOnce;
    }
    [[nodiscard]] Rank partner(uint64_t i) const { return static_cast<Rank>(r_ ^ i); }

    uint64_t p_;
    Rank r_;
    bool is_paired_;
    BlockPieces pieces_;
};

// The record of each of the collectives that have it.
inline Algorithm pairwise_of(tutti_collective collective) {
    return {.name = AlltoallPairwise::kName,
            .collective = collective,
            .summary = "p - 1 rounds, a partner a round",
            .make = make<AlltoallPairwise>,
            .steps = passing_steps,
            .has_single_blocks = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
