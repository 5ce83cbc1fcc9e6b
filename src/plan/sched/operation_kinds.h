// SPDX-License-Identifier: BSD-3-Clause
// The one table of kinds of operations: what each does with its blocks, and what it is called in
// texts. The check of a Program's form, the words of its text, the prices of node operations and
// the executor follow it. A new kind is a row here, its text (program_text.cpp, parse.cpp), and its
// meaning where Programs are proved, counted, priced and run.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/sched/program.h"

namespace tutti::sched {

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

struct OperationRow {
    OperationKind kind = OperationKind::kCopy;
    std::string_view word;  // "recv_reduce"
    Use to = Use::kNone;
    Use left = Use::kNone;
    Use right = Use::kNone;
    Lengths to_is = Lengths::kAny;
    bool folds = false;           // only in a reduction; a meet of no bytes folds nothing
    bool may_be_counted = false;  // Operation::is_counted
    // Of a node operation: which of its members' collectives it is.
    std::optional<tutti_collective> collective = std::nullopt;
};

inline constexpr auto kOperations = [] {
    using Kind = OperationKind;
    constexpr Use kNone = Use::kNone, kRead = Use::kRead, kWritten = Use::kWritten;
    constexpr Lengths kAny = Lengths::kAny;
    return std::to_array<OperationRow>({
        {Kind::kSend, "send", kNone, kRead, kNone, kAny, false, true},
        {Kind::kRecv, "recv", kWritten, kNone, kNone, kAny, false, true},
        {Kind::kRecvReduce, "recv_reduce", kWritten, Use::kOperand, Use::kOperand,
         Lengths::kLikeBoth, true},
        {Kind::kCopy, "copy", kWritten, kRead, kNone, Lengths::kLikeLeft},
        {Kind::kReduce, "reduce", kWritten, kRead, kRead, Lengths::kLikeBoth, true},
        {Kind::kMulticast, "multicast", kNone, kRead},
        {Kind::kRecvMulticast, "recv_multicast", kWritten},
        {Kind::kMeetWith, "meet_with", kWritten},
        {Kind::kMeet, "meet", kWritten, kRead, Use::kRoom, Lengths::kLikeLeft, true},
        {Kind::kMeetMulticast, "meet_multicast", kWritten, kRead, Use::kRoom, Lengths::kLikeLeft,
         true, true},
        // `right` says how long a piece is, and is no block.
        {Kind::kFeed, "feed", kWritten, kRead},
        {Kind::kNodeArrive, "node_arrive", kNone, kNone, kNone, kAny, false, false, TUTTI_REDUCE},
        {Kind::kNodeRelease, "node_release", kNone, kNone, kNone, kAny, false, false, TUTTI_BCAST},
        {Kind::kNodeBcast, "node_bcast", Use::kSpread, kNone, kNone, kAny, false, false,
         TUTTI_BCAST},
        {Kind::kNodeReduce, "node_reduce", Use::kWrittenAtRoot, kRead, kNone, kAny, true, false,
         TUTTI_REDUCE},
        {Kind::kNodeGather, "node_gather", Use::kWrittenAtRoot, kRead, kNone, kAny, false, false,
         TUTTI_GATHER},
        {Kind::kNodeScatter, "node_scatter", kWritten, Use::kReadAtRoot, kNone, kAny, false, false,
         TUTTI_SCATTER},
    });
}();

constexpr const OperationRow& row_of(OperationKind kind) {
    return kOperations[static_cast<size_t>(kind)];
}

// What program.h tells of a kind without this table is what the table says.
static_assert([] {
    for (size_t i = 0; i < kOperations.size(); ++i) {
        const OperationRow& row = kOperations[i];
        if (row.kind != static_cast<OperationKind>(i)) return false;
        if (is_node(row.kind) != row.collective.has_value()) return false;
        // One after the other: GCC 12 fails on both compared at once.
        bool is_without = row.to == Use::kNone;
        if (is_without) is_without = std::max(row.left, row.right) == Use::kNone;
        if (has_no_blocks(row.kind) != is_without) return false;
    }
    return row_of(OperationKind::kNodeScatter).kind == OperationKind::kNodeScatter;
}());

// In the order of OperationKind.
inline constexpr auto kOperationWords = [] {
    std::array<std::string_view, kOperations.size()> words;
    for (size_t i = 0; i < words.size(); ++i) words[i] = kOperations[i].word;
    return words;
}();

// Of a node operation: what goes from its root to all, else from all to its root.
constexpr bool is_from_root(const OperationRow& row) {
    return row.collective == TUTTI_BCAST || row.collective == TUTTI_SCATTER;
}
// And what it moves from or to each member, the root too.
constexpr uint64_t node_bytes(const Operation& op) {
    return is_from_root(row_of(op.kind)) ? op.to.bytes : op.left.bytes;
}

}  // namespace tutti::sched
