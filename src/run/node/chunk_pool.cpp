// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/chunk_pool.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::node {
namespace {

// Its members' words may be another team's by now, as soon as all have left it. Then nothing of it
// is read any more, whatever they say.
bool have_all_left(const ChunkPool::Part& part) {
    return part.slice.entry_state(part.rank).is_left.load(std::memory_order_acquire) != 0;
}

uint64_t consumed_by_all(const ChunkPool::Part& part) {
    uint64_t low = UINT64_MAX;
    for (Rank rank = 0; rank < part.slice.geometry.ranks; ++rank) {
        if (rank == part.rank) continue;
        const DoneWords& words = part.slice.done(rank);
        low = std::min(low, words.chunks_consumed.load(std::memory_order_acquire));
    }
    return low;
}

bool is_read(const ChunkPool::Place& place) {
    ChunkPool::Part& part = *place.part;
    if (place.index < part.consumed_known) return true;
    if (place.reader != kNoRank) {
        const DoneWords& words = part.slice.done(place.reader);
        const bool is_done = words.chunks_consumed.load(std::memory_order_acquire) > place.index;
        return is_done || have_all_left(part);
    }
    const uint64_t consumed = consumed_by_all(part);
    if (have_all_left(part)) {
        part.consumed_known = UINT64_MAX;
    } else {
        part.consumed_known = std::max(part.consumed_known, consumed);
    }
    return place.index < part.consumed_known;
}

}  // namespace

ChunkPool::ChunkPool(size_t places) : places_(places) {
    TUTTI_ASSERT(places >= kChunksOut && places <= UINT16_MAX, "places of a pool");
}

ChunkPool::Part& ChunkPool::join(const Slice& slice, Rank rank) {
    // Here as well as anywhere: what is left of teams that have ended.
    for (Place& place : places_) {
        if (place.part && place.part->is_gone && is_read(place)) place = {};
    }
    parts_.remove_if([this](const Part& part) {
        return part.is_gone && std::none_of(places_.begin(), places_.end(),
                                            [&](const Place& one) { return one.part == &part; });
    });
    Part part;
    part.slice = slice;
    part.rank = rank;
    return parts_.emplace_back(std::move(part));
}

void ChunkPool::leave(Part& part) {
    TUTTI_ASSERT(!part.is_gone, "a rank leaves a team once");
    part.is_gone = true;
}

void ChunkPool::end(const std::byte* entry) {
    for (Part& part : parts_) {
        if (part.slice.area(part.rank) == entry) part.consumed_known = UINT64_MAX;
    }
}

bool ChunkPool::claim(Part& part, uint64_t index, uint64_t read_until, Rank reader) {
    if (part.placed == index + 1) return true;
    TUTTI_ASSERT(!part.is_gone, "a rank that has left a team writes nothing there");
    TUTTI_ASSERT(part.placed <= index, "chunks are placed in their order");
    part.consumed_known = std::max(part.consumed_known, read_until);
    for (size_t tried = 0; tried < places_.size(); ++tried) {
        const size_t at = (next_ + tried) % places_.size();
        Place& place = places_[at];
        if (place.part && !is_read(place)) continue;
        place = {&part, index, reader};
        part.placed = index + 1;
        part.slice.ready(part.rank).places[index % kChunksOut].store(static_cast<uint16_t>(at),
                                                                     std::memory_order_relaxed);
        next_ = (at + 1) % places_.size();
        return true;
    }
    return false;
}

bool ChunkPool::is_lost() const {
    const auto lost = std::count_if(places_.begin(), places_.end(), [](const Place& place) {
        if (!place.part) return false;
        const SliceHeader& header = place.part->slice.header();
        return header.gave_up.load(std::memory_order_acquire) != 0 && !is_read(place);
    });
    return places_.size() - static_cast<size_t>(lost) < kChunksOut;
}

}  // namespace tutti::node
