// SPDX-License-Identifier: BSD-3-Clause
// Barrier by dissemination, ceil(log2 p) rounds of one message a rank.
//
// Source: Kini 2003, section 4.1.2 (RDS); Hensgen, Finkel, Manber 1988, "Two algorithms for barrier
// synchronization", doi:10.1007/BF01379320. Letters as there:
//   p ranks, i own rank, m the round.
//
// In round m rank i sends to (i + 2^m) mod p and waits for (i - 2^m) mod p.
//
// Example, p = 5:  round     0  1  2
//                  0 sends   1  2  4
//                  0 hears   4  3  1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  after round m, rank i has heard, directly or not, of the 2^(m+1) - 1 ranks before it
//   I2  a rank sends in round m only after it heard in round m - 1
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

class BarrierDissemination final : public Program {
  public:
    BarrierDissemination(const Shape& shape, Rank rank) : p_(shape.ranks), i_(rank) {}

    static constexpr std::string_view kName = "dissemination";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override { return {1, 1, ceil_log2(p_), 0}; }
    void read(uint64_t, uint64_t m, sched::Round& out) const override {
        out.clear();
        const auto distance = static_cast<Rank>((uint64_t{1} << m) % p_);
        const auto message = static_cast<uint32_t>(m);
        out.add(sched::recv((i_ + p_ - distance) % p_, message, {}, sched::kAfterNone));
        out.add(sched::send((i_ + distance) % p_, message, {}, sched::after_op(0)));
    }

  private:
    Rank p_;
    Rank i_;
};

}  // namespace

Algorithm barrier_dissemination() {
    return {.name = BarrierDissemination::kName,
            .collective = TUTTI_BARRIER,
            .summary = "ceil(log2 p) rounds, every rank alike",
            .make = make<BarrierDissemination>};
}

}  // namespace tutti::algo
