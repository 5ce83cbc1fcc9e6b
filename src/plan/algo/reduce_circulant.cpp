// SPDX-License-Identifier: BSD-3-Clause
// Reduce on a circulant graph, n blocks in n - 1 + ceil(log2 p) rounds.
//
// Source: Träff 2024, arXiv:2407.18004, where the broadcast of plan/algo/circulant.h is run
// backwards. Letters as there.
//
// Round u does what round n - 2 + q - u of the broadcast does, the other way: a rank receives the
// block that it sends there and folds it, and sends the block that it receives there, once. Blocks
// come along different trees, so the operator must commute.
//
// A rank has something folded of 2 q blocks at most: a broadcast hands on a block in two phases. So
// block i is folded in area i modulo 2 q. Block i + 2 q leaves that area two rounds before, at
// least: only d = 1 receives a block from the root in the first round of a broadcast's phase, and
// in the last round d = 1 hands on that one, none of the phase before (I4 of the unit test). What
// comes lands in two areas by turns.
//
// Example, p = 5, root 0, 2 blocks: that of plan/algo/bcast_circulant.cpp from its end
//   3->0 block 1, 4->1 1, 2->4 0;  2->0 1, 1->4 0;  1->0 1, 4->3 0;  3->0 0
//
// Tuning::segment_bytes cuts blocks, otherwise CirculantCut.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends a block when it has folded all that come to it of that block
//   I2  output is written at the root only
#include "plan/algo/circulant.h"

namespace tutti::algo {
namespace {

class ReduceCirculant final : public Program {
  public:
    ReduceCirculant(const Shape& shape, Rank rank, const Tuning& tuning)
        : skips_(shape.ranks),
          cut_(std::max<uint64_t>(1, shape.bytes), shape.element_bytes, skips_, tuning),
          blocks_(skips_, (rank + shape.ranks - shape.root) % shape.ranks, cut_.blocks()),
          p_(shape.ranks),
          rank_(rank),
          n_(shape.bytes),
          is_root_(rank == shape.root) {}

    static constexpr std::string_view kName = "circulant";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        return {1, 1, blocks_.end() - blocks_.begin(), (kLandings + areas()) * area_bytes()};
    }
    void read(uint64_t, uint64_t u, sched::Round& out) const override {
        out.clear();
        if (p_ == 1) {
            out.add(sched::copy(sched::output(0, n_), sched::input(0, n_)));
            return;
        }
        const uint64_t round = blocks_.end() - 1 - u;
        if (const auto coming = blocks_.sent(round)) fold(*coming, round, u, out);
        if (const auto going = blocks_.received(round)) {
            // Its last fold may be in the round before.
            const bool is_new = blocks_.sent(round + 1) == going;
            out.add(sched::send(circulant_previous(skips_, rank_, round), static_cast<uint32_t>(u),
                                so_far(*going, round),
                                is_new ? sched::after_op(0) : sched::kAfterNone));
        }
    }

  private:
    static constexpr uint64_t kLandings = 2;
    [[nodiscard]] uint64_t area_bytes() const { return align_up(cut_.block_bytes()); }
    [[nodiscard]] uint64_t areas() const {
        return std::min(cut_.blocks(), 2 * uint64_t{skips_.levels()});
    }

    void fold(uint64_t i, uint64_t round, uint64_t u, sched::Round& out) const {
        // The fold of the round before may be the operand.
        const bool is_new = blocks_.sent(round + 1) == i;
        const sched::Block landing = sched::scratch(u % kLandings * area_bytes(), cut_[i].bytes);
        out.add(sched::recv_reduce_right(circulant_next(skips_, rank_, round),
                                         static_cast<uint32_t>(u), folded(i), so_far(i, round),
                                         landing, is_new ? sched::after_op(0) : sched::kAfterNone));
    }
    [[nodiscard]] sched::Block folded(uint64_t i) const {
        const Stretch part = cut_[i];
        if (is_root_) return sched::output(part.offset, part.bytes);
        return sched::scratch((kLandings + i % areas()) * area_bytes(), part.bytes);
    }
    // Before this round of the broadcast is run.
    [[nodiscard]] sched::Block so_far(uint64_t i, uint64_t round) const {
        if (blocks_.sends_later(round, i)) return folded(i);
        return sched::input(cut_[i].offset, cut_[i].bytes);
    }

    CirculantSkips skips_;
    CirculantCut cut_;
    CirculantBlocks blocks_;
    Rank p_;
    Rank rank_;
    uint64_t n_;
    bool is_root_;
};

}  // namespace

Algorithm reduce_circulant() {
    return {.name = ReduceCirculant::kName,
            .collective = TUTTI_REDUCE,
            .summary = "n blocks around a circle at q distances by turns: n - 1 + q rounds",
            .obstacle = unless_commutative,
            .make = make<ReduceCirculant>,
            .scratch_bytes = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                return ReduceCirculant(shape, shape.root, tuning).extent().scratch_bytes;
            },
            .steps = circulant_steps,
            .reaches_far = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
