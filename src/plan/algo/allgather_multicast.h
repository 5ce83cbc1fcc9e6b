// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv by multicast: every rank sends its block to all, in turn.
//
// Source: ours; that allgather gains most from multicast, since each link then carries each block
// once, is Khalilov et al. 2024, "Network-offloaded bandwidth-optimal broadcast and allgather for
// distributed AI", arXiv:2408.13356 (abstract). Letters: p ranks, r own rank, n bytes of a block;
// m, D and the order of the multicasts are those of plan/algo/turns.h.
//
// Every rank is a participant wherever it is, since a multicast reaches all ranks anyway: blocks of
// one node go out one after the other without being put together first. Each link carries each of
// the p blocks once, on its way down to a host; up from a host only those of its own ranks.
//
// Example, p = 3, m = 2, D = 2:  0 -> all, 0 -> all;  1 -> all when 0's first piece has come ...
//
// Tuning::segment_bytes cuts blocks into pieces of at most so many bytes (otherwise
// kMulticastBytesMax), Tuning::fan_in is D (otherwise 2, or as many pieces as make 32 KiB).
//
// Invariants (checked in lab/check/prove.cpp and the property test):
//   I1  a rank begins only when all numbers more than D before its first have come
#pragma once

#include "plan/algo/algorithms.h"
#include "plan/algo/turns.h"

namespace tutti::algo {

inline uint64_t multicast_piece_bytes_max(const Tuning& tuning) {
    const uint64_t wanted = tuning.segment_bytes;
    return wanted == 0 ? sched::kMulticastBytesMax : std::min(wanted, sched::kMulticastBytesMax);
}

class AllgatherMulticast final : public Program {
  public:
    AllgatherMulticast(const Shape& shape, Rank rank, const Tuning& tuning)
        : shape_(shape),
          r_(rank),
          turns_(shape.ranks, shape.bytes, 1, multicast_piece_bytes_max(tuning), tuning.fan_in,
                 shape.lengths) {}

    static constexpr std::string_view kName = "multicast";
    [[nodiscard]] std::string_view name() const override { return kName; }
    [[nodiscard]] sched::Extent extent() const override {
        if (shape_.bytes == 0) return {1, 1, 0, 0, 0};
        return {1, 1, turns_.rounds(), 0, turns_.multicasts()};
    }
    void read(uint64_t, uint64_t round, sched::Round& out) const override {
        out.clear();
        const sched::Block own = sched::input(0, shape_.block_bytes(r_));
        turns_.add(
            round, r_, sched::kAfterNone,
            [&](Rank sender) { return sender == r_ ? own : block(sender); }, out);
        if (round == 0 && own.bytes > 0) out.add(sched::copy(block(r_), own));
    }

  private:
    [[nodiscard]] sched::Block block(Rank rank) const {
        return sched::output(shape_.block_offset(rank), shape_.block_bytes(rank));
    }

    Shape shape_;
    Rank r_;
    Turns turns_;
};

inline Algorithm allgather_multicast_of(tutti_collective collective) {
    return {.name = AllgatherMulticast::kName,
            .collective = collective,
            .summary = "blocks by multicast in turn: every link carries each once",
            .obstacle = unless_multicast,
            .make = make<AllgatherMulticast>,
            .steps = passing_steps,
            .has_fan_in = true,
            .has_pieces = true,
            .segment_bytes_max = sched::kMulticastBytesMax,
            .fan_in_max = sched::kMulticastsInFlightMax,
            .has_multicast = true,
            .is_flat = true};
}

}  // namespace tutti::algo
