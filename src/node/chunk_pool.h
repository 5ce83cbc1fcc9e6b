// SPDX-License-Identifier: BSD-3-Clause
// The chunks that a rank writes for all of its lean teams (Geometry::is_lean): one pool, of which
// each round of each team takes a chunk, until those who read it are done with it.
//
// Only the rank itself hands out its chunks, and keeps in private memory which are out. Where a
// round's chunk is, the others find in the team's entry (ReadyWords::places), behind the event that
// says it is written.
//
// No team keeps another from going on for good, since whoever makes lean teams promises that their
// calls come one after the other, in an order in which each of them might wait for all members, as
// MPI demands of blocking collectives. A rank that waits here has left the calls whose chunks are
// out, and owes nobody in them anything: those who are to read them need it no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "node/slice.h"

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
