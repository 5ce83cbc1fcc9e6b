// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on a ring: reduce-scatter, then allgather, each vector cut into p blocks.
//
// Source: Patarasuk, Yuan 2007, "Bandwidth efficient all-reduce operation on tree topologies"
// (doi:10.1109/IPDPS.2007.370405), section 3.2; bytes a rank sends and receives: 2 (p - 1) / p n,
// the lower bound of their Lemma 2. On a switch tree the ring is free of contention if neighbouring
// ranks follow a depth-first walk (Lemmas 4 and 5). Letters: p ranks, r own rank, n bytes, s step.
//
// Reduce-scatter: plan/algo/ring_fold.h; in step s, r sends block r - s - 1 and folds the incoming
// block r - s - 2 into its own; after p - 1 steps it holds the whole result of block r. Allgather:
// in step s it sends block r - s and receives block r - s - 1. All numbers modulo p; to r + 1, from
// r
// - 1.
//
// Block b is folded along b + 1, b + 2, ..., b: rotated, so the operator must commute. Every rank
// gets the same bits, since each block is folded once.
//
// Example, p = 3, what rank 0 does:  round 0  send 2  fold 1      (reduce-scatter)
//                                    round 1  send 1  fold 0
//                                    round 2  send 0  recv 2      (allgather)
//                                    round 3  send 2  recv 1
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  the send of a round depends on nothing of the round before but what was received there
//   I2  two landing areas, used by turns, so that a receive is posted one round ahead
//   I3  empty blocks (fewer elements than ranks) are not sent
#include "plan/algo/algorithms.h"
#include "plan/algo/ring_fold.h"

namespace tutti::algo {
namespace {

class AllreduceRing final : public Program {
  public:
    AllreduceRing(const Shape& shape, Rank rank) : shape_(shape), p_(shape.ranks), r_(rank) {}

    static constexpr std::string_view kName = "ring";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        return {1, 1, 2 * (uint64_t{p_} - 1), ring_fold_scratch(shape_)};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (p_ == 1) {
            out.add(sched::copy(sched::output(0, shape_.bytes), sched::input(0, shape_.bytes)));
            return;
        }
        if (round < p_ - 1) {
            add_ring_fold(shape_, r_, round, out);
            return;
        }
        const Stretch coming = block(round + 2);
        const Stretch going = block(round + 1);
        const auto message = static_cast<uint32_t>(round);
        if (coming.bytes > 0) {
            // In place, p = 2: the block just sent is the one that is received now.
            out.add(sched::recv((r_ + p_ - 1) % p_, message,
                                sched::output(coming.offset, coming.bytes),
                                p_ == 2 ? sched::kAfterAll : sched::kAfterNone));
        }
        if (going.bytes == 0) return;
        // The receive of the round before is the block that is sent on.
        out.add(sched::send((r_ + 1) % p_, message, sched::output(going.offset, going.bytes),
                            sched::after_op(0)));
    }

  private:
    // Block r - back modulo p. The allgather goes on where the reduce-scatter ends: its step s is
    // round p - 1 + s, and r - s is r - (round + 1) + p.
    [[nodiscard]] Stretch block(uint64_t back) const {
        return piece(shape_, (r_ + 2 * uint64_t{p_} - back) % p_);
    }

    Shape shape_;
    Rank p_;
    Rank r_;
};

}  // namespace

Algorithm allreduce_ring() {
    return {.name = AllreduceRing::kName,
            .collective = TUTTI_ALLREDUCE,
            .summary = "blocks around a ring, twice: the fewest bytes",
            .obstacle = unless_commutative,
            .make = make<AllreduceRing>,
            .scratch_bytes = [](const Shape& shape, const Tuning&) -> uint64_t {
                return ring_fold_scratch(shape);
            },
            .alike = [](const Shape& shape) -> AlikeRounds {
                // Of fewer elements than ranks most rounds are empty.
                if (shape.bytes / shape.element_bytes < shape.ranks) return {};
                const uint64_t half = shape.ranks - uint64_t{1};
                return {{{0, half}, {half, half}}};
            },
            .steps = [](const Shape& shape,
                        const Tuning& tuning) { return 2 * passing_steps(shape, tuning); },
            .segment_bytes = kRingSegment};
}

}  // namespace tutti::algo
