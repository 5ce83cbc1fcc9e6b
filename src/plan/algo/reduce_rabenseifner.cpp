// SPDX-License-Identifier: BSD-3-Clause
// Reduce by recursive halving (reduce-scatter), then a binomial gather of the pieces to the root.
//
// Source: Rabenseifner 2004, "Optimization of collective reduction operations",
// doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner, Gropp 2005, "Optimization of collective
// communication operations in MPICH", doi:10.1177/1094342005051521, section 3.5 (reduce). Letters
// and the halving as in plan/algo/pair_fold.h, which says what differs from the papers; v0 is the
// root's number.
// Differs from the papers too: the root serves a guest and never is one, so that the result need
// not be handed on.
//
// In step m of the gather, q - 1 first, those are left whose v agrees with v0 in the bits above m.
// Of their pairs v and v xor 2^m the one that has bit m of v0 receives the half that it gave away
// in step m of the halving; for the other this is the end. log2 p' steps each way, and one more for
// guests. The root sends (p' - 1) / p' n bytes and receives twice as many; nobody sends n / 2 more.
//
// Example, p = 4, root 2, elements 0-7: behind the two steps of the halving
//   step 1: 0->2 elements 0-1, 1->3 elements 4-5;   step 0: 3->2 elements 4-7
//
// Invariants (checked in lab/check/prove.cpp and the property test): those of
// plan/algo/pair_fold.h, and
//   I1  before step m of the gather whoever is left has all of what it kept in that step
//   I2  output is written at the root only
#include "plan/algo/pair_fold.h"

namespace tutti::algo {
namespace {

class ReduceRabenseifner final : public Program {
  public:
    ReduceRabenseifner(const Shape& shape, Rank rank)
        : fold_(shape, rank, shape.root,
                rank == shape.root ? sched::Buffer::kOutput : sched::Buffer::kScratch),
          p_(shape.ranks),
          q_(floor_log2(shape.ranks)),
          n_(shape.bytes),
          beyond_(
              static_cast<uint32_t>(std::bit_width(pairs().v ^ pairs().number_of(shape.root)))) {}

    static constexpr std::string_view kName = "rabenseifner";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        if (pairs().is_outside) return {1, 1, fold_.rounds(), 0};
        const uint32_t last = beyond_ == 0 ? 0 : beyond_ - 1;
        return {1, 1, fold_.rounds() + q_ - last, fold_.scratch_bytes()};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (p_ == 1) {
            out.add(sched::copy(sched::output(0, n_), sched::input(0, n_)));
        } else if (round < fold_.rounds()) {
            fold_.read(round, out);
        } else {
            gather(static_cast<uint32_t>(q_ - 1 - (round - fold_.rounds())), out);
        }
    }

  private:
    [[nodiscard]] const Pairs& pairs() const { return fold_.pairs(); }

    void gather(uint32_t m, sched::Round& out) const {
        const bool is_first = m + 1 == q_;
        const Stretch& what = m < beyond_ ? fold_.kept(m) : fold_.given(m);
        if (what.bytes == 0) return;
        if (m < beyond_) {
            // What it kept last has been folded; all else is what the rounds before received.
            const uint64_t after = is_first ? sched::after_op(0) : sched::kAfterAll;
            out.add(sched::send(fold_.peer(m), 1, fold_.folded(what), after));
        } else {
            // The first one's block may still be on its way out.
            const uint64_t after = is_first ? sched::kAfterAll : sched::kAfterNone;
            out.add(sched::recv(fold_.peer(m), 1, fold_.folded(what), after));
        }
    }

    PairFold fold_;
    Rank p_;
    uint32_t q_;
    uint64_t n_;
    uint32_t beyond_;  // the highest bit in which v and v0 differ, counted from 1; 0: none
};

// Of the numbers 0, 1 and 2 those that are not the root's have among them, if anyone else has it, a
// guest and the longer half.
uint64_t scratch_bytes(const Shape& shape, const Tuning&) {
    const Pairs pairs(shape.ranks, shape.root, shape.root);
    uint64_t bytes_max = 0;
    for (Rank v = 0; v < std::min<Rank>(pairs.power, 3); ++v) {
        const ReduceRabenseifner program(shape, pairs.rank_of(v));
        bytes_max = std::max(bytes_max, program.extent().scratch_bytes);
    }
    return bytes_max;
}

}  // namespace

Algorithm reduce_rabenseifner() {
    return {.name = ReduceRabenseifner::kName,
            .collective = TUTTI_REDUCE,
            .summary = "halves between pairs, then up a binomial tree",
            .make = make<ReduceRabenseifner>,
            .scratch_bytes = scratch_bytes,
            .steps = [](const Shape& shape, const Tuning&) -> uint64_t {
                const uint64_t guests = std::has_single_bit(shape.ranks) ? 0 : 1;
                return 2 * uint64_t{floor_log2(shape.ranks)} + guests;
            }};
}

}  // namespace tutti::algo
