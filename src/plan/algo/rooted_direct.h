// SPDX-License-Identifier: BSD-3-Clause
// Gather, gatherv, scatter and scatterv in which each block goes straight between the root and its
// rank.
//
// Source: the flat tree of Kini 2003, section 3.2, with a block of its own for every rank.
// Letters: p ranks, f messages a round.
//
// The root has p - 1 messages, rank after rank beginning behind itself; each block crosses the
// network once, and the root's link is busy with nothing else. Start-up costs are linear in p.
//
// Example, p = 5, root 3, f = 2:
//   gather, root:   round 0 copy own, recv 4, recv 0;  round 1 recv 1, recv 2
//   scatter, root:  round 0 send 4, send 0, copy own;  round 1 send 1, send 2
//
// Tuning::fan_in is f (otherwise 32): two rounds are open at a time, so at most 2 f messages are.
//
// Of a vector form a block of no bytes takes no message, and one of more than 1 GiB several: the
// first of all blocks, then the second ones.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a round has at most kRoundOpsMax operations, however large fan_in is
#pragma once

#include "plan/algo/block_pieces.h"

namespace tutti::algo {

class RootedDirect final : public Program {
  public:
    RootedDirect(const Shape& shape, Rank rank, const Tuning& tuning)
        : p_(shape.ranks),
          rank_(rank),
          root_(shape.root),
          f_(std::min(tuning.fan_in == 0 ? kAtOnce : tuning.fan_in, kAtOnceMax)),
          is_to_root_(facts(shape.collective).output.on == On::kRoot),
          pieces_(shape, rank, 0) {}

    static constexpr std::string_view kName = "direct";
    // Beside the copy.
    static constexpr uint32_t kAtOnceMax = sched::kRoundOpsMax - 1;
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
            const auto message = static_cast<uint32_t>(round);
            out.add(is_to_root_ ? sched::send(root_, message, pieces_.sent(root_, round))
                                : sched::recv(root_, message, pieces_.received(root_, round)));
            return;
        }
        // The root sends before it copies, as others wait for that.
        const bool copies = round == 0 && pieces_.has_own();
        if (copies && is_to_root_) out.add(pieces_.copy_own());
        if (p_ > 1 && pieces_.count() > 0) exchange(round, out);
        if (copies && !is_to_root_) out.add(pieces_.copy_own());
    }

  private:
    static constexpr uint32_t kAtOnce = 32;

    [[nodiscard]] uint64_t rounds_of_piece() const { return (p_ - 1 + f_ - 1) / f_; }
    // The root's messages of a round.
    void exchange(uint64_t round, sched::Round& out) const {
        const uint64_t piece = round / rounds_of_piece();
        const uint64_t first = 1 + round % rounds_of_piece() * f_;
        const auto message = static_cast<uint32_t>(piece);
        for (uint64_t i = first; i < std::min(first + f_, p_); ++i) {
            const auto peer = static_cast<Rank>((rank_ + i) % p_);
            const sched::Block part =
                is_to_root_ ? pieces_.received(peer, piece) : pieces_.sent(peer, piece);
            if (part.bytes == 0) continue;
            out.add(is_to_root_ ? sched::recv(peer, message, part, sched::kAfterNone)
                                : sched::send(peer, message, part, sched::kAfterNone));
        }
    }

    uint64_t p_;
    Rank rank_;
    Rank root_;
    uint32_t f_;
    bool is_to_root_;
    BlockPieces pieces_;
};

}  // namespace tutti::algo
