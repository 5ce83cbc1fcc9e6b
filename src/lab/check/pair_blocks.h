// SPDX-License-Identifier: BSD-3-Clause
// A call of a vector form whose lengths only pairs of ranks know, seen whole: how long the block of
// each pair is, and where it stands at both of its ends. A proof and a test know that of all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/sched/program.h"

namespace tutti::check {

using sched::Rank;

class PairBlocks {
  public:
    // A block in one rank's buffer; data: its first byte among those of the blocks of all pairs.
    struct Stretch {
        uint64_t offset = 0;
        uint64_t bytes = 0;
        uint64_t data = 0;
    };

    // bytes: what rank i gives to rank j at i * ranks + j. Of a rooted collective that of pairs
    // without the root counts nothing. seed: of the order in which blocks stand in each buffer, and
    // of the gaps between them; 0: in the order of ranks, without gaps.
    PairBlocks(tutti_collective collective, Rank root, Rank ranks,
               const std::vector<uint64_t>& bytes, uint64_t seed);

    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] uint64_t bytes(Rank from, Rank to) const { return bytes_[index(from, to)]; }
    // Valid as long as this stays where it is.
    [[nodiscard]] sched::CallBlocks of(Rank rank) const;
    // Up to the end of the last block; 0 where a side is not significant.
    [[nodiscard]] uint64_t input_bytes(Rank rank) const { return end_of(inputs(rank)); }
    [[nodiscard]] uint64_t output_bytes(Rank rank) const { return end_of(outputs(rank)); }
    // Where the own block stands among those of all.
    [[nodiscard]] uint64_t own_offset(Rank rank) const;
    // By the rank at the other end; where a side holds one block, that alone.
    [[nodiscard]] std::vector<Stretch> inputs(Rank rank) const;
    [[nodiscard]] std::vector<Stretch> outputs(Rank rank) const;

  private:
    // The arrays of one rank's side; empty where it has none.
    struct Side {
        std::vector<uint64_t> bytes;
        std::vector<uint64_t> offsets;
    };

    [[nodiscard]] bool has_arrays(const CollectiveBuffer& side, Rank rank) const;
    [[nodiscard]] size_t index(Rank from, Rank to) const { return size_t{from} * ranks_ + to; }
    [[nodiscard]] static uint64_t end_of(const std::vector<Stretch>& stretches);

    const Collective& what_;
    Rank root_;
    Rank ranks_;
    std::vector<uint64_t> bytes_;
    std::vector<uint64_t> data_;  // by pair: the bytes of those before
    std::vector<Side> inputs_;    // by rank
    std::vector<Side> outputs_;
};

}  // namespace tutti::check
