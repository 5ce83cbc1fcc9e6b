// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/recovery.h"

#include "base/assert.h"

namespace tutti::transport::carrier {

Recovery::Recovery(Ring ring, Transport& network, Rank rank, Rank ranks)
    : ring_(ring),
      messages_(network, ranks),
      tree_(messages_, rank, ranks),
      lists_(messages_, ring, rank, ranks),
      resends_(messages_, lists_, rank, ranks) {}

void Recovery::step(const Progress& progress) {
    if (!ring_.is_frozen()) return;
    messages_.poll();
    go_on(progress);
    if (messages_.has_failed()) phase_ = Phase::kFailed;
}

void Recovery::go_on(const Progress& progress) {
    if (phase_ == Phase::kIdle) begin();
    if (phase_ == Phase::kTree) {
        while (tree_.step()) {
        }
        if (!tree_.is_done()) return;
        phase_ = is_contradicted() ? Phase::kFailed : Phase::kLists;
    }
    if (phase_ == Phase::kLists) {
        while (lists_.step(progress, tree_)) {
        }
        if (!lists_.is_done()) return;
        resends_.queue_held(ring_);
        phase_ = Phase::kReady;
        // Before anything goes, the rank adds what it has under way.
        return;
    }
    if (phase_ == Phase::kReady) resends_.push();
}

void Recovery::begin() {
    tree_.begin({.calls_end = calls_end_,
                 .dead = ring_.dead(),
                 .is_contradicted = ring_.is_contradicted(),
                 .holds = lists_.take_own().count > 0});
    phase_ = Phase::kTree;
}

uint64_t Recovery::send(uint64_t number, const std::byte* data, size_t bytes) {
    TUTTI_ASSERT(is_ready(), "nobody knows yet who misses what");
    return resends_.add(number, data, bytes);
}

void Recovery::recv(uint64_t number, Rank sender, std::byte* data, size_t bytes, Ticket& ticket) {
    TUTTI_ASSERT(is_ready(), "nobody knows yet who misses what");
    messages_.recv(sender, RecoveryWay::kMulticast, number, data, bytes, ticket);
}

}  // namespace tutti::transport::carrier
