// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/memory.h"

#include <algorithm>
#include <utility>

namespace tutti::check {

using sched::after_op;
using sched::Buffer;
using sched::input;

namespace {
// A result over block 0 is as long as that in a call of ranks. Nodes' blocks differ, and a plan
// gives their result a place of its own.
bool may_stand_in_place(const Shape& shape, Rank rank) {
    const Collective& what = facts(shape.collective);
    const bool is_over_first = has_blocks(what) && what.inner_at == InnerAt::kStart;
    return may_be_in_place(shape.collective, rank, shape.root) && !(shape.nodes && is_over_first);
}

// Of data: where a rank's input begins among all.
uint64_t data_before(const Shape& shape, Rank rank) {
    const Collective& what = facts(shape.collective);
    if (what.input.holds != Holds::kAll) return shape.block_offset(rank);
    if (!is_between_all(what)) return 0;
    return (shape.nodes ? shape.nodes->members_before(rank) : rank) * shape.all_blocks_bytes();
}
}  // namespace

// Of an alltoall each block has a place of its own; elsewhere the whole output has one.
Place right_place(const Shape& shape, Rank rank, uint64_t from) {
    const Collective& what = facts(shape.collective);
    if (!is_between_all(what)) {
        const bool gets_own = what.input.holds == Holds::kAll;
        return {shape.output_bytes(rank), gets_own ? shape.block_offset(rank) : 0};
    }
    auto other = static_cast<Rank>(shape.nodes ? 0 : from / shape.bytes);
    const auto end = [&] { return shape.pair_offset(rank, other) + shape.pair_bytes(rank, other); };
    while (from < shape.pair_offset(rank, other) || end() <= from) ++other;
    const uint64_t there = data_before(shape, other) + shape.pair_offset(other, rank);
    return {end(), there - shape.pair_offset(rank, other)};
}

std::string range_text(uint64_t from, uint64_t to) {
    return to - from == 1 ? "byte " + std::to_string(from)
                          : "bytes " + std::to_string(from) + " to " + std::to_string(to - 1);
}

RankMemory::RankMemory(const Shape& shape, Rank rank, const Extent& extent,
                       const SymbolicValues& terms, bool is_in_place, const PairBlocks* blocks)
    : lanes_in_flight_(extent.lanes_in_flight),
      is_in_place_(is_in_place && may_stand_in_place(shape, rank)) {
    const Collective& what = facts(shape.collective);
    if (what.in_place == InPlace::kOutputInInput) std::swap(inner_, outer_);
    if (what.inner_at == InnerAt::kOwnBlock) {
        in_place_offset_ = blocks ? blocks->own_offset(rank) : shape.block_offset(rank);
    }
    const uint64_t slots = std::min<uint64_t>(extent.lanes, extent.lanes_in_flight);
    values_.resize(kScratchMaps + slots);
    accesses_.resize(kScratchMaps + slots);
    lane_of_slot_.resize(slots);
    if (blocks) {
        for (const PairBlocks::Stretch& one : blocks->inputs(rank)) {
            fill(input(one.offset, one.bytes), {SymbolicValues::kData, one.data});
        }
        return;
    }
    const Block all = input(0, shape.input_bytes(rank));
    if (what.in_place == InPlace::kAlways) {
        if (rank == shape.root) fill(sched::output(0, shape.bytes), {SymbolicValues::kData, 0});
    } else if (is_reduction(shape.collective)) {
        fill(all, {terms.contribution(rank), 0});
    } else {
        fill(all, {SymbolicValues::kData, data_before(shape, rank)});
    }
}

// The value's shift counts from the block's begin.
void RankMemory::fill(const Block& block, Value value) {
    const Span at = span(block, 0);
    value.shift -= at.begin;
    values_[at.map].set(at.begin, at.end, value);
}

RankMemory::Span RankMemory::span(const Block& block, uint64_t lane) const {
    Span at{kInputMap, block.offset, block.offset + block.bytes};
    if (block.buffer == Buffer::kScratch) {
        at.map = kScratchMaps + static_cast<uint32_t>(lane % lanes_in_flight_);
        return at;
    }
    if (block.buffer == Buffer::kOutput) at.map = kOutputMap;
    if (is_in_place_ && at.map == inner_) {
        at.map = outer_;
        at.begin += in_place_offset_;
        at.end += in_place_offset_;
    }
    return at;
}

void RankMemory::enter_lane(uint64_t lane) {
    const uint64_t slot = lane % lanes_in_flight_;
    if (lane_of_slot_[slot] >= lane) return;
    lane_of_slot_[slot] = lane;
    // What the lane before left there is nobody's, and all of that lane is before all of this one.
    values_[kScratchMaps + slot].clear();
    accesses_[kScratchMaps + slot].clear();
}

Pieces RankMemory::read(const LiveOperation& live, const Block& block) {
    enter_lane(live.position.lane);
    const Span at = span(block, live.position.lane);
    Pieces pieces;
    values_[at.map].visit(at.begin, at.end, [&](uint64_t from, uint64_t to, Value value) {
        value.shift += at.begin;
        pieces.push_back({from - at.begin, to - at.begin, value});
    });
    return pieces;
}

void RankMemory::write(const LiveOperation& live, const Block& block, const Pieces& pieces) {
    enter_lane(live.position.lane);
    const Span at = span(block, live.position.lane);
    for (Piece piece : pieces) {
        piece.value.shift -= at.begin;
        const uint64_t end = std::min(at.begin + piece.to, at.end);
        values_[at.map].set(at.begin + piece.from, end, piece.value);
    }
}

Pieces RankMemory::output(uint64_t bytes, uint64_t from) const {
    const Span at = span(sched::output(from, bytes), 0);
    Pieces pieces;
    values_[at.map].visit(at.begin, at.end, [&](uint64_t begin, uint64_t end, Value value) {
        value.shift += at.begin;
        pieces.push_back({begin - at.begin, end - at.begin, value});
    });
    return pieces;
}

std::string wrong_blocks(const RankMemory& memory, const PairBlocks& blocks, Rank rank) {
    std::vector<PairBlocks::Stretch> all = blocks.outputs(rank);
    std::erase_if(all, [](const PairBlocks::Stretch& one) { return one.bytes == 0; });
    std::ranges::sort(all, {}, &PairBlocks::Stretch::offset);
    uint64_t end = 0;
    const auto text = [&](uint64_t begin, const Piece& piece) {
        return range_text(begin + piece.from, begin + piece.to) + " of its output ";
    };
    for (const PairBlocks::Stretch& right : all) {
        for (const Piece& piece : memory.output(right.offset - end, end)) {
            if (piece.value.term == SymbolicValues::kNothing) continue;
            return text(end, piece) + "are of no block, and written";
        }
        end = right.offset + right.bytes;
        for (const Piece& piece : memory.output(right.bytes, right.offset)) {
            const Value& value = piece.value;
            if (value.term == SymbolicValues::kNothing) {
                return text(right.offset, piece) + "are never written";
            }
            if (value.shift == right.data) continue;
            return text(right.offset, piece) + "hold byte " +
                   std::to_string(piece.from + value.shift) +
                   " of all ranks' blocks and what follows, not byte " +
                   std::to_string(piece.from + right.data);
        }
    }
    return {};
}

bool RankMemory::is_same(const Block& a, const Block& b) const {
    const Span x = span(a, 0);
    const Span y = span(b, 0);
    return x.map == y.map && x.begin == y.begin && x.end == y.end;
}

bool RankMemory::overlap(const Block& a, const Block& b) const {
    if (a.bytes == 0 || b.bytes == 0) return false;
    const Span x = span(a, 0);
    const Span y = span(b, 0);
    return x.map == y.map && x.begin < y.end && y.begin < x.end;
}

std::optional<Position> RankMemory::note(const LiveOperation& live, const Block& block,
                                         bool is_write) {
    if (block.bytes == 0) return {};
    // Without somebody who writes there, nobody can be in the way.
    if (block.buffer == Buffer::kInput && !is_in_place_) return {};
    enter_lane(live.position.lane);
    const Span at = span(block, live.position.lane);
    std::optional<Position> rival;
    const auto meet = [&](const Position& other) {
        if (!(other == live.position) && !is_before(other, live)) rival = other;
    };
    accesses_[at.map].change(at.begin, at.end, [&](Access& access) {
        if (access.writer) meet(*access.writer);
        if (is_write) {
            std::ranges::for_each(access.readers, meet);
            access.writer = live.position;
            access.readers.clear();
            return;
        }
        // Who writes after this reader, writes after those before it.
        std::erase_if(access.readers,
                      [&](const Position& other) { return is_before(other, live); });
        if (std::ranges::find(access.readers, live.position) == access.readers.end()) {
            access.readers.push_back(live.position);
        }
    });
    return rival;
}

bool RankMemory::is_before(const Position& earlier, const LiveOperation& later) const {
    const Position& position = later.position;
    const uint64_t slot = earlier.lane % lanes_in_flight_;
    if (slot == position.lane % lanes_in_flight_) {
        if (earlier.lane < position.lane) return true;
        if (earlier.lane == position.lane) {
            if (earlier.round + 2 <= position.round) return true;
            if (earlier.round + 1 == position.round && (later.op.after >> earlier.index & 1) != 0) {
                return true;
            }
        }
    }
    return later.node_before != 0 && known_[later.node_before - 1][slot].holds(earlier);
}

void RankMemory::note_node(const LiveOperation& live) {
    std::vector<Known> known(lane_of_slot_.size());
    if (!known_.empty()) known = known_.back();
    const uint64_t round = live.position.round;
    const uint64_t own = after_op(live.position.index);
    Known here{live.position.lane, 0, own, 0};
    if (round != 0) here = {live.position.lane, round - 1, live.op.after, own};
    Known& slot = known[live.position.lane % lanes_in_flight_];
    slot.join(here);
    known_.push_back(std::move(known));
}

bool RankMemory::Known::holds(const Position& position) const {
    if (position.lane != lane) return position.lane < lane;
    if (position.round < round) return true;
    if (position.round == round) return (bits >> position.index & 1) != 0;
    return position.round == round + 1 && (next_bits >> position.index & 1) != 0;
}

void RankMemory::Known::join(const Known& other) {
    if (lane > other.lane || (lane == other.lane && round > other.round)) {
        Known more = other;
        more.join(*this);
        *this = more;
        return;
    }
    const Known less = *this;
    *this = other;
    if (less.lane != lane) return;
    if (less.round == round) {
        bits |= less.bits;
        next_bits |= less.next_bits;
    } else if (less.round + 1 == round) {
        bits |= less.next_bits;
    }
}

}  // namespace tutti::check
