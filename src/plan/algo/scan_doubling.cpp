// SPDX-License-Identifier: BSD-3-Clause
// Scan by recursive doubling on the line of ranks.
//
// Source: Hillis, Steele 1986, "Data parallel algorithms", doi:10.1145/7902.7903, "Sum of an array
// of numbers", all partial sums; Kogge, Stone 1973, doi:10.1109/TC.1973.5009159. Letters: p ranks,
// r own rank, q = ceil(log2 p), k the stage, n bytes.
//
// Before stage k rank r holds the fold of the ranks r - 2^k + 1 ... r, of those that there are. It
// sends that to r + 2^k, and folds what comes from r - 2^k to its left: right for operators that do
// not commute. The last rank has its result after q stages, the least.
//
// Example, p = 5, q = 3, sends of each stage:  0->1 1->2 2->3 3->4;  0->2 1->3 2->4;  0->4
//
// A stage takes two rounds: one in which messages cross, one that folds. Its receive is posted
// while the stage before is folded, into the other of two landing areas. A rank that has its result
// only sends, a stage a round.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  before stage k rank r holds the fold of max(0, r - 2^k + 1) ... r
//   I2  a partial result is overwritten only after its send is complete
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

class ScanDoubling final : public Program {
  public:
    ScanDoubling(const Shape& shape, Rank rank)
        : p_(shape.ranks),
          r_(rank),
          n_(shape.bytes),
          folds_(ceil_log2(uint64_t{rank} + 1)),
          sends_(ceil_log2(uint64_t{p_} - rank)) {}

    static constexpr std::string_view kName = "doubling";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        const uint64_t rounds = folds_ + std::max(folds_, sends_);
        return {1, 1, std::max<uint64_t>(rounds, 1), std::min(folds_, 2U) * align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (r_ == 0 && round == 0) out.add(sched::copy(sched::output(0, n_), sched::input(0, n_)));
        if (round >= 2 * folds_) {
            send(static_cast<uint32_t>(round) - folds_, out);
        } else if (round % 2 == 0) {
            exchange(static_cast<uint32_t>(round / 2), out);
        } else {
            const auto k = static_cast<uint32_t>(round / 2);
            out.add(sched::reduce(sched::output(0, n_), landing(k), partial(k)));
        }
    }

  private:
    [[nodiscard]] sched::Block landing(uint32_t k) const {
        return sched::scratch(k % 2 == 0 ? 0 : align_up(n_), n_);
    }
    [[nodiscard]] sched::Block partial(uint32_t k) const {
        return k == 0 || r_ == 0 ? sched::input(0, n_) : sched::output(0, n_);
    }
    // Waits for the last fold; later sends have it behind them already.
    void send(uint32_t k, sched::Round& out) const {
        if (k >= sends_) return;
        const uint64_t after = k <= folds_ ? sched::kAfterAll : sched::kAfterNone;
        out.add(sched::send(r_ + (Rank{1} << k), 0, partial(k), after));
    }
    void exchange(uint32_t k, sched::Round& out) const {
        out.add(sched::recv(r_ - (Rank{1} << k), 0, landing(k), sched::kAfterNone));
        send(k, out);
    }

    Rank p_;
    Rank r_;
    uint64_t n_;
    uint32_t folds_;  // stages in which it receives
    uint32_t sends_;  // stages in which it sends
};

}  // namespace

Algorithm scan_doubling() {
    return {.name = ScanDoubling::kName,
            .collective = TUTTI_SCAN,
            .summary = "whole vectors up the line of ranks, over doubling distances",
            .make = make<ScanDoubling>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return std::min(ceil_log2(shape.ranks), 2U) * align_up(shape.bytes);
            }};
}

}  // namespace tutti::algo
