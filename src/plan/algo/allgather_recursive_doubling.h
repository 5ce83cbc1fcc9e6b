// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv by recursive doubling, ceil(log2 p) rounds for any p.
//
// Source: Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations in
// MPICH", doi:10.1177/1094342005051521, section 4.1. Letters: p ranks, r own rank, d the depth.
// Differs from the paper: any p. The interval [0, p) is halved again and again, the first half
// longer by one where it must be; on the way back, the halves of each interval exchange all that
// they hold: the i-th of the first half with the i-th of the second. Where the first half has one
// rank more, the second half's first rank sends to that one too, so that a rank does so at most
// once in the whole algorithm. For p = 2^k this is recursive doubling, r with r xor 2^m.
//
// Each rank receives each other block once, in messages of intervals, and sends at most p / 2 +
// ceil(log2 p) blocks more than p - 1; p = 2^k: log2 p messages and p - 1 blocks each way.
//
// Example, p = 5 (halves 0-2, 3-4; 0-1, 2; 0, 1; 3, 4):
//   depth 2: 0<->1;   depth 1: 0<->2, 2->1, 3<->4;   depth 0: 0<->3, 1<->4, 3->2
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  after depth d a rank holds the blocks of the whole interval of depth d that it is in
//   I2  ranks whose intervals end one depth earlier wait for nobody there
#pragma once

#include <utility>

#include "plan/algo/algorithms.h"
#include "plan/algo/half_pairs.h"

namespace tutti::algo {

class AllgatherRecursiveDoubling final : public Program {
  public:
    AllgatherRecursiveDoubling(const Shape& shape, Rank rank)
        : shape_(shape), r_(rank), pairs_(shape.ranks, rank) {}

    static constexpr std::string_view kName = "recursive_doubling";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0};
        return {1, 1, std::max<uint64_t>(1, pairs_.count()), 0};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        if (pairs_.count() > 0) {
            exchange(pairs_[pairs_.count() - 1 - static_cast<uint32_t>(round)], round == 0, out);
        }
        if (round == 0) out.add(sched::copy(blocks(r_, r_ + 1), own()));
    }

  private:
    [[nodiscard]] sched::Block own() const { return sched::input(0, shape_.block_bytes(r_)); }
    [[nodiscard]] sched::Block blocks(Rank begin, Rank end) const {
        const uint64_t offset = shape_.block_offset(begin);
        return sched::output(offset, shape_.block_offset(end) - offset);
    }
    void exchange(const HalfPair& pair, bool is_first_round, sched::Round& out) const {
        const sched::Block first = blocks(pair.begin, pair.middle);
        const sched::Block second = blocks(pair.middle, pair.end);
        const auto [held, wanted] =
            pair.is_left ? std::pair(first, second) : std::pair(second, first);
        // Two ranks meet at one depth only.
        out.add(sched::recv(pair.peer, 0, wanted, sched::kAfterNone));
        // In the first round the own block is all that is held, and the copy is still to come.
        const sched::Block going = is_first_round ? own() : held;
        if (!pair.is_alone) out.add(sched::send(pair.peer, 0, going));
        if (pair.meets_second) out.add(sched::send(pair.middle - 1, 0, going));
    }

    Shape shape_;
    Rank r_;
    HalfPairs pairs_;
};

inline Algorithm allgather_recursive_doubling_of(tutti_collective collective) {
    return {.name = AllgatherRecursiveDoubling::kName,
            .collective = collective,
            .summary = "all blocks held so far, at doubling distances",
            .obstacle = [](const Shape& shape) -> std::string_view {
                const Rank middle = (shape.ranks + 1) / 2;
                const uint64_t first = shape.block_offset(middle);
                const uint64_t second = shape.all_blocks_bytes() - first;
                const bool is_too_long = std::max(first, second) > sched::kBlockBytesMax;
                return is_too_long && shape.ranks > 1 ? kTooLong : std::string_view();
            },
            .make = make<AllgatherRecursiveDoubling>,
            .reaches_far = true};
}

}  // namespace tutti::algo
