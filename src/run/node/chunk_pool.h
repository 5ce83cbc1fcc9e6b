// SPDX-License-Identifier: BSD-3-Clause
// The chunks that a rank writes for all of its lean teams (Geometry::is_lean): one pool. Each round
// of each team takes a chunk from it, until its readers are done.
//
// The rank alone hands out its chunks, and records in private memory which are out. The others find
// a round's chunk by the team's entry (ReadyWords::places), once the event says that it is written.
//
// No team blocks another for good. An embedder that makes lean teams promises to make their calls
// one after the other, in an order in which each may wait for all members, as MPI demands of
// blocking collectives. So a rank that waits here has left the calls whose chunks are out, and
// their readers need nothing more of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "run/node/slice.h"

namespace tutti::node {

class ChunkPool {
  public:
    // A team of this rank, as far as the pool must know it. Its memory outlives the pool.
    struct Part {
        Slice slice;
        Rank rank = 0;
        uint64_t consumed_known = 0;  // chunks below are read by all; from the last look
        uint64_t placed = 0;          // the last chunk that was given a place, and 1
        bool is_gone = false;         // this rank has left the team
    };
    // places: chunks, at least kChunksOut.
    explicit ChunkPool(size_t places);
    ChunkPool(const ChunkPool&) = delete;
    ChunkPool& operator=(const ChunkPool&) = delete;

    Part& join(const Slice& slice, Rank rank);
    // The team's chunks stay where they are until they are read, or all have left it.
    void leave(Part& part);
    // All have left the team that had this entry, which another one will have.
    void end(const std::byte* entry);

    // A chunk for the team's chunk `index`, which is noted in its entry; at once where it has one.
    // Chunks of the team below read_until are read; reader: the one rank that will read this
    // chunk, or kNoRank: some will. False: others may still read in all chunks of the pool.
    bool claim(Part& part, uint64_t index, uint64_t read_until, Rank reader);
    // Whether a call may never find a chunk: members have given up in teams whose chunks are out,
    // and too few others are left.
    [[nodiscard]] bool is_lost() const;

    struct Place {
        Part* part = nullptr;  // nullptr: nobody has read here yet
        uint64_t index = 0;
        Rank reader = kNoRank;
    };
    // For tests that save and restore the state of a rank: these, and a Part's numbers.
    [[nodiscard]] std::span<Place> places() { return places_; }
    [[nodiscard]] std::span<size_t> state() { return {&next_, 1}; }

  private:
    std::vector<Place> places_;
    size_t next_ = 0;  // where the search begins
    std::list<Part> parts_;
};

}  // namespace tutti::node
