// SPDX-License-Identifier: BSD-3-Clause
// What one operation moves, folds and copies at its rank: exact counts and prices begin with it.
#pragma once

#include <cstdint>

#include "plan/sched/operation_kinds.h"

namespace tutti::sched {

// What happens within a node operation is the node level's, and not here. Of those who meet, as if
// all came at once.
struct Amounts {
    uint64_t messages_sent = 0;
    uint64_t bytes_sent = 0;
    uint64_t messages_received = 0;
    uint64_t bytes_received = 0;
    uint64_t message_bytes = 0;  // of the longest of these
    uint64_t multicasts_sent = 0;
    uint64_t multicast_bytes_sent = 0;
    uint64_t multicasts_received = 0;
    uint64_t multicast_bytes_received = 0;
    uint64_t folded_bytes = 0;  // of the result
    uint64_t copied_bytes = 0;  // also of messages that go by the node's memory
    bool operator==(const Amounts&) const = default;
};
[[nodiscard]] Amounts amounts_of(const Operation& op);

// Of a neighbour in a meet that folds: of the vector that its message brings.
[[nodiscard]] uint64_t neighbour_vector_bytes(const Operation& op);

}  // namespace tutti::sched
