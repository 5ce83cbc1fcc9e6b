// SPDX-License-Identifier: BSD-3-Clause
// One rank's buffers in the symbolic run: what every byte holds, and which operations touched it
// last, so that two that are not ordered are found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/check/abstract_run.h"
#include "lab/check/interval_map.h"
#include "lab/check/pair_blocks.h"
#include "lab/check/symbolic_values.h"
#include "plan/sched/program.h"
#include "plan/sched/shape.h"

namespace tutti::check {

using sched::Block;
using sched::Extent;
using sched::Position;
using sched::Rank;
using sched::Shape;

// What a run of bytes holds: byte i of a buffer is byte i + shift of what the term is made of: the
// vector, or, for data, all ranks' inputs one after the other. The sum wraps around.
struct Value {
    SymbolicValues::Id term = SymbolicValues::kNothing;
    uint64_t shift = 0;
    bool operator==(const Value&) const = default;
};

// Bytes on their way from block to block: `from` and `to` count from the block's begin.
struct Piece {
    uint64_t from = 0;
    uint64_t to = 0;
    Value value;  // shifted as if the block began at 0
};
using Pieces = std::vector<Piece>;

// What a byte of a rank's output should be, and those behind it that go on from there.
struct Place {
    uint64_t end = 0;    // of these bytes of output
    uint64_t shift = 0;  // of their value
};
Place right_place(const Shape& shape, Rank rank, uint64_t from);

// "bytes 8 to 15"
std::string range_text(uint64_t from, uint64_t to);

class RankMemory {
  public:
    // blocks: of a call of which pairs of ranks know the lengths; else nullptr.
    RankMemory(const Shape& shape, Rank rank, const Extent& extent, const SymbolicValues& terms,
               bool is_in_place, const PairBlocks* blocks = nullptr);

    [[nodiscard]] Pieces read(const LiveOperation& live, const Block& block);
    void write(const LiveOperation& live, const Block& block, const Pieces& pieces);
    // What output holds, from there on.
    [[nodiscard]] Pieces output(uint64_t bytes, uint64_t from = 0) const;

    // Notes that the operation touches these bytes. An operation that touches the same, one of the
    // two writing, and is not ordered before it, is returned.
    std::optional<Position> note(const LiveOperation& live, const Block& block, bool is_write);
    // Blocks are the same bytes; they share some bytes.
    [[nodiscard]] bool is_same(const Block& a, const Block& b) const;
    [[nodiscard]] bool overlap(const Block& a, const Block& b) const;
    // A node operation takes its place in the rank's order; call in that order.
    void note_node(const LiveOperation& live);

  private:
    enum : uint32_t { kInputMap, kOutputMap, kScratchMaps };
    struct Span {
        uint32_t map = 0;
        uint64_t begin = 0;
        uint64_t end = 0;
    };
    struct Access {
        std::optional<Position> writer;
        std::vector<Position> readers;  // since that write; none of them ordered before another
        bool operator==(const Access&) const = default;
    };
    // What is complete of a slot before a node operation: all before round `round` of `lane`, and
    // the bits of that round and the next.
    struct Known {
        uint64_t lane = 0;
        uint64_t round = 0;
        uint64_t bits = 0;
        uint64_t next_bits = 0;
        [[nodiscard]] bool holds(const Position& position) const;
        void join(const Known& other);
    };

    [[nodiscard]] Span span(const Block& block, uint64_t lane) const;
    [[nodiscard]] bool is_before(const Position& earlier, const LiveOperation& later) const;
    void enter_lane(uint64_t lane);
    void fill(const Block& block, Value value);

    uint32_t lanes_in_flight_;
    bool is_in_place_;
    // In place the inner one stands in the outer one, from there on.
    uint32_t inner_ = kInputMap;
    uint32_t outer_ = kOutputMap;
    uint64_t in_place_offset_ = 0;
    std::vector<IntervalMap<Value>> values_;  // input, output, scratch of the slots
    std::vector<IntervalMap<Access>> accesses_;
    std::vector<uint64_t> lane_of_slot_;
    std::vector<std::vector<Known>> known_;  // by order, by slot
};

// What is wrong with the blocks that the rank has received, or with the gaps between them; empty:
// nothing.
std::string wrong_blocks(const RankMemory& memory, const PairBlocks& blocks, Rank rank);

}  // namespace tutti::check
