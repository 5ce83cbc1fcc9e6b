// SPDX-License-Identifier: BSD-3-Clause
// Barrier by pairwise exchange.
//
// Source: Kini 2003, section 4.1.1 (RPE). Letters as there:
//   N ranks, N' the largest power of two up to N, G the ranks below N', G' the others.
//
// Ranks of G' send to rank - N'; those of G exchange messages with rank xor 2^m, m = 0, 1, ...;
// then G' is told. log2 N steps for powers of two, floor(log2 N) + 2 otherwise.
//
// Example, N = 5:  4->0;  0<->1, 2<->3;  0<->2, 1<->3;  0->4   (figure 4.1 of the source)
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  before step m a rank in G has heard of 2^m ranks of G and of their guests
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

class BarrierPairwise final : public Program {
  public:
    BarrierPairwise(const Shape& shape, Rank rank)
        : rank_(rank),
          power_(std::bit_floor(shape.ranks)),
          has_guest_(rank < power_ && shape.ranks - power_ > rank) {}

    static constexpr std::string_view kName = "pairwise";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (rank_ >= power_) return {1, 1, 2, 0};
        return {1, 1, floor_log2(power_) + (has_guest_ ? uint64_t{2} : uint64_t{0}), 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (rank_ >= power_) {
            const Rank host = rank_ - power_;
            out.add(round == 0 ? sched::send(host, 0, {}) : sched::recv(host, 0, {}));
            return;
        }
        const uint64_t guests = has_guest_ ? 1 : 0;
        if (round < guests) {
            out.add(sched::recv(rank_ + power_, 0, {}));
        } else if (round == guests + floor_log2(power_)) {
            out.add(sched::send(rank_ + power_, 0, {}));
        } else {
            const Rank peer = rank_ ^ (Rank{1} << (round - guests));
            out.add(sched::recv(peer, 0, {}, sched::kAfterNone));
            // What was heard in the round before: its receive stands first.
            out.add(sched::send(peer, 0, {}, sched::after_op(0)));
        }
    }

  private:
    Rank rank_;
    Rank power_;
    bool has_guest_;
};

}  // namespace

Algorithm barrier_pairwise() {
    return {.name = BarrierPairwise::kName,
            .collective = TUTTI_BARRIER,
            .summary = "pairs at doubling distances; two steps more unless p = 2^k",
            .make = make<BarrierPairwise>,
            .steps = pair_steps};
}

}  // namespace tutti::algo
