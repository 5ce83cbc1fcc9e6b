// SPDX-License-Identifier: BSD-3-Clause
#include "plan/sched/operation_amounts.h"

namespace tutti::sched {
namespace {

Amounts of_message(const Operation& op) {
    const OperationRow& row = row_of(op);
    Amounts amounts;
    amounts.message_bytes = moved_bytes(op);
    if (row.sends) {
        amounts.messages_sent = 1;
        amounts.bytes_sent = op.left.bytes;
    } else {
        amounts.messages_received = 1;
        amounts.bytes_received = op.to.bytes;
    }
    if (row.folds) amounts.folded_bytes = op.to.bytes;
    return amounts;
}

Amounts of_multicast(const Operation& op) {
    Amounts amounts;
    if (row_of(op).sends) {
        amounts.multicasts_sent = 1;
        amounts.multicast_bytes_sent = op.left.bytes;
    } else {
        amounts.multicasts_received = 1;
        amounts.multicast_bytes_received = op.to.bytes;
    }
    return amounts;
}

// One message each way, for which its block has room.
Amounts of_neighbour(const Operation& op) {
    Amounts amounts;
    if (is_near(op)) {
        amounts.copied_bytes = op.to.bytes;
        return amounts;
    }
    amounts.messages_sent = amounts.messages_received = 1;
    amounts.message_bytes = op.to.bytes / 2;
    amounts.bytes_sent = amounts.bytes_received = amounts.message_bytes;
    return amounts;
}

// The messages of a fold stand at the neighbours.
Amounts of_fold_of_all(const Operation& op) {
    Amounts amounts;
    amounts.folded_bytes = op.to.bytes;
    if (!is_meet_multicast(op)) return amounts;
    amounts.multicasts_received = 1;
    amounts.multicast_bytes_received = meet_multicast_bytes(op.left.bytes);
    return amounts;
}

Amounts of_feed(const Operation& op) {
    const uint64_t pieces = fed_pieces(op);
    const bool is_fed = op.to.bytes > 0;
    Amounts amounts;
    amounts.messages_sent = op.order * pieces;
    amounts.bytes_sent = op.order * fed_block(op).bytes;
    amounts.messages_received = is_fed ? pieces : 0;
    amounts.bytes_received = op.to.bytes;
    amounts.message_bytes = op.right.bytes;
    return amounts;
}

}  // namespace

Amounts amounts_of(const Operation& op) {
    const OperationRow& row = row_of(op);
    switch (row.among) {
        case Among::kPair:
            return of_message(op);
        case Among::kTeam:
            return of_multicast(op);
        case Among::kMeeting:
            if (row.meeting == Meeting::kNeighbour) return of_neighbour(op);
            return row.meeting == Meeting::kFeed ? of_feed(op) : of_fold_of_all(op);
        case Among::kItself: {
            Amounts amounts;
            (row.folds ? amounts.folded_bytes : amounts.copied_bytes) = op.to.bytes;
            return amounts;
        }
        case Among::kNode:
            break;
    }
    return {};
}

uint64_t neighbour_vector_bytes(const Operation& op) {
    return (op.to.bytes / 2 - meet_message_bytes(0)) / 2;
}

}  // namespace tutti::sched
