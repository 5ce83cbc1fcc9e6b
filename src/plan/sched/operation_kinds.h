// SPDX-License-Identifier: BSD-3-Clause
// The one table of kinds of operations: which ranks take part in each, what it does with its
// blocks, and its text. The code that proves, counts, prices, prints, parses or traces a Program
// asks for these properties, and knows no kinds. HACKING.md says what a new kind touches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/collectives.h"
#include "plan/sched/program.h"

namespace tutti::sched {

// The ranks that take part in an operation.
enum class Among : uint8_t {
    kItself,   // the rank alone: a fold, else a copy
    kPair,     // the two ends of a message
    kTeam,     // all ranks: one multicasts, all others receive
    kMeeting,  // participants who meet
    kNode      // all ranks of a node
};

// What it is in a round that meets, which has one of kNeighbour for each neighbour, and then one of
// the others.
enum class Meeting : uint8_t {
    kNone,
    kNeighbour,
    kFold,  // all get the fold of all; if it has an order, by a multicast
    kFeed   // all get the middle's block
};

// What an operation does with one of its blocks.
enum class Use : uint8_t {
    kNone,
    kRead,
    kWritten,
    kReadAtRoot,     // of a node operation; other members leave it alone
    kWrittenAtRoot,  // likewise
    kSpread,         // read at the root, written by all others
    kRoom,           // messages land there; its contents are undefined afterwards
    kOperand         // read, or room for the message: see Operation::incoming
};

// Blocks that are equally long.
enum class Lengths : uint8_t { kAny, kLikeLeft, kLikeBoth };

// Which numbers Operation::order counts.
enum class Order : uint8_t { kNone, kOfMulticasts, kOfNode };

// What stands behind a `$` in OperationRow::text.
enum class Field : uint8_t {
    kMessage,
    kPeer,
    kOrder,
    kTo,
    kLeft,
    kRight,
    kStarLeft,   // the operand, with a star where the message lands in it
    kStarRight,  // likewise
    kNeighbour,  // "parent 3", "child 3"
    kNear,       // "near 1", or nothing
    kFed         // "in" and the block that is fed, in the middle "out"
};
inline constexpr std::array<std::string_view, 11> kFieldNames = {
    "message",   "peer",       "order",     "to",   "left", "right",
    "star_left", "star_right", "neighbour", "near", "fed"};

constexpr std::optional<Field> field_of(std::string_view name) {
    for (size_t i = 0; i < kFieldNames.size(); ++i) {
        if (kFieldNames[i] == name) return static_cast<Field>(i);
    }
    return {};
}

struct OperationRow {
    OperationKind kind = OperationKind::kCopy;
    std::string_view word;  // "recv_reduce"
    std::string_view text;  // behind the word, as it is printed and read: words, and $fields
    Among among = Among::kItself;
    Meeting meeting = Meeting::kNone;
    // A message or multicast leaves here, or comes here. What those who meet send to whom depends
    // on arrivals: the two that pass between neighbours stand at the neighbour.
    bool sends = false;
    bool receives = false;
    bool has_participant = false;  // Operation::peer is a participant, not a root on its node
    Order order = Order::kNone;
    Use to = Use::kNone;
    Use left = Use::kNone;
    Use right = Use::kNone;
    Lengths to_is = Lengths::kAny;
    bool folds = false;           // only in a reduction; a meet of no bytes folds nothing
    bool may_be_counted = false;  // Operation::is_counted
    bool may_be_bundled = false;  // Operation::is_bundled
    // Of a node operation: which of its members' collectives it is.
    std::optional<tutti_collective> collective = std::nullopt;
};

inline constexpr auto kOperations = [] {
    using Kind = OperationKind;
    return std::to_array<OperationRow>({
        {.kind = Kind::kSend,
         .word = "send",
         .text = "$message to $peer $left",
         .among = Among::kPair,
         .sends = true,
         .has_participant = true,
         .left = Use::kRead,
         .may_be_counted = true,
         .may_be_bundled = true},
        {.kind = Kind::kRecv,
         .word = "recv",
         .text = "$message from $peer $to",
         .among = Among::kPair,
         .receives = true,
         .has_participant = true,
         .to = Use::kWritten,
         .may_be_counted = true,
         .may_be_bundled = true},
        {.kind = Kind::kRecvReduce,
         .word = "recv_reduce",
         .text = "$message from $peer $to = $star_left op $star_right",
         .among = Among::kPair,
         .receives = true,
         .has_participant = true,
         .to = Use::kWritten,
         .left = Use::kOperand,
         .right = Use::kOperand,
         .to_is = Lengths::kLikeBoth,
         .folds = true},
        {.kind = Kind::kCopy,
         .word = "copy",
         .text = "$to = $left",
         .to = Use::kWritten,
         .left = Use::kRead,
         .to_is = Lengths::kLikeLeft},
        {.kind = Kind::kReduce,
         .word = "reduce",
         .text = "$to = $left op $right",
         .to = Use::kWritten,
         .left = Use::kRead,
         .right = Use::kRead,
         .to_is = Lengths::kLikeBoth,
         .folds = true},
        {.kind = Kind::kMulticast,
         .word = "multicast",
         .text = "$left",
         .among = Among::kTeam,
         .sends = true,
         .order = Order::kOfMulticasts,
         .left = Use::kRead},
        {.kind = Kind::kRecvMulticast,
         .word = "recv_multicast",
         .text = "from $peer $to",
         .among = Among::kTeam,
         .receives = true,
         .has_participant = true,
         .order = Order::kOfMulticasts,
         .to = Use::kWritten},
        {.kind = Kind::kMeetWith,
         .word = "meet_with",
         .text = "$neighbour $near $to",
         .among = Among::kMeeting,
         .meeting = Meeting::kNeighbour,
         .sends = true,
         .receives = true,
         .has_participant = true,
         .to = Use::kRoom},
        {.kind = Kind::kMeet,
         .word = "meet",
         .text = "$to = $left by $right",
         .among = Among::kMeeting,
         .meeting = Meeting::kFold,
         .to = Use::kWritten,
         .left = Use::kRead,
         .right = Use::kRoom,
         .to_is = Lengths::kLikeLeft,
         .folds = true},
        {.kind = Kind::kMeetMulticast,
         .word = "meet_multicast",
         .text = "as $peer $to = $left by $right",
         .among = Among::kMeeting,
         .meeting = Meeting::kFold,
         .has_participant = true,
         .order = Order::kOfMulticasts,
         .to = Use::kWritten,
         .left = Use::kRead,
         .right = Use::kRoom,
         .to_is = Lengths::kLikeLeft,
         .folds = true,
         .may_be_counted = true},
        // `right` says how long a piece is, and is no block.
        {.kind = Kind::kFeed,
         .word = "feed",
         .text = "$fed by $right to $order of $message",
         .among = Among::kMeeting,
         .meeting = Meeting::kFeed,
         .to = Use::kWritten,
         .left = Use::kRead},
        {.kind = Kind::kNodeArrive,
         .word = "node_arrive",
         .text = "root $peer",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .collective = TUTTI_REDUCE},
        {.kind = Kind::kNodeRelease,
         .word = "node_release",
         .text = "root $peer",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .collective = TUTTI_BCAST},
        {.kind = Kind::kNodeBcast,
         .word = "node_bcast",
         .text = "root $peer $to",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kSpread,
         .collective = TUTTI_BCAST},
        {.kind = Kind::kNodeReduce,
         .word = "node_reduce",
         .text = "root $peer $to = $left",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kWrittenAtRoot,
         .left = Use::kRead,
         .folds = true,
         .collective = TUTTI_REDUCE},
        {.kind = Kind::kNodeGather,
         .word = "node_gather",
         .text = "root $peer $to = $left",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kWrittenAtRoot,
         .left = Use::kRead,
         .collective = TUTTI_GATHER},
        {.kind = Kind::kNodeScatter,
         .word = "node_scatter",
         .text = "root $peer $to = $left",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kWritten,
         .left = Use::kReadAtRoot,
         .collective = TUTTI_SCATTER},
        {.kind = Kind::kNodeScan,
         .word = "node_scan",
         .text = "$to = $left",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kWritten,
         .left = Use::kRead,
         .folds = true,
         .collective = TUTTI_SCAN},
        {.kind = Kind::kNodeExscan,
         .word = "node_exscan",
         .text = "$to = $left",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kWritten,
         .left = Use::kRead,
         .folds = true,
         .collective = TUTTI_EXSCAN},
        {.kind = Kind::kNodeGatherv,
         .word = "node_gatherv",
         .text = "root $peer $to = $left",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kWrittenAtRoot,
         .left = Use::kRead,
         .collective = TUTTI_GATHERV},
        {.kind = Kind::kNodeScatterv,
         .word = "node_scatterv",
         .text = "root $peer $to = $left",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kWritten,
         .left = Use::kReadAtRoot,
         .collective = TUTTI_SCATTERV},
        {.kind = Kind::kNodeBundles,
         .word = "node_bundles",
         .text = "in $to",
         .among = Among::kNode,
         .order = Order::kOfNode,
         .to = Use::kRoom,
         .collective = TUTTI_ALLTOALLV},
    });
}();

constexpr const OperationRow& row_of(OperationKind kind) {
    return kOperations[static_cast<size_t>(kind)];
}
constexpr const OperationRow& row_of(const Operation& op) { return row_of(op.kind); }

// The next word of OperationRow::text, which it takes off.
constexpr std::string_view take_word(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

// What program.h tells of a kind without this table is what the table says.
static_assert([] {
    for (size_t i = 0; i < kOperations.size(); ++i) {
        const OperationRow& row = kOperations[i];
        const Among among = row.among;
        if (row.kind != static_cast<OperationKind>(i)) return false;
        if (is_message(row.kind) != (among == Among::kPair)) return false;
        if (is_multicast(row.kind) != (among == Among::kTeam)) return false;
        if (is_meet(row.kind) != (among == Among::kMeeting)) return false;
        if (is_node(row.kind) != (among == Among::kNode)) return false;
        if (has_order(row.kind) != (row.order != Order::kNone)) return false;
        if (row.collective.has_value() != (among == Among::kNode)) return false;
        if ((row.meeting != Meeting::kNone) != (among == Among::kMeeting)) return false;
        // One after the other: GCC 12 fails on both compared at once.
        bool is_without = row.to == Use::kNone;
        if (is_without) is_without = std::max(row.left, row.right) == Use::kNone;
        if (has_no_blocks(row.kind) != is_without) return false;
        for (std::string_view text = row.text; !text.empty();) {
            const std::string_view word = take_word(text);
            if (word.starts_with('$') && !field_of(word.substr(1))) return false;
        }
    }
    return row_of(OperationKind::kNodeBundles).kind == OperationKind::kNodeBundles;
}());

// In the order of OperationKind.
inline constexpr auto kOperationWords = [] {
    std::array<std::string_view, kOperations.size()> words;
    for (size_t i = 0; i < words.size(); ++i) words[i] = kOperations[i].word;
    return words;
}();

constexpr bool is_send(const Operation& op) {
    return row_of(op).among == Among::kPair && row_of(op).sends;
}
// A message comes, and nothing is done with it.
constexpr bool is_recv(const Operation& op) {
    return row_of(op).among == Among::kPair && row_of(op).receives && !row_of(op).folds;
}
constexpr bool is_copy(const Operation& op) {
    return row_of(op).among == Among::kItself && !row_of(op).folds;
}
// The multicast itself, at its sender.
constexpr bool is_multicast_send(const Operation& op) {
    return row_of(op).among == Among::kTeam && row_of(op).sends;
}
// Of a message or multicast: what is sent, or what is there when it has come.
constexpr uint64_t moved_bytes(const Operation& op) {
    return row_of(op).sends ? op.left.bytes : op.to.bytes;
}

constexpr bool is_neighbour(const Operation& op) {
    return row_of(op).meeting == Meeting::kNeighbour;
}
constexpr bool is_feed(const Operation& op) { return row_of(op).meeting == Meeting::kFeed; }
// All are released by one multicast.
constexpr bool is_meet_multicast(const Operation& op) {
    return row_of(op).meeting == Meeting::kFold && row_of(op).order == Order::kOfMulticasts;
}
// What a round is for that feeds, or meets to be released by multicast.
inline bool feeds(const Round& round) {
    return round.size() > 0 && is_feed(round[round.size() - 1]);
}
inline bool meets_by_multicast(const Round& round) {
    return round.size() > 0 && is_meet_multicast(round[round.size() - 1]);
}

// Of a node operation: what goes from its root to all, else from all to its root.
constexpr bool is_from_root(const OperationRow& row) {
    return row.collective && facts(*row.collective).from == From::kRoot;
}
// And what it moves from or to each member, the root too.
constexpr uint64_t node_bytes(const Operation& op) {
    return is_from_root(row_of(op.kind)) ? op.to.bytes : op.left.bytes;
}
// What leaves and comes by it are the bundled messages in front of it: it has no blocks but room.
constexpr bool is_bundles(const OperationRow& row) {
    return row.among == Among::kNode && row.to == Use::kRoom;
}
// There is no root: each member gets the fold of those before it, with its own vector or without.
constexpr bool runs_along(const OperationRow& row) {
    return row.collective && is_prefix(*row.collective);
}
// Of such an operation: how much the member of this index gets.
constexpr uint64_t prefix_bytes(const Operation& op, uint32_t index) {
    const bool has_result = is_on(facts(*row_of(op).collective).output.on, index, 0);
    return has_result ? op.left.bytes : 0;
}
// Each member has a part of the root's block, else all of it.
constexpr bool moves_parts(const OperationRow& row) {
    return row.collective && has_root(*row.collective) && has_blocks(*row.collective);
}
// And these parts differ in length.
constexpr bool has_unequal_parts(const OperationRow& row) {
    return moves_parts(row) && has_lengths(*row.collective);
}
// The kind that does the same with parts that differ in length; others stay what they are.
constexpr OperationKind with_unequal_parts(OperationKind kind) {
    if (kind == OperationKind::kNodeGather) return OperationKind::kNodeGatherv;
    return kind == OperationKind::kNodeScatter ? OperationKind::kNodeScatterv : kind;
}
// The block that only the root has; of a bcast the one that all have.
constexpr const Block& root_block(const Operation& op) {
    return row_of(op).left == Use::kReadAtRoot ? op.left : op.to;
}

}  // namespace tutti::sched
