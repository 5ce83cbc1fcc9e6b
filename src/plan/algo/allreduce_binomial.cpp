// SPDX-License-Identifier: BSD-3-Clause
// Allreduce up a binomial tree and down again, the whole vector in each message.
//
// Source: SMP-binomial of Patarasuk, Yuan 2007, "Bandwidth efficient all-reduce operation on tree
// topologies", section 4: a reduction, then a broadcast, over nodes, along a pipelined binomial
// tree. The tree is that of plan/algo/halving.h. Letters: p ranks, n bytes, S lanes.
//
// This is reduce's binomial and bcast's, rank 0 being the root of both; the second begins where the
// first ends. Depth 2 ceil(log2 p). The lanes make the pipeline.
//
// Example, p = 4, one lane:  1->0, 3->2;  2->0;  0->2;  0->1, 2->3
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  the order of ranks is kept, as reduce's binomial keeps it
//   I2  in place, the result comes only after the own vector has been folded or has left
#include "plan/algo/bcast_binomial.h"
#include "plan/algo/reduce_binomial.h"

namespace tutti::algo {
namespace {

// The same call as one of its halves.
Shape as(tutti_collective collective, const Shape& shape) {
    Shape half = shape;
    half.collective = collective;
    half.root = 0;
    return half;
}

class AllreduceBinomial final : public Program {
  public:
    AllreduceBinomial(const Shape& shape, Rank rank, const Tuning& tuning)
        : up_(as(TUTTI_REDUCE, shape), rank, tuning),
          down_(as(TUTTI_BCAST, shape), rank, tuning),
          rounds_up_(up_.extent().rounds) {}

    static constexpr std::string_view kName = "binomial";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        return {1, 1, rounds_up_ + down_.extent().rounds, up_.extent().scratch_bytes};
    }
    // Both use message 0, but never in the same direction between the same two ranks. What the way
    // down begins with waits for all of the round before, the last of the way up.
    void read(uint64_t lane, uint64_t round, sched::Round& out) const override {
        if (round < rounds_up_) {
            up_.read(lane, round, out);
        } else {
            down_.read(lane, round - rounds_up_, out);
        }
    }

  private:
    ReduceBinomial up_;
    BcastBinomial down_;
    uint64_t rounds_up_;
};

}  // namespace

Algorithm allreduce_binomial() {
    return {.name = AllreduceBinomial::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "segments up a binomial tree and down again",
            .make = make<AllreduceBinomial>,
            .scratch_bytes = reduce_binomial_scratch,
            .steps = [](const Shape& shape,
                        const Tuning& tuning) { return 2 * doubling_steps(shape, tuning); },
            .segment_bytes = kChainSegment,
            .has_fan_in = true,
            .has_levels = true,
            .lanes_in_flight = kReturningLanes};
}

}  // namespace tutti::algo
