// SPDX-License-Identifier: BSD-3-Clause
// The registry of algorithms: the record of each. An algorithm is a pure function from (shape,
// rank) to a Program of one lane, or of two where it has bundles; plan/algo/plan.h cuts vectors
// into lanes and puts the node level around it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/sched/program.h"
#include "plan/sched/shortened.h"

namespace tutti::algo {

using sched::Program;
using sched::Rank;
using sched::Shape;

// How participants stand in rings and chains, and where trees are cut.
enum class Order : uint8_t {
    kSwitches,  // along the switches, where they are known and the call allows it
    kRanks      // nodes by their lowest ranks
};

// What a rule may set; 0: the algorithm's own choice, stated in its file.
struct Tuning {
    uint64_t segment_bytes =
        0;  // vectors are cut into lanes, blocks into messages of so many bytes
    uint32_t lanes_in_flight = 0;  // at most sched::kLanesInFlightMax
    uint32_t fan_in = 0;           // children of a tree's inner node, messages at a time
    uint32_t leaders = 0;          // ranks of a node that talk to other nodes, in turn by lane
    bool flat = false;             // no node level: every rank is a participant by itself
    Order order = Order::kSwitches;
    bool operator==(const Tuning&) const = default;
};

inline std::string_view never(const Shape&) { return {}; }
inline uint64_t no_scratch(const Shape&, const Tuning&) { return 0; }

// No, one or two stretches of rounds.
using AlikeRounds = std::array<sched::Stretch, 2>;
inline AlikeRounds none_alike(const Shape&) { return {}; }

// Laws of the longest chain of messages that wait for each other in a lane, p participants.
inline uint64_t one_step(const Shape&, const Tuning&) { return 1; }
// ceil(log2 p)
uint64_t doubling_steps(const Shape& shape, const Tuning& tuning);
// floor(log2 p), and 2 more where p is no power of two (plan/algo/pairs.h).
uint64_t pair_steps(const Shape& shape, const Tuning& tuning);
// p - 1
uint64_t passing_steps(const Shape& shape, const Tuning& tuning);

// An algorithm's record, which stands in its own file.
struct Algorithm {
    std::string_view name;
    tutti_collective collective;
    std::string_view summary;  // one line for `tutti explain`
    // Empty if the algorithm is right for this shape, else why not: "needs a commutative operator".
    std::string_view (*obstacle)(const Shape& shape) = never;
    // One lane. shape has no obstacle.
    std::unique_ptr<Program> (*make)(const Shape& shape, Rank rank, const Tuning& tuning);
    // Where some of its messages are bundled (plan/sched/bundle_rules.h), what those who price take
    // for its Program: the messages that leave and come instead. Such an algorithm heeds
    // Shape::ranks_on, where some node has several ranks, wherever these are. nullptr: none is.
    std::unique_ptr<Program> (*make_priced)(const Shape& shape, Rank rank,
                                            const Tuning& tuning) = nullptr;
    // The most scratch that any rank's Program takes, in bytes: part of the choice, so the same for
    // all ranks.
    uint64_t (*scratch_bytes)(const Shape& shape, const Tuning& tuning) = no_scratch;
    // Its law, for those who price long schedules: in these rounds each participant does the same
    // with the same peers, but for what does not divide. Of the shape that make() gets.
    AlikeRounds (*alike)(const Shape& shape) = none_alike;
    // Likewise: the longest chain of messages that wait for each other, at most, for those who
    // price schedules that are too long to be followed. What a participant posts at once counts
    // once.
    uint64_t (*steps)(const Shape& shape, const Tuning& tuning) = doubling_steps;
    // Cut vectors this long into segments when nothing else is said; 0: leave them whole.
    uint64_t segment_bytes = 0;
    // Its longest messages go from one half of the participants to the other. It follows the walk
    // along the switches dealt out (topo::OnSwitches), which has neighbours there, where all
    // switches have as many hosts, a power of two in all; elsewhere the order of ranks.
    bool reaches_far = false;
    // Each of its operations is about one participant's block, so blocks may stand in any order.
    bool has_single_blocks = false;
    // Whether it heeds Tuning::fan_in.
    bool has_fan_in = false;
    // Then it is the tree of plan/algo/halving.h, of which 4 and 8 make two and three levels one.
    bool has_levels = false;
    // Then it is the base in which distances are written, 2 if nothing is said: a larger one takes
    // fewer steps, of more messages and fewer bytes.
    bool has_radix = false;
    // Whether its blocks are cut by Tuning::segment_bytes (allgather, alltoall), or its only lane
    // is (bcast).
    bool has_pieces = false;
    // Lanes in flight when nothing else is said and segments are short; 0: as many as suit the node
    // level.
    uint32_t lanes_in_flight = 0;
    // Tuning::segment_bytes and Tuning::fan_in at most; 0: whatever the options allow.
    uint64_t segment_bytes_max = 0;
    uint32_t fan_in_max = 0;
    // Its Programs multicast, so the team needs a route for it: Shape::has_multicast. Unless
    // is_flat they do so in their last rounds only, every one of these, and from output.
    bool has_multicast = false;
    // Operands are folded from the left, in the order of ranks: what TUTTI_REPRODUCIBLE runs, flat.
    // Every reduction has one.
    bool folds_from_left = false;
    // Who talks to whom depends on who arrives when, and with it how operands of a reduction are
    // put in parentheses: floating point needs the user's word.
    bool follows_arrival = false;
    // Of an allreduce: several participants compute the same element of the result.
    bool computes_often = false;
    // Runs only where it is named, however low its price, which does not see what it costs.
    bool is_only_named = false;
    // Every rank is a participant, wherever it is: what a multicast brings, it brings to all ranks.
    bool is_flat = false;
    // About so many bytes at most ranks are its participants, one lane at a time, and may stand
    // node after node: it heeds Shape::ranks_on. 0: it does not.
    uint64_t by_node_bytes_max = 0;

    [[nodiscard]] bool has_bundles() const { return make_priced != nullptr; }
};

// Whether it stays in the order of ranks, whatever is known of switches.
inline bool keeps_ranks(const Algorithm& algorithm) {
    return algorithm.is_flat || algorithm.folds_from_left;
}

// Made from the list in CMakeLists.txt, in its order.
std::span<const Algorithm> algorithms();
// What a paper calls it, as it is called here: "rds" is dissemination. Any other name as it is.
std::string_view name_here(std::string_view name);
// nullptr where there is none of this name, as it is called here.
const Algorithm* find(tutti_collective collective, std::string_view name);
// Of a reduction: the one that folds from the left.
const Algorithm& left_fold(tutti_collective collective);

}  // namespace tutti::algo
