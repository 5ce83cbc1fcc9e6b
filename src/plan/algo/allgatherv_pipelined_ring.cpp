// SPDX-License-Identifier: BSD-3-Clause
// Allgatherv on a ring in short slots: one long block takes about as long as a broadcast by a
// chain.
//
// Source: the ring of Patarasuk, Yuan 2007, doi:10.1109/IPDPS.2007.370405, section 3.2, with the
// segments of Patarasuk, Faraj, Yuan 2006, "Pipelined broadcast on Ethernet switched clusters",
// doi:10.1109/IPDPS.2006.1639364. Slots and letters as in plan/algo/ring_slots.h: p ranks, r own
// rank, c bytes of a slot, s slots of r's block, t the round; N bytes of all blocks.
//
// Differs from the ring: there a block passes one link in a round, so a round takes as long as the
// longest block, and one long block takes p - 1 times its own time. Here a slot passes one link in
// a round and follows the slot before it. A link carries at most N bytes in all, and the last slot
// comes p - 2 slots after that.
//
// Example, p = 3, blocks of 2, 1 and 1 slots, what rank 1 does, slots by block:
//   round    0    1    2
//   sends    1    0    0
//   receives 0    0    2
//
// Tuning::segment_bytes is c, otherwise what ring_slot_bytes() says.
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  what a round sends was received in an earlier round, or is the rank's own
//   I2  both ends of a link number its slots alike, the empty ones too, which are not sent
#include "plan/algo/ring_slots.h"

namespace tutti::algo {
namespace {

uint64_t slot_bytes(const Shape& shape, const Tuning& tuning) {
    return ring_slot_bytes(shape, tuning, sched::kBlockBytesMax);
}

class AllgathervPipelinedRing final : public Program {
  public:
    AllgathervPipelinedRing(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape),
          p_(shape.ranks),
          r_(rank),
          slots_(shape, rank, slot_bytes(shape, tuning)) {}

    static constexpr std::string_view kName = "pipelined_ring";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        if (p_ == 1) return {1, 1, 1, 0};
        return {1, 1, std::max(sent(), received()), 0};
    }
    void read(uint64_t, uint64_t t, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, shape_.block_bytes(r_));
        if (p_ > 1 && t < received()) {
            const sched::Block coming = place(slots_.at(t + slots_.of(r_)));
            const auto from = static_cast<Rank>((r_ + p_ - 1) % p_);
            if (coming.bytes > 0) {
                out.add(sched::recv(from, static_cast<uint32_t>(t), coming, sched::kAfterNone));
            }
        }
        if (p_ > 1 && t < sent()) send(t, out);
        if (t == 0 && own.bytes > 0) {
            out.add(sched::copy(sched::output(shape_.block_offset(r_), own.bytes), own));
        }
    }

  private:
    [[nodiscard]] Rank next() const { return static_cast<Rank>((r_ + 1) % p_); }
    [[nodiscard]] uint64_t sent() const { return slots_.total() - slots_.of(next()); }
    [[nodiscard]] uint64_t received() const { return slots_.total() - slots_.of(r_); }
    [[nodiscard]] sched::Block place(const RingSlots::Slot& slot) const {
        return sched::output(shape_.block_offset(slot.block) + slot.part.offset, slot.part.bytes);
    }
    void send(uint64_t t, sched::Round& out) const {
        const RingSlots::Slot slot = slots_.at(t);
        if (slot.part.bytes == 0) return;
        const auto message = static_cast<uint32_t>(t);
        if (slot.block == r_) {
            const sched::Block own = sched::input(slot.part.offset, slot.part.bytes);
            out.add(sched::send(next(), message, own, sched::kAfterNone));
            return;
        }
        // Where the own block has one slot, the round before received it, and nothing before that.
        const uint64_t after = slots_.of(r_) == 1 ? sched::after_op(0) : sched::kAfterNone;
        out.add(sched::send(next(), message, place(slot), after));
    }

    Shape shape_;
    uint64_t p_;
    Rank r_;
    RingSlots slots_;
};

}  // namespace

Algorithm allgatherv_pipelined_ring() {
    return {.name = AllgathervPipelinedRing::kName,
            .collective = TUTTI_ALLGATHERV,
            .summary = "short slots around a ring: one long block is a pipeline",
            .make = make<AllgathervPipelinedRing>,
            .steps = [](const Shape& shape, const Tuning& tuning) -> uint64_t {
                return ring_slot_steps(shape, slot_bytes(shape, tuning));
            },
            .has_single_blocks = true,
            .has_pieces = true};
}

}  // namespace tutti::algo
