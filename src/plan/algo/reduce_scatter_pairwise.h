// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, of blocks alike or not, in p - 1 rounds, in each of which every rank sends one
// block and folds one.
//
// Source: the pairwise exchange of Thakur, Rabenseifner, Gropp 2005, "Optimization of collective
// communication operations in MPICH", doi:10.1177/1094342005051521, section 4.3. Letters: p ranks,
// r own rank, i the number of the round from 1 on.
//
// In round i, r sends block r + i to r + i and receives its own block from r - i, modulo p. Each
// rank sends and receives p - 1 blocks, the least. Other than `direct`, it has four blocks in
// scratch, and folds each as it comes: that of r - 1 first, then that of r - 2 and so on. So the
// operator must commute.
//
// Differs from the paper: a block is received while the one before it is folded.
//
// Example, p = 4, what rank 1 does: sends blocks 2, 3, 0 to 2, 3, 0; folds those of 0, 3, 2 in.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank sends nothing before all of the round before is complete
//   I2  three landing areas, used by turns, so that a block has one while the one before it is
//       folded and the next one is posted
//   I3  the last fold alone is written to output, behind all messages: in place it stands over
//       block 0 of the input
#pragma once

#include "plan/algo/algorithms.h"
#include "plan/algo/ring_slots.h"

namespace tutti::algo {

class ReduceScatterPairwise final : public Program {
  public:
    ReduceScatterPairwise(const Shape& shape, Rank rank)
        : shape_(shape), p_(shape.ranks), r_(rank), n_(shape.block_bytes(rank)) {}

    static constexpr std::string_view kName = "pairwise";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        return {1, 1, p_, scratch_bytes(p_, n_)};
    }
    void read(uint64_t, uint64_t k, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(shape_.block_offset(r_), n_);
        if (p_ == 1) {
            out.add(sched::copy(sched::output(0, n_), own));
            return;
        }
        const uint64_t i = k + 1;
        if (n_ > 0 && i < p_) {
            const auto from = static_cast<Rank>((r_ + p_ - i) % p_);
            out.add(sched::recv(from, 0, landing(k), sched::kAfterNone));
        }
        if (n_ > 0 && k > 0) fold(k, k == 1 ? own : sum(), out);
        if (i < p_) send(static_cast<Rank>((r_ + i) % p_), out);
    }

    // Of a rank with a block of so many bytes.
    [[nodiscard]] static uint64_t scratch_bytes(uint64_t p, uint64_t block_bytes) {
        if (p == 1) return 0;
        return (std::min(p - 1, kLandings) + (p > 2 ? 1 : 0)) * align_up(block_bytes);
    }

  private:
    static constexpr uint64_t kLandings = 3;
    [[nodiscard]] sched::Block landing(uint64_t k) const {
        return sched::scratch(k % kLandings * align_up(n_), n_);
    }
    [[nodiscard]] sched::Block sum() const {
        return sched::scratch(std::min(p_ - 1, kLandings) * align_up(n_), n_);
    }
    // In round k, of what the round before has received, behind the fold of that round. These are
    // the first two operations there.
    void fold(uint64_t k, const sched::Block& so_far, sched::Round& out) const {
        const bool is_last = k + 1 == p_;
        const uint64_t before = sched::after_op(0) | (k > 1 ? sched::after_op(1) : 0);
        out.add(sched::reduce(is_last ? sched::output(0, n_) : sum(), so_far, landing(k - 1),
                              is_last ? sched::kAfterAll : before));
    }
    void send(Rank to, sched::Round& out) const {
        const uint64_t bytes = shape_.block_bytes(to);
        if (bytes > 0) out.add(sched::send(to, 0, sched::input(shape_.block_offset(to), bytes)));
    }

    Shape shape_;
    uint64_t p_;
    Rank r_;
    uint64_t n_;  // bytes of the own block
};

inline Algorithm reduce_scatter_pairwise_of(tutti_collective collective) {
    return {.name = ReduceScatterPairwise::kName,
            .collective = collective,
            .summary = "p - 1 rounds, a block a round, folded as it comes",
            .obstacle = [](const Shape& shape) -> std::string_view {
                const std::string_view why = unless_commutative(shape);
                return why.empty() ? if_block_too_long(shape) : why;
            },
            .make = make<ReduceScatterPairwise>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return ReduceScatterPairwise::scratch_bytes(shape.ranks, longest_block(shape));
            },
            .steps = passing_steps,
            .has_single_blocks = true};
}

}  // namespace tutti::algo
