// SPDX-License-Identifier: BSD-3-Clause
// Allreduce up and down a chain: the canonical left fold; the lanes make the pipeline.
//
// Source: the pipelined chain of Patarasuk, Faraj, Yuan 2006, "Pipelined broadcast on Ethernet
// switched clusters", doi:10.1109/IPDPS.2006.1639364, run backwards and then forwards.
// Letters: p ranks, S lanes.
//
// Rank r folds what comes from r - 1 (left) with its own vector (right) and sends it to r + 1; the
// last rank's result returns the same way. So the result is ((0 + 1) + 2) + ...: the order of
// TUTTI_REPRODUCIBLE. Every link carries each byte once each way, but a lane takes 2 (p - 1)
// messages one after the other; with fewer lanes in flight the links idle.
//
// Example, p = 3, one lane:  0->1  1->2  2->1  1->0
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what rank r sends up is the fold of 0 ... r
//   I2  in place, the result comes only after the partial result has left
#include "plan/algo/algorithms.h"

namespace tutti::algo {
namespace {

class AllreduceChain final : public Program {
  public:
    AllreduceChain(const Shape& shape, Rank rank) : p_(shape.ranks), rank_(rank), n_(shape.bytes) {}

    static constexpr std::string_view kName = "chain";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (n_ == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        const bool is_end = rank_ == 0 || rank_ == p_ - 1;
        return {1, 1, is_end ? uint64_t{2} : uint64_t{4}, rank_ == 0 ? 0 : align_up(n_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, n_);
        const sched::Block result = sched::output(0, n_);
        const uint64_t step = round + (rank_ == 0 ? 1 : 0);
        if (p_ == 1) {
            out.add(sched::copy(result, own));
        } else if (step == 0) {
            out.add(sched::recv_reduce_left(rank_ - 1, 0, result, sched::scratch(0, n_), own));
        } else if (step == 1 && rank_ < p_ - 1) {
            out.add(sched::send(rank_ + 1, 0, rank_ == 0 ? own : result));
        } else if (step == 2) {
            out.add(sched::recv(rank_ + 1, 0, result));
        } else {
            out.add(sched::send(rank_ - 1, 0, result));
        }
    }

  private:
    Rank p_;
    Rank rank_;
    uint64_t n_;
};

}  // namespace

Algorithm allreduce_chain() {
    return {.name = AllreduceChain::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "segments up and down a chain: the canonical order",
            .make = make<AllreduceChain>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return shape.ranks == 1 ? 0 : align_up(shape.bytes);
            },
            .steps = [](const Shape& shape,
                        const Tuning& tuning) { return 2 * passing_steps(shape, tuning); },
            .segment_bytes = kChainSegment,
            .lanes_in_flight = kReturningLanes,
            .folds_from_left = true};
}

}  // namespace tutti::algo
