// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by pairwise exchange (recursive doubling) of the whole vector.
//
// Source: Kini 2003, section 5.2.1 (RPE), with sections 4.1.1's pairing. Letters:
//   p ranks, N' the largest power of two up to p, v a rank's number among these N'
//   (plan/algo/pairs.h), n bytes, m the step.
//
// In step m, v exchanges its partial result with v xor 2^m and both fold the two, the lower
// interval of ranks on the left: so both get the same bits and the order of ranks is kept.
// log2 p steps for powers of two; otherwise floor(log2 p) + 2 on the ranks that serve a guest.
//
// Example, p = 5 (guest 1 of rank 0; v of ranks 0 2 3 4 is 0 1 2 3):
//   1->0;  0<->2, 3<->4;  0<->3, 2<->4;  0->1
//
// Each exchange takes two rounds: one in which the messages cross, one that folds. The receives of
// an exchange are posted while the one before is folded, into the other of two landing areas.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  before step m every rank in G holds the fold of 2^m neighbouring numbers
//   I2  a partial result is overwritten only after its send is complete
#include "plan/algo/algorithms.h"
#include "plan/algo/pairs.h"

namespace tutti::algo {
namespace {

class AllreducePairwise final : public Program {
  public:
    AllreducePairwise(const Shape& shape, Rank rank)
        : pairs_(shape.ranks, rank),
          p_(shape.ranks),
          n_(shape.bytes),
          guest_(pairs_.has_guest ? 1 : 0) {}

    static constexpr std::string_view kName = "pairwise";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        if (pairs_.is_outside) return {1, 1, 2, 0};
        return {1, 1, 2 * stages() + guest_, 2 * align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (p_ == 1) {
            out.add(sched::copy(sched::output(0, n_), sched::input(0, n_)));
        } else if (pairs_.is_outside) {
            read_outside(round, out);
        } else if (round == 2 * stages()) {
            out.add(sched::send(pairs_.neighbour, 0, sched::output(0, n_)));
        } else if (round % 2 == 0) {
            exchange(round / 2, out);
        } else {
            fold(round / 2, out);
        }
    }

  private:
    // The hand-over from the guest counts as one.
    [[nodiscard]] uint64_t stages() const { return floor_log2(p_) + guest_; }
    [[nodiscard]] sched::Block landing(uint64_t stage) const {
        return sched::scratch(stage % 2 == 0 ? 0 : align_up(n_), n_);
    }
    [[nodiscard]] sched::Block partial(uint64_t stage) const {
        return stage == 0 ? sched::input(0, n_) : sched::output(0, n_);
    }
    [[nodiscard]] bool is_hand_over(uint64_t stage) const { return stage < guest_; }
    [[nodiscard]] Rank partner(uint64_t stage) const {
        return pairs_.v ^ (Rank{1} << (stage - guest_));
    }

    // In place, the result may come only when the own vector has left.
    void read_outside(uint64_t round, sched::Round& out) const {
        if (round == 0) {
            out.add(sched::send(pairs_.neighbour, 0, sched::input(0, n_)));
        } else {
            out.add(sched::recv(pairs_.neighbour, 0, sched::output(0, n_)));
        }
    }
    void exchange(uint64_t stage, sched::Round& out) const {
        const Rank peer = is_hand_over(stage) ? pairs_.neighbour : pairs_.rank_of(partner(stage));
        out.add(sched::recv(peer, 0, landing(stage), sched::kAfterNone));
        if (!is_hand_over(stage)) out.add(sched::send(peer, 0, partial(stage)));
    }
    void fold(uint64_t stage, sched::Round& out) const {
        const bool is_lower = is_hand_over(stage) || pairs_.v < partner(stage);
        if (is_lower) {
            out.add(sched::reduce(sched::output(0, n_), partial(stage), landing(stage)));
        } else {
            out.add(sched::reduce(sched::output(0, n_), landing(stage), partial(stage)));
        }
    }

    Pairs pairs_;
    Rank p_;
    uint64_t n_;
    uint32_t guest_;
};

}  // namespace

Algorithm allreduce_pairwise() {
    return {.name = AllreducePairwise::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "whole vectors between pairs at doubling distances",
            .make = make<AllreducePairwise>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return shape.ranks == 1 ? 0 : 2 * align_up(shape.bytes);
            },
            .steps = pair_steps,
            .computes_often = true};
}

}  // namespace tutti::algo
