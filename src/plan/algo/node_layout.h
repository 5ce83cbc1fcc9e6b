// SPDX-License-Identifier: BSD-3-Clause
// How the node level stands around an algorithm of the leaders: a row a collective. The opening
// operation brings what the node's ranks have to their leader; then the leaders run the algorithm,
// which reads `input` and leaves `output`; the closing operation brings that to the node's ranks.
// Inside algo/ only.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/sched/program.h"
#include "tutti/tutti.h"

namespace tutti::algo {

// Where something stands in the buffers of the call.
enum class Spot : uint8_t {
    kNone,
    kInput,  // of the rank itself: the lane's segment, or its block
    kOutput,
    kScratch,  // of the plan, in front of the algorithm's
    kBehind,   // of the plan too, behind that
    kAllIn,    // all blocks, in the order of nodes; in scratch where they are packed
    kAllOut,
    kNodeIn,  // the own node's among these
    kNodeOut
};

// How much: a lane's segment or one rank's block, those of the node's ranks, of all ranks, and for
// each of the node's ranks those of all.
enum class Amount : uint8_t { kNothing, kLane, kNode, kAll, kAllOfNode };

struct Spots {
    Spot alone = Spot::kNone;  // the only rank of its node, or without a node level
    Spot at_root = Spot::kNone;
    Spot elsewhere = Spot::kNone;
};

struct NodePart {
    std::optional<sched::OperationKind> kind;
    Amount member = Amount::kNothing;  // what each rank gives to an opening, gets of a closing
    Amount leader = Amount::kNothing;  // what it makes of that, or takes
};

// Where nodes are not contiguous: copies between the order of ranks and that of nodes, on ranks
// whose input (before) or output (behind) holds all blocks.
enum class Packing : uint8_t { kNone, kBefore, kBehind };

struct NodeLayout {
    NodePart opening;
    Spots input;
    Spots output;
    NodePart closing;
    Amount scratch = Amount::kNothing;  // that Spot::kScratch takes
    Amount behind = Amount::kNothing;   // and Spot::kBehind
    Packing packing = Packing::kNone;   // blocks without it: no node level over such nodes
    // What the algorithm receives into its output is nothing that the opening touches.
    bool lands_apart = false;
    // What the opening brings is sorted by the nodes that it goes to, and what comes by the node's
    // ranks. The algorithm reads sorted blocks and leaves its own where the opening left them;
    // the closing takes what was sorted back.
    bool sorts = false;
    // The closing may be cut: what each round has brought is handed on at once.
    bool streams = false;
};

// Without one, every rank is a participant.
constexpr bool has_node_level(const NodeLayout& layout) {
    return layout.opening.kind.has_value() || layout.closing.kind.has_value();
}

const NodeLayout& node_layout(tutti_collective collective);

}  // namespace tutti::algo
