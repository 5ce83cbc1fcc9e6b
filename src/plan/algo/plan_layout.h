// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a plan derive alike: the cut into lanes, who leads, whether there is a node
// level. Inside algo/ only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "plan/algo/algorithms.h"
#include "plan/algo/node_layout.h"
#include "plan/algo/plan.h"

namespace tutti::algo {

struct Layout {
    Layout(const Algorithm& chosen, const Shape& call, const topo::Placement& where,
           const Tuning& tuned);

    // What the algorithm sees of a lane of so many bytes.
    [[nodiscard]] Shape inner(uint64_t bytes) const;
    [[nodiscard]] uint64_t bytes_of(uint64_t lane) const {
        return std::min(segment_bytes, shape.bytes - lane * segment_bytes);
    }
    // Of a rank; and at most, on a node of so many members.
    [[nodiscard]] uint64_t amount_of(Rank rank, Amount amount, uint64_t lane_bytes) const;
    [[nodiscard]] uint64_t amount_bytes(Amount amount, uint64_t lane_bytes, uint64_t members) const;
    // Of a node in a lane. Where there is a root, of its own node always.
    [[nodiscard]] Rank leader(uint32_t of, uint64_t lane) const;
    [[nodiscard]] Rank rank_of(Rank participant, uint64_t lane) const {
        return is_flat ? participant : leader(participant, lane);
    }
    // The lanes after which the leaders of a node of so many members come again.
    [[nodiscard]] uint64_t turns(uint64_t members) const {
        return std::min({lanes, uint64_t{std::max(tuning.leaders, 1u)}, members});
    }
    // Of a rank's block in the buffer of all, as the algorithm has it; and of a node's.
    [[nodiscard]] uint64_t rank_offset(Rank rank) const { return bytes_before(place_of(rank)); }
    [[nodiscard]] uint64_t node_offset(uint32_t of) const {
        return rank_offset(placement->members(of).front());
    }
    [[nodiscard]] uint64_t node_bytes(uint32_t of) const {
        const Rank first = place_of(placement->members(of).front());
        const auto end = static_cast<Rank>(first + placement->members(of).size());
        return bytes_before(end) - bytes_before(first);
    }
    // Of a vector form: the lengths of its ranks' blocks, if they differ anywhere.
    [[nodiscard]] std::span<const uint64_t> node_lengths(uint32_t of) const;
    // The rounds that packing takes.
    [[nodiscard]] uint64_t packing_rounds() const {
        return (shape.ranks + sched::kRoundOpsMax - 1) / sched::kRoundOpsMax;
    }
    // The most that a rank's plan takes in front of the algorithm's own scratch.
    [[nodiscard]] uint64_t own_scratch_max() const;

    Shape shape;
    // What participants run. Of a scan nodes run the exclusive one of its name.
    const Algorithm* algorithm;
    const NodeLayout* node;
    const topo::Placement* placement;             // in the order that the algorithm follows
    const topo::SwitchOrder* switches = nullptr;  // where that is theirs
    const topo::Placement* ranks_on = nullptr;    // Shape::ranks_on, where it is flat
    Tuning tuning;
    bool is_flat = false;             // every rank is a participant
    bool is_packed = false;           // blocks travel in scratch, in the order of nodes
    bool has_blocks_by_rank = false;  // the algorithm leaves them in the order of ranks
    bool has_multicast = false;  // results reach all ranks of a node without a closing operation
    sched::OwnLengths packed_lengths;  // the shape's, in the order of nodes, where is_packed
    uint64_t segment_bytes = 0;
    uint64_t lanes = 1;
    uint32_t lanes_in_flight = 1;

  private:
    [[nodiscard]] sched::BlockLengths lengths() const {
        return is_packed ? packed_lengths.view() : shape.lengths;
    }
    // Blocks in front of a rank's, and the bytes of so many.
    [[nodiscard]] Rank place_of(Rank rank) const {
        if (!is_packed) return rank;
        return placement->members_before(placement->node_of(rank)) + placement->index_on_node(rank);
    }
    [[nodiscard]] uint64_t bytes_before(Rank blocks) const {
        return shape.lengths.are_there() ? lengths().before(blocks)
                                         : uint64_t{blocks} * shape.bytes;
    }
};

// The numbers of node operations, alike on all members of a node (plan.h).
struct NodeTurns {
    uint64_t lanes = 1;
    uint64_t in_flight = 1;
    uint64_t openings = 0;  // of a lane
    uint64_t closings = 0;

    [[nodiscard]] uint64_t opening(uint64_t lane) const {
        if (lane < in_flight) return lane * openings;
        return in_flight * openings + (lane - in_flight) * (openings + closings) + closings;
    }
    [[nodiscard]] uint64_t closing(uint64_t lane) const {
        return in_flight * openings + lane * closings +
               std::min(lane, lanes - in_flight) * openings;
    }
};

}  // namespace tutti::algo
