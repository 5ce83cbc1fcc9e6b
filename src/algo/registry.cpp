// SPDX-License-Identifier: BSD-3-Clause
#include "algo/registry.h"

#include <array>

#include "algo/algorithms.h"
#include "algo/halving.h"

namespace tutti::algo {
namespace {

// Vectors are cut into lanes, but blocks of gather, scatter and allgather are not.
constexpr std::string_view kTooLong = "a message would be longer than 1 GiB";

std::string_view never(const Shape&) { return {}; }

std::string_view unless_commutative(const Shape& shape) {
    if (shape.is_commutative) return {};
    return "needs an operator that commutes";
}

constexpr std::string_view kNoMulticast = "needs a multicast route, which this team has not";
// A multicast holds an element at least.
constexpr std::string_view kTooLongForMulticast = "a multicast would be longer than 16 KiB";
static_assert(sched::kMulticastBytesMax == 16 * 1024);

std::string_view unless_multicast(const Shape& shape) {
    return shape.has_multicast ? std::string_view() : kNoMulticast;
}

// A lane is one multicast.
std::string_view unless_one_multicast(const Shape& shape) {
    if (!shape.has_multicast) return kNoMulticast;
    return shape.bytes > sched::kMulticastBytesMax ? kTooLongForMulticast : std::string_view();
}

std::string_view unless_multicast_commutes(const Shape& shape) {
    if (!shape.has_multicast) return kNoMulticast;
    if (shape.element_bytes > sched::kMulticastBytesMax) return kTooLongForMulticast;
    return unless_commutative(shape);
}

std::string_view if_block_too_long(const Shape& shape) {
    const uint64_t blocks = shape.nodes ? shape.nodes->members_max() : 1;
    return shape.bytes > sched::kBlockBytesMax / blocks ? kTooLong : std::string_view();
}

// The subtrees' blocks travel together.
std::string_view if_subtree_too_long(const Shape& shape) {
    const HalvingTree root(shape.ranks, shape.root, shape.root);
    for (uint32_t j = 0; j < root.children(); ++j) {
        if (interval_bytes(shape, root.child(j)) > sched::kBlockBytesMax) return kTooLong;
    }
    return {};
}

std::string_view if_half_too_long(const Shape& shape) {
    const Rank middle = (shape.ranks + 1) / 2;
    const uint64_t first = shape.block_offset(middle);
    const uint64_t second = shape.all_blocks_bytes() - first;
    return std::max(first, second) > sched::kBlockBytesMax && shape.ranks > 1 ? kTooLong
                                                                              : std::string_view();
}

uint64_t no_scratch(const Shape&, const Tuning&) { return 0; }

// A chain's time is (p - 2 + S) segments of n / S bytes each: 16 KiB make 64 of 1 MiB, so that 16
// hosts come within a quarter of the time of one link, and the start-up of a message over TCP
// (about 50 us) stays small beside the time it takes at 1 Gbit/s and below (131 us).
constexpr uint64_t kChainSegment = uint64_t{16} << 10;
// Where a lane ends only when its result has come back from the far end of the chain, p and more
// lanes have to be in flight to keep the links busy. 16 hosts, 1 MiB, against the lower bound
// (tutti simulate, 25 Mbit/s): reduce to rank 0 4.1 times with 4 lanes, 1.24 with 16; allreduce 4.4
// and 1.58.
constexpr uint32_t kReturningLanes = sched::kLanesInFlightMax;
// A multicast of 16 KiB takes 5 ms at 25 Mbit/s, 13 us at 10 Gbit/s: 16 of them cover any round
// trip of a cluster, and leave room for the next call's within kMulticastsInFlightMax.
constexpr uint32_t kMulticastLanes = sched::kLanesInFlightMax;
// A ring cuts each segment into p blocks. 4 MiB: 256 KiB blocks on 16 hosts, long against any
// start-up, and both blocks that are under way at a time fit the caches.
constexpr uint64_t kRingSegment = uint64_t{4} << 20;

constexpr auto kAlgorithms = std::to_array<Algorithm>({
    {"dissemination", TUTTI_BARRIER, "ceil(log2 p) rounds, every rank alike", never,
     barrier_dissemination, no_scratch, 0},
    {"pairwise", TUTTI_BARRIER, "pairs at distances that double; two steps more unless p = 2^k",
     never, barrier_pairwise, no_scratch, 0},
    {"tree", TUTTI_BARRIER, "up and down a tree of settable fan-in", never, barrier_tree,
     no_scratch, 0, true},
    {.name = "gather_multicast",
     .collective = TUTTI_BARRIER,
     .summary = "up a tree of settable fan-in, then one multicast",
     .obstacle = unless_multicast,
     .make = barrier_gather_multicast,
     .scratch_bytes = no_scratch,
     .segment_bytes = 0,
     .has_fan_in = true,
     .has_multicast = true},

    {"binomial", TUTTI_BCAST, "whole vectors down a binomial tree", never, bcast_binomial,
     no_scratch, 0},
    {"chain", TUTTI_BCAST, "segments along a chain: every link carries each byte once", never,
     bcast_chain, no_scratch, kChainSegment},
    {"scatter_allgather", TUTTI_BCAST, "pieces down a binomial tree, then around a ring", never,
     bcast_scatter_allgather, no_scratch, 0},
    {.name = "multicast",
     .collective = TUTTI_BCAST,
     .summary = "segments by multicast: every link carries each byte once",
     .obstacle = unless_one_multicast,
     .make = bcast_multicast,
     .scratch_bytes = no_scratch,
     .segment_bytes = sched::kMulticastBytesMax,
     .lanes_in_flight = kMulticastLanes,
     .segment_bytes_max = sched::kMulticastBytesMax,
     .has_multicast = true,
     .is_flat = true},

    {"binomial", TUTTI_REDUCE, "whole vectors up a binomial tree, in the order of ranks", never,
     reduce_binomial, reduce_binomial_scratch, 0},
    {"chain", TUTTI_REDUCE, "segments along a chain, folded from the left: the canonical order",
     never, reduce_chain, reduce_chain_scratch, kChainSegment, false, false, kReturningLanes},
    {"rotated_chain", TUTTI_REDUCE, "segments along a chain that ends at the root",
     unless_commutative, reduce_rotated_chain, reduce_chain_scratch, kChainSegment},

    {"pairwise", TUTTI_ALLREDUCE, "whole vectors between pairs at distances that double", never,
     allreduce_pairwise, allreduce_pairwise_scratch, 0},
    {"rabenseifner", TUTTI_ALLREDUCE, "halves between pairs, there and back", never,
     allreduce_rabenseifner, allreduce_rabenseifner_scratch, 0},
    {"ring", TUTTI_ALLREDUCE, "blocks around a ring, twice: the fewest bytes", unless_commutative,
     allreduce_ring, allreduce_ring_scratch, kRingSegment},
    {"chain", TUTTI_ALLREDUCE, "segments up and down a chain: the canonical order", never,
     allreduce_chain, allreduce_chain_scratch, kChainSegment, false, false, kReturningLanes},
    {.name = "gather_multicast",
     .collective = TUTTI_ALLREDUCE,
     .summary = "up a tree of settable fan-in, then one multicast",
     .obstacle = unless_one_multicast,
     .make = allreduce_gather_multicast,
     .scratch_bytes = allreduce_gather_multicast_scratch,
     .segment_bytes = sched::kMulticastBytesMax,
     .has_fan_in = true,
     .segment_bytes_max = sched::kMulticastBytesMax,
     .has_multicast = true},
    {.name = "multicast",
     .collective = TUTTI_ALLREDUCE,
     .summary = "blocks around a ring, then multicast in turn",
     .obstacle = unless_multicast_commutes,
     .make = allreduce_multicast,
     .scratch_bytes = allreduce_multicast_scratch,
     .segment_bytes = kRingSegment,
     .has_fan_in = true,
     .fan_in_max = sched::kMulticastsInFlightMax,
     .has_multicast = true},

    {"direct", TUTTI_GATHER, "every rank sends to the root", if_block_too_long, gather_direct,
     no_scratch, 0, true},
    {"binomial", TUTTI_GATHER, "subtrees' blocks together up a binomial tree", if_subtree_too_long,
     gather_binomial, gather_binomial_scratch, 0},

    {"direct", TUTTI_SCATTER, "the root sends to every rank", if_block_too_long, scatter_direct,
     no_scratch, 0, true},
    {"binomial", TUTTI_SCATTER, "subtrees' blocks together down a binomial tree",
     if_subtree_too_long, scatter_binomial, scatter_binomial_scratch, 0},

    {"ring", TUTTI_ALLGATHER, "blocks around a ring: neighbours only", if_block_too_long,
     allgather_ring, no_scratch, 0, false, true},
    {"recursive_doubling", TUTTI_ALLGATHER, "all that one holds, at distances that double",
     if_half_too_long, allgather_recursive_doubling, no_scratch, 0},
    {.name = "multicast",
     .collective = TUTTI_ALLGATHER,
     .summary = "blocks by multicast in turn: every link carries each once",
     .obstacle = unless_multicast,
     .make = allgather_multicast,
     .scratch_bytes = no_scratch,
     .segment_bytes = 0,
     .has_fan_in = true,
     .has_pieces = true,
     .segment_bytes_max = sched::kMulticastBytesMax,
     .fan_in_max = sched::kMulticastsInFlightMax,
     .has_multicast = true,
     .is_flat = true},
});

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

const Algorithm* find(tutti_collective collective, std::string_view name) {
    for (const Algorithm& one : kAlgorithms) {
        if (one.collective == collective && one.name == name) return &one;
    }
    return nullptr;
}

}  // namespace tutti::algo
