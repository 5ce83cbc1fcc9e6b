// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a team know alike about one call: the only input, beside its own rank, from
// which a rank may derive its schedule (ARCHITECTURE.md, "What always holds").
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/collectives.h"
#include "base/networks.h"
#include "base/topo/placement.h"
#include "plan/sched/block_lengths.h"
#include "tutti/tutti.h"

namespace tutti::sched {

// A rank's number in the team.
using Rank = uint32_t;

// How fast messages of a kind are, as measured between hosts; 0: not known.
struct Speed {
    uint64_t latency_ns = 0;  // of a few bytes, one way
    uint64_t mbit = 0;        // Mbit/s of long ones
    bool operator==(const Speed&) const = default;
};
// What holds for both; one that is not known says nothing.
constexpr Speed slower(const Speed& one, const Speed& other) {
    if (one.mbit == 0) return other;
    if (other.mbit == 0) return one;
    return {std::max(one.latency_ns, other.latency_ns), std::min(one.mbit, other.mbit)};
}

// The participants of a schedule are the ranks of a team, or its nodes: then participant i is the
// node i of the placement, and its block in gather, scatter and allgather holds the blocks of all
// its ranks, in the order of Placement::members.
struct Shape {
    tutti_collective collective = TUTTI_BARRIER;
    Rank ranks = 1;  // participants, p in algo/
    Rank root = 0;   // a participant
    // As in tutti_call: the vector of bcast, reduce and allreduce, one rank's block of the others;
    // of a vector form the longest block, where all ranks know the lengths.
    uint64_t bytes = 0;
    // Vectors are cut only between elements; divides bytes of a reduction.
    uint32_t element_bytes = 1;
    bool is_commutative = true;
    // The result has the same bits whatever the order of the operands. Where it has not, calls of
    // one shape keep their order from the first one on.
    bool is_exact = true;
    // Of an allreduce: each element of the result is computed by one participant, from which the
    // others have it.
    bool is_computed_once = false;
    // By which messages between hosts go to the peers that algorithms send most to, beside the
    // embedder's.
    NetworkSet networks = {};
    // The team has a multicast route, agreed when it was made: Programs may multicast.
    bool has_multicast = false;
    // A receive for which nothing will come may be given back (Transport::withdraw_receive), on all
    // ranks.
    bool gives_back = true;
    // Agreed likewise: from one rank to all by that route, and between two ranks without it.
    Speed multicast_speed = {};
    Speed message_speed = {};
    // Ranks whose sizes differ would have been found out by now, in earlier calls of this
    // collective.
    bool sizes_are_compared = true;
    // Set where the participants are nodes.
    const topo::Placement* nodes = nullptr;
    // Set where the participants are ranks, and may stand in any order or have this one: who is on
    // which node.
    const topo::Placement* ranks_on = nullptr;
    // Their blocks stand in the order of ranks, not in their own.
    bool has_blocks_by_rank = false;
    // Set where participants are numbered by positions in it.
    const topo::SwitchOrder* switches = nullptr;
    // Of a vector form, as all ranks know them, in the order in which blocks stand; none where all
    // are `bytes` long. Where the participants are nodes, those of a node's ranks stand together.
    BlockLengths lengths = {};

    bool operator==(const Shape&) const = default;

    // Where participant i's block begins in the buffer that holds all of them, and its length.
    [[nodiscard]] uint64_t block_offset(Rank i) const { return bytes_before(first_block(i)); }
    [[nodiscard]] uint64_t block_bytes(Rank i) const {
        if (!lengths.are_there()) return members_of(i) * bytes;
        const Rank first = first_block(i);
        const auto end = static_cast<Rank>(first + members_of(i));
        return bytes_before(end) - bytes_before(first);
    }
    [[nodiscard]] uint64_t all_blocks_bytes() const {
        return bytes_before(nodes ? nodes->ranks() : ranks);
    }

    // Of an alltoall, likewise: the block of participant `own` for participant i, or from it. Of
    // nodes it holds one for each pair of their ranks, those of the first sender in front.
    [[nodiscard]] uint64_t pair_offset(Rank own, Rank i) const {
        return members_of(own) * block_offset(i);
    }
    [[nodiscard]] uint64_t pair_bytes(Rank own, Rank i) const {
        return members_of(own) * block_bytes(i);
    }
    [[nodiscard]] uint64_t pair_bytes_max(Rank own) const {
        return members_of(own) * (nodes ? nodes->members_max() : 1) * bytes;
    }

    // Of participant i's input or output; 0 where it is not significant.
    [[nodiscard]] uint64_t input_bytes(Rank i) const {
        const Collective& what = facts(collective);
        return what.in_place == InPlace::kAlways ? 0 : bytes_of(what.input, i);
    }
    [[nodiscard]] uint64_t output_bytes(Rank i) const {
        return bytes_of(facts(collective).output, i);
    }

  private:
    // Blocks in front of participant i's.
    [[nodiscard]] Rank first_block(Rank i) const {
        if (!nodes) return i;
        return has_blocks_by_rank ? nodes->members(i).front() : nodes->members_before(i);
    }
    // Of so many blocks.
    [[nodiscard]] uint64_t bytes_before(Rank blocks) const {
        return lengths.are_there() ? lengths.before(blocks) : uint64_t{blocks} * bytes;
    }
    [[nodiscard]] uint64_t members_of(Rank i) const { return nodes ? nodes->members(i).size() : 1; }
    [[nodiscard]] uint64_t bytes_of(const CollectiveBuffer& buffer, Rank i) const {
        if (!is_on(buffer.on, i, root)) return 0;
        if (buffer.holds == Holds::kAll) {
            return all_blocks_bytes() * (is_between_all(collective) ? members_of(i) : 1);
        }
        return has_blocks(collective) ? block_bytes(i) : bytes;
    }
};

}  // namespace tutti::sched
