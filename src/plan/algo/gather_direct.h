// SPDX-License-Identifier: BSD-3-Clause
// Gather and gatherv in which every rank sends its block straight to the root.
//
// Source: the flat tree of Kini 2003, section 3.2, with a block of its own for every rank.
// Letters: p ranks, f messages a round.
//
// The root receives p - 1 messages, rank after rank beginning behind itself; each block crosses the
// network once, and the root's link is busy with nothing else. Start-up costs are linear in p.
//
// Example, p = 5, root 3, f = 2:  root: round 0 copy own, recv 4, recv 0;  round 1 recv 1, recv 2
//
// Tuning::fan_in is f (otherwise 32): two rounds are open at a time, so at most 2 f receives are.
//
// Of a gatherv a block of no bytes sends no message, and one of more than 1 GiB several: the first
// of all blocks, then the second ones.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a round has at most kRoundOpsMax operations, however large fan_in is
#pragma once

#include "plan/algo/block_pieces.h"

namespace tutti::algo {

class GatherDirect final : public Program {
  public:
    GatherDirect(const Shape& shape, Rank rank, const Tuning& tuning)
        : p_(shape.ranks),
          rank_(rank),
          root_(shape.root),
          f_(std::min(tuning.fan_in == 0 ? kFanInDefault : tuning.fan_in, sched::kRoundOpsMax - 1)),
          pieces_(shape, rank, 0) {}

    static constexpr std::string_view kName = "direct";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (rank_ != root_) return {1, 1, pieces_.count(), 0};
        const uint64_t least = pieces_.has_own() ? 1 : 0;
        return {1, 1, std::max(least, pieces_.count() * rounds_of_piece()), 0};
    }
    void set_blocks(const sched::CallBlocks& blocks) override { pieces_.set_blocks(blocks); }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (rank_ != root_) {
            out.add(sched::send(root_, static_cast<uint32_t>(round), pieces_.sent(root_, round)));
            return;
        }
        if (round == 0 && pieces_.has_own()) out.add(pieces_.copy_own());
        if (p_ == 1) return;
        const uint64_t piece = round / rounds_of_piece();
        const uint64_t first = 1 + round % rounds_of_piece() * f_;
        for (uint64_t i = first; i < std::min(first + f_, p_); ++i) {
            const auto peer = static_cast<Rank>((rank_ + i) % p_);
            const sched::Block part = pieces_.received(peer, piece);
            if (part.bytes == 0) continue;
            out.add(sched::recv(peer, static_cast<uint32_t>(piece), part, sched::kAfterNone));
        }
    }

  private:
    static constexpr uint32_t kFanInDefault = 32;

    [[nodiscard]] uint64_t rounds_of_piece() const { return (p_ - 1 + f_ - 1) / f_; }

    uint64_t p_;
    Rank rank_;
    Rank root_;
    uint32_t f_;
    BlockPieces pieces_;
};

}  // namespace tutti::algo
