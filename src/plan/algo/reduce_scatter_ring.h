// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter on a ring, of blocks alike or not, folding as it goes.
//
// Source: Patarasuk, Yuan 2007, doi:10.1109/IPDPS.2007.370405, section 3.2 (the first half of their
// allreduce); on a switch tree free of contention where neighbouring ranks follow a depth-first
// walk (Lemmas 4 and 5). Slots and letters as in plan/algo/ring_slots.h: p ranks, r own rank,
// c bytes of a slot, s slots of block r - 1, t the round.
//
// Block b begins at b + 1, and each rank that it passes folds its own block b in, until it comes to
// b. So r sends block r - 1 of its own, then what it has received of r - 2, r - 3, ..., r + 1, and
// receives block r last. Each rank sends and receives p - 1 blocks, the least, and no rank has more
// than one block in scratch.
//
// Block b is folded along b + 1, b + 2, ..., b: rotated, so the operator must commute.
//
// Differs from the paper: blocks may differ in length, and long ones go in slots, so that a rank
// folds one slot while the next one comes. Where one block is much longer than the others, these
// are a pipeline.
//
// Example, p = 3, blocks of a slot, what rank 0 does:
//   round 0  send 2 of its own, fold 1   round 1  send 1, fold 0   round 2  copy 0 to the result
//
// Tuning::segment_bytes is c, otherwise what ring_slot_bytes() says, and 256 KiB at most.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what a round sends was folded in an earlier round, or is the rank's own
//   I2  a slot stays in scratch for s rounds; s + 2 areas, used by turns, so that the next one is
//       posted a round ahead
//   I3  nothing is written to output before all of the round before is complete: in place it stands
//       over block 0 of the input
#pragma once

#include "plan/algo/ring_slots.h"

namespace tutti::algo {

// As long as the blocks of an allreduce's ring on 16 hosts (kRingSegment).
inline constexpr uint64_t kFoldedSlotMax = uint64_t{256} << 10;

inline uint64_t folded_slot_bytes(const Shape& shape, const Tuning& tuning) {
    const uint64_t most = tuning.segment_bytes == 0 ? kFoldedSlotMax : sched::kBlockBytesMax;
    return ring_slot_bytes(shape, tuning, most);
}

class ReduceScatterRing final : public Program {
  public:
    ReduceScatterRing(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape),
          p_(shape.ranks),
          r_(rank),
          slots_(shape, before(), folded_slot_bytes(shape, tuning)),
          area_bytes_(area_bytes(shape, tuning)) {}

    static constexpr std::string_view kName = "ring";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        return {1, 1, std::max(sent(), received() + 1), (held() + 2) * area_bytes_};
    }
    void read(uint64_t, uint64_t t, sched::Round& out) const override {
        out.clear();
        if (p_ == 1) {
            const uint64_t bytes = shape_.block_bytes(0);
            out.add(sched::copy(sched::output(0, bytes), sched::input(0, bytes)));
            return;
        }
        if (t < received()) fold(t, out);
        if (t < sent()) send(t, out);
        if (t > 0 && t <= received()) take(t - 1, out);
    }

    // The most of any rank.
    [[nodiscard]] static uint64_t scratch_bytes_max(const Shape& shape, const Tuning& tuning) {
        if (shape.ranks == 1) return 0;
        const uint64_t slot = folded_slot_bytes(shape, tuning);
        const uint64_t held = std::max<uint64_t>(1, (longest_block(shape) + slot - 1) / slot);
        return (held + 2) * area_bytes(shape, tuning);
    }

  private:
    static uint64_t area_bytes(const Shape& shape, const Tuning& tuning) {
        return align_up(std::min(folded_slot_bytes(shape, tuning), longest_block(shape)));
    }
    [[nodiscard]] Rank before() const { return static_cast<Rank>((r_ + p_ - 1) % p_); }
    [[nodiscard]] uint64_t held() const { return slots_.of(before()); }
    [[nodiscard]] uint64_t sent() const { return slots_.total() - slots_.of(r_); }
    [[nodiscard]] uint64_t received() const { return slots_.total() - held(); }
    // What round t receives, and where it is folded.
    [[nodiscard]] RingSlots::Slot coming(uint64_t t) const { return slots_.at(t + held()); }
    [[nodiscard]] sched::Block area(uint64_t t, uint64_t bytes) const {
        return sched::scratch(t % (held() + 2) * area_bytes_, bytes);
    }
    [[nodiscard]] sched::Block own(const RingSlots::Slot& slot) const {
        return sched::input(shape_.block_offset(slot.block) + slot.part.offset, slot.part.bytes);
    }

    void fold(uint64_t t, sched::Round& out) const {
        const RingSlots::Slot slot = coming(t);
        if (slot.part.bytes == 0) return;
        const sched::Block folded = area(t, slot.part.bytes);
        out.add(sched::recv_reduce_left(before(), static_cast<uint32_t>(t), folded, folded,
                                        own(slot), sched::kAfterNone));
    }
    void send(uint64_t t, sched::Round& out) const {
        const RingSlots::Slot slot = slots_.at(t);
        if (slot.part.bytes == 0) return;
        const auto to = static_cast<Rank>((r_ + 1) % p_);
        const bool is_own = t < held();
        const sched::Block what = is_own ? own(slot) : area(t - held(), slot.part.bytes);
        // Where block r - 1 has one slot, the round before folded this one, its first operation.
        const uint64_t after = !is_own && held() == 1 ? sched::after_op(0) : sched::kAfterNone;
        out.add(sched::send(to, static_cast<uint32_t>(t), what, after));
    }
    // The result, where round t has folded some of it.
    void take(uint64_t t, sched::Round& out) const {
        const RingSlots::Slot slot = coming(t);
        if (slot.block != r_ || slot.part.bytes == 0) return;
        out.add(sched::copy(sched::output(slot.part.offset, slot.part.bytes),
                            area(t, slot.part.bytes)));
    }

    Shape shape_;
    uint64_t p_;
    Rank r_;
    RingSlots slots_;
    uint64_t area_bytes_;
};

inline Algorithm reduce_scatter_ring_of(tutti_collective collective) {
    return {.name = ReduceScatterRing::kName,
            .collective = collective,
            .summary = "blocks around a ring, folded as they go: the fewest bytes",
            .obstacle = unless_commutative,
            .make = make<ReduceScatterRing>,
            .scratch_bytes = ReduceScatterRing::scratch_bytes_max,
            .steps = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                return ring_slot_steps(shape, folded_slot_bytes(shape, tuning));
            },
            .has_single_blocks = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
