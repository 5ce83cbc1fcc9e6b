// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long vectors: reduce-scatter on a ring, then each rank multicasts its share in turn.
//
// Source: ours, of two known halves: the ring of Patarasuk, Yuan 2007 (plan/algo/ring_fold.h) and
// the turns of allgather by multicast (plan/algo/turns.h). Letters: p ranks, r own rank, n bytes.
//
// After p - 1 steps of the ring, r holds the result of share r, which it multicasts in pieces when
// its turn has come. Down to a host each link carries 2 (p - 1) / p n, as in the ring all the way
// (their lower bound), up from it only n: the second half takes one message a piece, not p - 1.
//
// Each share is folded once, at its rank, so all ranks get the same bits; rotated, so the operator
// must commute.
//
// Example, p = 3, what rank 0 does:  round 0  send 2  fold 1      (reduce-scatter)
//                                    round 1  send 1  fold 0
//                                    round 2  0 -> all, receive 1 (in turn)
//                                    round 3  receive 2
//
// Tuning::fan_in is the number of multicasts under way (plan/algo/turns.h).
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a share arrives only when its partial result has been sent on
//   I2  empty shares (fewer elements than ranks) are not sent
#include "plan/algo/algorithms.h"
#include "plan/algo/ring_fold.h"
#include "plan/algo/turns.h"

namespace tutti::algo {
namespace {

// Shares ascend in length downwards: all are empty behind the first that is.
uint64_t senders(const Shape& shape) {
    return std::min<uint64_t>(shape.ranks, shape.bytes / shape.element_bytes);
}

class AllreduceMulticast final : public Program {
  public:
    AllreduceMulticast(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape),
          r_(rank),
          turns_(senders(shape), piece(shape, 0).bytes, shape.element_bytes,
                 sched::kMulticastBytesMax, tuning.fan_in) {}

    static constexpr std::string_view kName = "multicast";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0, 0};
        return {1, 1, folding_rounds() + turns_.rounds(), ring_fold_scratch(shape_),
                turns_.multicasts()};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (round >= folding_rounds()) {
            const auto share = [this](Rank sender) {
                const Stretch one = piece(shape_, sender);
                return sched::output(one.offset, one.bytes);
            };
            // The last step sends the share that the next rank will return whole.
            turns_.add(round - folding_rounds(), r_, sched::kAfterAll, share, out);
        } else if (shape_.ranks > 1) {
            add_ring_fold(shape_, r_, round, out);
        } else {
            out.add(sched::copy(sched::output(0, shape_.bytes), sched::input(0, shape_.bytes)));
        }
    }

  private:
    [[nodiscard]] uint64_t folding_rounds() const {
        return std::max<uint64_t>(uint64_t{shape_.ranks} - 1, 1);
    }

    Shape shape_;
    Rank r_;
    Turns turns_;
};

}  // namespace

Algorithm allreduce_multicast() {
    return {.name = AllreduceMulticast::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "blocks around a ring, then multicast in turn",
            .obstacle = [](const Shape& shape) -> std::string_view {
                if (auto why = unless_multicast(shape); !why.empty()) return why;
                if (shape.element_bytes > sched::kMulticastBytesMax) return kTooLongForMulticast;
                return unless_commutative(shape);
            },
            .make = make<AllreduceMulticast>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return ring_fold_scratch(shape);
            },
            .steps = passing_steps,
            .segment_bytes = kRingSegment,
            .has_fan_in = true,
            .fan_in_max = sched::kMulticastsInFlightMax,
            .has_multicast = true};
}

}  // namespace tutti::algo
