// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by recursive halving (reduce-scatter), then recursive doubling (allgather).
//
// Source: Rabenseifner 2004, "Optimization of collective reduction operations",
// doi:10.1007/978-3-540-24685-5_1 (recursive halving and doubling). Letters and the halving as in
// plan/algo/pair_fold.h, which says what differs from the paper.
//
// After the reduce-scatter the same pairs in reverse exchange what they have. log2 p' steps each
// way; 2 (p' - 1) / p' n bytes a rank, and n each way for guests.
//
// Example, p = 4, elements 0-7: behind the two steps there
//   step 1: 0<->2, 1<->3 exchange results;   step 0: 0<->1, 2<->3 exchange results
//
// Invariants (checked in lab/check/prove.cpp and the property test): those of
// plan/algo/pair_fold.h, and
//   I1  before both of a pair exchange results each has all of what it kept in that step
#include "plan/algo/pair_fold.h"

namespace tutti::algo {
namespace {

class AllreduceRabenseifner final : public Program {
  public:
    AllreduceRabenseifner(const Shape& shape, Rank rank)
        : fold_(shape, rank, 0, sched::Buffer::kOutput),
          p_(shape.ranks),
          q_(floor_log2(shape.ranks)),
          n_(shape.bytes) {}

    static constexpr std::string_view kName = "rabenseifner";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        if (pairs().is_outside) return {1, 1, 2, 0};
        return {1, 1, fold_.rounds() + q_ + (pairs().has_guest ? 1 : 0), fold_.scratch_bytes()};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block result = sched::output(0, n_);
        if (p_ == 1) {
            out.add(sched::copy(result, sched::input(0, n_)));
        } else if (round < fold_.rounds()) {
            fold_.read(round, out);
        } else if (pairs().is_outside) {
            // In place, the result may come only when the own vector has left.
            out.add(sched::recv(pairs().neighbour, 0, result));
        } else if (round == fold_.rounds() + q_) {
            out.add(sched::send(pairs().neighbour, 0, result));
        } else {
            gather(static_cast<uint32_t>(fold_.rounds() + q_ - 1 - round), out);
        }
    }

  private:
    [[nodiscard]] const Pairs& pairs() const { return fold_.pairs(); }

    // Step m of the allgather: what was given away returns as result. A send waits for what the
    // round before received, which stands first there.
    void gather(uint32_t m, sched::Round& out) const {
        const Stretch& kept = fold_.kept(m);
        const Stretch& given = fold_.given(m);
        if (given.bytes > 0) {
            // The first one's block may still be on its way out.
            out.add(sched::recv(fold_.peer(m), 1, fold_.folded(given),
                                m + 1 == q_ ? sched::kAfterAll : sched::kAfterNone));
        }
        if (kept.bytes == 0) return;
        out.add(sched::send(fold_.peer(m), 1, fold_.folded(kept), sched::after_op(0)));
    }

    PairFold fold_;
    Rank p_;
    uint32_t q_;
    uint64_t n_;
};

}  // namespace

Algorithm allreduce_rabenseifner() {
    return {.name = AllreduceRabenseifner::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "halves between pairs, there and back",
            .make = make<AllreduceRabenseifner>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return shape.ranks == 1 ? 0 : PairFold::scratch_bytes_max(shape);
            },
            .steps =
                [](const Shape& shape, const Tuning& tuning) {
                    return pair_steps(shape, tuning) + floor_log2(shape.ranks);
                }};
}

}  // namespace tutti::algo
