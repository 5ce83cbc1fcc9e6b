// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/plan_layout.h"

#include <bit>
#include <vector>

namespace tutti::algo {
namespace {

using topo::Placement;

// A lane is on its way in, one on its way out, and one waits on either side.
constexpr uint32_t kLanesInFlightDefault = 4;
// An algorithm's own wish for more lanes is heeded up to segments so long: 16 lanes with two
// segments of scratch each take 8 MiB then, an eighth of TUTTI_SCRATCH.
constexpr uint64_t kOwnLanesSegmentMax = uint64_t{256} << 10;

// Nodes may be the participants, in this order: it is that of ranks, or the call does not mind.
bool allows(const Algorithm& algorithm, const Shape& shape, const NodeLayout& node,
            const Placement& placement) {
    if (placement.is_contiguous()) return true;
    if (is_reduction(shape.collective) && !shape.is_commutative) return false;
    if (is_prefix(shape.collective)) return false;  // whatever the operator
    if (!has_blocks(shape.collective)) return true;
    if (algorithm.has_single_blocks && placement.has_whole_nodes()) return true;
    return node.packing != Packing::kNone && shape.all_blocks_bytes() <= kPackedBytesMax;
}

// What a leader sorts fits, and the algorithm is right for it. One rank a node has nothing to sort.
bool may_sort(const Algorithm& algorithm, const Shape& shape, const Placement& placement) {
    Shape sorted = shape;
    sorted.ranks = placement.nodes();
    sorted.nodes = &placement;
    if (!algorithm.obstacle(sorted).empty()) return false;
    const uint32_t members = placement.members_max();
    return members == 1 || shape.all_blocks_bytes() <= kPackedBytesMax / members;
}

// Among nodes a scan is an exclusive one of their folds.
const Algorithm& among_nodes(const Algorithm& algorithm) {
    if (algorithm.collective != TUTTI_SCAN) return algorithm;
    const Algorithm* exclusive = find(TUTTI_EXSCAN, algorithm.name);
    TUTTI_ASSERT(exclusive != nullptr, "every scan has an exclusive one of its name");
    return *exclusive;
}

bool must_be_flat(const Algorithm& algorithm, const Shape& shape, const NodeLayout& node,
                  const Placement& placement) {
    const bool is_alone = placement.nodes() == placement.ranks();
    if (!has_node_level(node)) return true;
    if (node.sorts && !may_sort(algorithm, shape, placement)) return true;
    return (is_alone && placement.is_contiguous()) || !allows(algorithm, shape, node, placement);
}

Followed follow(const Algorithm& algorithm, const Shape& shape, const NodeLayout& node,
                const Placement& placement, const Tuning& tuning) {
    const Followed ranks{&placement, nullptr};
    if (tuning.flat || !has_node_level(node) || tuning.order == Order::kRanks) return ranks;
    if (node.sorts && !may_sort(algorithm, shape, placement)) return ranks;
    const std::optional<Followed> along = along_switches(algorithm, placement);
    return along && allows(algorithm, shape, node, *along->placement) ? *along : ranks;
}

// Likewise of ranks by themselves, host after host. Not where their blocks would be packed for it:
// that takes scratch for all of them, which is why some calls are flat. Nor of algorithms that
// reach far, for which hosts and switches had to hold as many.
Followed follow_flat(const Algorithm& algorithm, const Shape& shape, const NodeLayout& node,
                     const Placement& placement, const Tuning& tuning) {
    const Followed ranks{&placement, nullptr};
    const topo::OnSwitches* switches = placement.switches();
    if (switches == nullptr || tuning.order == Order::kRanks) return ranks;
    if (keeps_ranks(algorithm) || algorithm.reaches_far) return ranks;
    if (has_blocks(shape.collective) && !algorithm.has_single_blocks) return ranks;
    const topo::OnSwitches::Ranks& walk = switches->ranks();
    if (!allows(algorithm, shape, node, walk.placement)) return ranks;
    return {&walk.placement, &walk.order};
}

// Shape::ranks_on; none where the order of ranks is to be kept and is another one.
const Placement* node_after_node(const Algorithm& algorithm, const Shape& shape,
                                 const NodeLayout& node, const Placement& placement,
                                 const Tuning& tuning) {
    if (algorithm.has_bundles() && placement.members_max() > 1 && !tuning.flat) return &placement;
    const bool goes_by_node =
        algorithm.by_node_bytes_max > 0 &&
        (!is_vector(shape.collective) || shape.bytes <= algorithm.by_node_bytes_max);
    if (!goes_by_node || tuning.flat) return nullptr;
    const topo::OnSwitches* switches = placement.switches();
    const bool walks = switches != nullptr && tuning.order != Order::kRanks &&
                       allows(algorithm, shape, node, switches->placement());
    if (walks) return &switches->placement();
    return allows(algorithm, shape, node, placement) ? &placement : nullptr;
}

sched::OwnLengths by_node(const sched::BlockLengths& lengths, const Placement& placement) {
    if (!lengths.are_there()) return {};
    std::vector<uint64_t> bytes;
    bytes.reserve(lengths.ranks);
    for (uint32_t of = 0; of < placement.nodes(); ++of) {
        for (const uint32_t rank : placement.members(of)) bytes.push_back(lengths.bytes[rank]);
    }
    return sched::OwnLengths(bytes);
}

}  // namespace

// The order of ranks is what some algorithms are for.
std::optional<Followed> along_switches(const Algorithm& algorithm, const Placement& placement) {
    const topo::OnSwitches* on = placement.switches();
    if (on == nullptr || keeps_ranks(algorithm)) return {};
    const topo::SwitchOrder& order = on->order();
    if (!algorithm.reaches_far) return Followed{&on->placement(), &order};
    const bool halves_well =
        std::has_single_bit(placement.nodes()) && order.nodes_min() == order.nodes_max();
    if (!halves_well) return {};
    return Followed{&on->dealt(), nullptr};
}

Layout::Layout(const Algorithm& chosen, const Shape& call, const Placement& where,
               const Tuning& tuned)
    : shape(call),
      algorithm(&chosen),
      node(&node_layout(call.collective)),
      placement(&where),
      tuning(tuned) {
    TUTTI_ASSERT(shape.ranks == where.ranks(), "the ranks of the placement");
    TUTTI_ASSERT(shape.nodes == nullptr, "the shape of a call is that of ranks");
    Followed followed = follow(chosen, shape, *node, where, tuned);
    ranks_on = node_after_node(chosen, shape, *node, where, tuned);
    is_flat = tuning.flat || chosen.is_flat || ranks_on != nullptr ||
              must_be_flat(chosen, shape, *node, *followed.placement);
    if (!is_flat) algorithm = &among_nodes(chosen);
    if (is_flat && ranks_on == nullptr && followed.switches == nullptr) {
        followed = follow_flat(chosen, shape, *node, where, tuned);
        // Ranks that are nodes of their own are participants as nodes, unless they stand in order.
        is_flat = followed.switches == nullptr || followed.placement->is_contiguous();
    }
    placement = followed.placement;
    switches = followed.switches;
    has_multicast = chosen.has_multicast;
    if (!is_flat && has_blocks(shape.collective) && !placement->is_contiguous()) {
        has_blocks_by_rank = chosen.has_single_blocks && placement->has_whole_nodes();
        is_packed = !has_blocks_by_rank;
        if (is_packed) packed_lengths = by_node(shape.lengths, *placement);
    }
    segment_bytes = shape.bytes;
    if (!is_vector(shape.collective) || chosen.has_pieces) return;
    uint64_t wanted = tuning.segment_bytes ? tuning.segment_bytes : chosen.segment_bytes;
    wanted = std::min(wanted ? wanted : shape.bytes, sched::kBlockBytesMax);
    const uint64_t element = shape.element_bytes;
    segment_bytes = std::min(std::max(wanted / element, uint64_t{1}) * element, shape.bytes);
    if (segment_bytes == 0) return;
    lanes = (shape.bytes + segment_bytes - 1) / segment_bytes;
    // Several leaders are to be at work at once.
    const uint32_t own = segment_bytes <= kOwnLanesSegmentMax ? chosen.lanes_in_flight : 0;
    const uint32_t flying = std::max({kLanesInFlightDefault, 2 * tuning.leaders, own});
    const uint32_t asked = tuning.lanes_in_flight ? tuning.lanes_in_flight : flying;
    lanes_in_flight =
        static_cast<uint32_t>(std::min<uint64_t>({asked, lanes, sched::kLanesInFlightMax}));
    if (ranks_on != nullptr || (chosen.follows_arrival && chosen.has_multicast)) {
        lanes_in_flight = 1;
    }
}

Shape Layout::inner(uint64_t bytes) const {
    Shape result = shape;
    result.collective = algorithm->collective;
    result.bytes = bytes;
    result.switches = switches;
    result.ranks_on = ranks_on;
    if (is_flat) return result;
    result.ranks = placement->nodes();
    result.root = placement->node_of(shape.root);
    if (has_blocks(shape.collective)) result.nodes = placement;
    result.lengths = lengths();
    result.has_blocks_by_rank = has_blocks_by_rank;
    return result;
}

std::span<const uint64_t> Layout::node_lengths(uint32_t of) const {
    if (!shape.lengths.are_there()) return {};
    const std::span<const uint32_t> members = placement->members(of);
    return {lengths().bytes + place_of(members.front()), members.size()};
}

uint64_t Layout::amount_of(Rank rank, Amount amount, uint64_t lane_bytes) const {
    const uint32_t of = placement->node_of(rank);
    const bool is_even = !shape.lengths.are_there();
    if (amount == Amount::kLane && !is_even) return shape.block_bytes(rank);
    if (amount == Amount::kNode && !is_even) return node_bytes(of);
    return amount_bytes(amount, lane_bytes, placement->members(of).size());
}

uint64_t Layout::amount_bytes(Amount amount, uint64_t lane_bytes, uint64_t members) const {
    switch (amount) {
        case Amount::kLane:
            return lane_bytes;
        case Amount::kNode:
            return std::min(members * lane_bytes, shape.all_blocks_bytes());
        case Amount::kAll:
            return shape.all_blocks_bytes();
        case Amount::kAllOfNode:
            return members * shape.all_blocks_bytes();
        case Amount::kNothing:
            break;
    }
    return 0;
}

Rank Layout::leader(uint32_t of, uint64_t lane) const {
    if (has_root(shape.collective) && of == placement->node_of(shape.root)) return shape.root;
    const std::span<const uint32_t> members = placement->members(of);
    if (is_prefix(shape.collective)) return members.back();  // which has the fold of all
    const uint64_t leaders = std::clamp<uint64_t>(tuning.leaders, 1, members.size());
    return members[lane % leaders];
}

uint64_t Layout::own_scratch_max() const {
    // What a leader folds stands behind what it has packed; of others either is all.
    const bool has_both = node->opening.kind && node->packing == Packing::kBefore;
    const uint64_t packed = is_packed ? align_up(shape.all_blocks_bytes()) : 0;
    if (is_flat || placement->members_max() == 1 || (is_packed && !has_both)) return packed;
    const uint32_t members = placement->members_max();
    return packed + align_up(amount_bytes(node->scratch, segment_bytes, members)) +
           align_up(amount_bytes(node->behind, segment_bytes, members));
}

}  // namespace tutti::algo
