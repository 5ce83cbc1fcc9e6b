// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan by recursive doubling in two phases: with inclusive folds, then without them. The
// first phase has two lengths: the shortest for the fewest stages ("doubling"), or two stages, so
// that no rank folds more often than there are stages ("doubling_123").
//
// Source: Träff 2025, "Communication round and computation efficient exclusive prefix-sums
// algorithms (for MPI_Exscan)", arXiv:2507.04785 (123-doubling); Träff 2026, "Two efficient
// message-passing exclusive scan algorithms", arXiv:2604.25667, the first one (two phases). Of both
// the abstracts; the schedule follows from the invariants. Letters: p ranks, r own rank, q stages,
// k the stage, q' stages of the first phase, n bytes.
//
// W is the fold of the ranks before r that rank r knows of, a stretch that ends at r - 1 and
// becomes its result; S is W folded with its own vector, a stretch that ends at r. In the first
// phase (k < q') r sends S, of 2^k ranks, to r + 2^k; in the second one W, of as many ranks as the
// message goes far: (2^q' - 1) 2^(k - q'). What comes stands before what the receiver has, and is
// folded to the left of it: right for operators that do not commute.
//   Before stage k, W has 2^k - 1 ranks in the first phase, and (2^q' - 1) 2^(k - q') in the
//   second. At the end it has p - 1 or more, so (2^q' - 1) 2^(q - q') >= p - 1. q = ceil(log2 p)
//   stages, the least, are enough if q' = q - floor(log2(2^q - p + 1)). q' = 2 gives distances of
//   1, 2, 3, 6, 12 ... and q = ceil(log2(p - 1) + log2(4/3)) stages.
// W is folded q - 1 times. S is folded once for each stage of the first phase but the first one.
//
// Example, p = 8, sends of rank 1 (distances):  doubling  S 1, S 2, S 4
//                                               doubling_123  S 1, S 2, W 3, W 6
//
// A stage takes two rounds: one in which messages cross, one that folds. Its receive is posted
// while the stage before is folded, into the other of two landing areas; that of stage 2 a little
// later. A rank that has its result only sends, a stage a round.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  before stage k, W and S are folds of these stretches, of the ranks that there are
//   I2  nothing is written to output before the own vector was sent and folded: in place it stands
//       there, so what comes first lands in scratch
//   I3  a fold is overwritten only after its send is complete
//   I4  rank 0 has no W: it sends its own vector in the first phase, and nothing in the second
#pragma once

#include "plan/algo/algorithms.h"

namespace tutti::algo {

class ExscanDoubling final : public Program {
  public:
    ExscanDoubling(const Shape& shape, Rank rank, bool is_123)
        : p_(shape.ranks),
          r_(rank),
          n_(shape.bytes),
          is_123_(is_123),
          first_(first_phase(p_, is_123)) {
        while (known_before(folds_) < r_) ++folds_;
        while (sends_in(sends_)) ++sends_;
    }

    static constexpr std::string_view kName = "doubling";
    static constexpr std::string_view kName123 = "doubling_123";
    [[nodiscard]] std::string_view name() const override { return is_123_ ? kName123 : kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0 || p_ == 1) return {1, 1, 0, 0};
        if (r_ == 0) return {1, 1, sends_, 0};
        if (p_ == 2) return {1, 1, 1, 0};
        return {1, 1, std::max(last_fold() + 1, folds_ + sends_ - 1), 3 * align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const auto at = static_cast<uint32_t>(round);
        if (r_ == 0) {
            send(at, sched::kAfterNone, out);
        } else if (at == 0) {
            begin(out);
        } else if (at > last_fold()) {
            // Waits for the last fold; later sends have it behind them already.
            const uint32_t k = at + 1 - folds_;
            send(k, k == std::max(folds_, 2U) ? sched::kAfterAll : sched::kAfterNone, out);
        } else if (at % 2 == 1) {
            exchange((at + 1) / 2, out);
        } else {
            fold(at / 2, out);
        }
    }

    // q', at least 1.
    static uint32_t first_phase(uint64_t p, bool is_123) {
        if (is_123) return 2;
        const uint32_t q = ceil_log2(p);
        return p == 1 ? 1 : q - floor_log2((uint64_t{1} << q) - p + 1);
    }

  private:
    // The ranks in W before stage k, if there are so many.
    [[nodiscard]] uint64_t known_before(uint32_t k) const {
        if (k <= first_) return (uint64_t{1} << k) - 1;
        return ((uint64_t{1} << first_) - 1) << (k - first_);
    }
    [[nodiscard]] uint64_t distance(uint32_t k) const {
        return k < first_ ? uint64_t{1} << k : known_before(k);
    }
    [[nodiscard]] bool sends_in(uint32_t k) const {
        return r_ + distance(k) < p_ && (k < first_ || r_ > 0);
    }
    // The round of the last fold, or of what takes its place.
    [[nodiscard]] uint32_t last_fold() const { return std::max(2 * folds_ - 2, 1U); }
    // S is wanted in stage k, and is another one than before.
    [[nodiscard]] bool folds_own_for(uint32_t k) const { return k < first_ && k < sends_; }

    [[nodiscard]] sched::Block landing(uint32_t k) const {
        return sched::scratch((1 + k % 2) * align_up(n_), n_);
    }
    [[nodiscard]] sched::Block own_folded(uint32_t k) const {
        return k == 0 || r_ == 0 ? sched::input(0, n_) : sched::scratch(0, n_);
    }
    // W; that of stage 1 is what came first.
    [[nodiscard]] sched::Block before(uint32_t k) const {
        return k == 1 ? landing(0) : sched::output(0, n_);
    }

    void send(uint32_t k, uint64_t after, sched::Round& out) const {
        if (k >= sends_) return;
        const auto to = static_cast<Rank>(r_ + distance(k));
        out.add(sched::send(to, k, k < first_ ? own_folded(k) : before(k), after));
    }
    void begin(sched::Round& out) const {
        const sched::Block to = p_ == 2 ? sched::output(0, n_) : landing(0);
        if (folds_own_for(1)) {
            out.add(sched::recv_reduce_left(r_ - 1, 0, own_folded(1), to, own_folded(0)));
        } else {
            out.add(sched::recv(r_ - 1, 0, to));
        }
        send(0, sched::kAfterNone, out);
    }
    void exchange(uint32_t k, sched::Round& out) const {
        if (k < folds_) {
            const auto from = static_cast<Rank>(r_ - distance(k));
            out.add(
                sched::recv(from, k, landing(k), k == 2 ? sched::kAfterAll : sched::kAfterNone));
        } else {
            out.add(sched::copy(sched::output(0, n_), landing(0)));  // rank 1
        }
        send(k, sched::after_op(0), out);
    }
    void fold(uint32_t k, sched::Round& out) const {
        // First what the next send waits for.
        if (folds_own_for(k + 1)) {
            out.add(sched::reduce(own_folded(k + 1), landing(k), own_folded(k)));
        }
        out.add(sched::reduce(sched::output(0, n_), landing(k), before(k)));
    }

    Rank p_;
    Rank r_;
    uint64_t n_;
    bool is_123_;
    uint32_t first_;      // q'
    uint32_t folds_ = 0;  // stages in which it receives
    uint32_t sends_ = 0;  // stages in which it sends
};

inline uint64_t exscan_doubling_scratch(const Shape& shape, const Tuning&) {
    return shape.ranks <= 2 ? 0 : 3 * align_up(shape.bytes);
}

}  // namespace tutti::algo
