// SPDX-License-Identifier: BSD-3-Clause
// Barrier in which every rank tells every other, all at once.
//
// Source: the array of flags of Kini 2003, section 3.1, each written by one process and read by
// all; here every rank has the array, and every other rank writes its flag there. Letters:
//   N ranks, i own rank.
//
// One step, N - 1 messages of each rank. Rank i begins with i + 1, so that not all tell the same
// one first.
//
// Example, N = 4, what rank 1 does:  tells 2, 3, 0;  hears 0, 3, 2
//
// Up to 33 ranks, whose messages are one round's operations. Nothing was measured on a network yet,
// where all messages come to a host at the same moment; a price sees only that they are posted.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank waits for a message of every other
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

constexpr Rank kTellRanksMax = sched::kRoundOpsMax / 2 + 1;

class BarrierDirect final : public Program {
  public:
    BarrierDirect(const Shape& shape, Rank rank) : n_(shape.ranks), i_(rank) {}

    static constexpr std::string_view kName = "direct";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override { return {1, 1, n_ > 1 ? 1u : 0u, 0}; }
    void read(uint64_t, uint64_t, sched::Round& out) const override {
        out.clear();
        for (Rank d = 1; d < n_; ++d) {
            out.add(sched::recv((i_ + n_ - d) % n_, 0, {}, sched::kAfterNone));
        }
        for (Rank d = 1; d < n_; ++d) {
            out.add(sched::send((i_ + d) % n_, 0, {}, sched::kAfterNone));
        }
    }

  private:
    Rank n_;
    Rank i_;
};

}  // namespace

Algorithm barrier_direct() {
    return {.name = BarrierDirect::kName,
            .collective = TUTTI_BARRIER,
            .summary = "every rank notifies every other, up to 33",
            .obstacle = [](const Shape& shape) -> std::string_view {
                return shape.ranks > kTellRanksMax ? "has at most 33 participants" : "";
            },
            .make = make<BarrierDirect>,
            .steps = one_step,
            .is_only_named = true};
}

}  // namespace tutti::algo
