// SPDX-License-Identifier: BSD-3-Clause
// Allgather on a ring, p - 1 rounds of one block.
//
// Source: Patarasuk, Yuan 2007, doi:10.1109/IPDPS.2007.370405, section 3.2 (the second half of
// their allreduce). Letters: p ranks, r own rank, s the round.
//
// In round s, r sends block r - s to r + 1 and receives block r - s - 1 from r - 1, modulo p. Every
// rank receives each other block once; neighbours only talk to neighbours.
//
// Example, p = 4, what rank 0 does:  round    0  1  2
//                                    sends    0  3  2
//                                    receives 3  2  1
//
// Invariants (checked in sched/check.cpp and the property test):
//   I1  the send of a round depends on nothing of the round before but what was received there
#include "algo/algorithms.h"

namespace tutti::algo {
namespace {

class AllgatherRing final : public Program {
  public:
    AllgatherRing(const Shape& shape, Rank rank) : shape_(shape), p_(shape.ranks), r_(rank) {}

    [[nodiscard]] std::string_view name() const override { return "ring"; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        return {1, 1, std::max<uint64_t>(1, uint64_t{p_} - 1), 0};
    }
    void read(uint64_t, uint64_t s, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, shape_.block_bytes(r_));
        if (p_ > 1) {
            const auto message = static_cast<uint32_t>(s);
            out.add(sched::recv((r_ + p_ - 1) % p_, message, block(s + 1), sched::kAfterNone));
            out.add(
                sched::send((r_ + 1) % p_, message, s == 0 ? own : block(s), sched::after_op(0)));
        }
        if (s == 0) out.add(sched::copy(block(0), own));
    }

  private:
    // The block of rank r - back.
    [[nodiscard]] sched::Block block(uint64_t back) const {
        const auto i = static_cast<Rank>((r_ + p_ - back) % p_);
        return sched::output(shape_.block_offset(i), shape_.block_bytes(i));
    }

    Shape shape_;
    Rank p_;
    Rank r_;
};

}  // namespace

std::unique_ptr<Program> allgather_ring(const Shape& shape, Rank rank, const Tuning&) {
    return std::make_unique<AllgatherRing>(shape, rank);
}

}  // namespace tutti::algo
