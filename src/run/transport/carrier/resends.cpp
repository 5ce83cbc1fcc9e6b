// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/resends.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::transport::carrier {
namespace {

// Beside what a rank holds, all ranks miss it.
constexpr uint32_t kMissedByAll = kRingSlotsMax;

}  // namespace

Resends::Resends(RecoveryMessages& messages, const RecoveryLists& lists, Rank rank, Rank ranks)
    : messages_(messages),
      lists_(lists),
      rank_(rank),
      ranks_(ranks),
      cursors_(ranks),
      is_sending_(ranks) {}

void Resends::queue_held(const Ring& ring) {
    TUTTI_ASSERT(lists_.is_done(), "nobody knows yet who misses what");
    TUTTI_ASSERT(end_ == 0, "what the ring holds comes first");
    const RecoveryLists::List& own = lists_.own();
    for (uint32_t i = 0; i < own.count; ++i) {
        const uint64_t number = own.numbers[i];
        Item& item = this->item(end_++);
        item = {number, ring.data(number), ring.bytes(number), i, 0};
        for (Rank rank = 0; rank < ranks_; ++rank) {
            if (rank != rank_ && is_wanted(item, rank)) ++item.remaining;
        }
        missed_ += item.remaining > 0 ? 1 : 0;
    }
}

bool Resends::is_wanted(const Item& item, Rank rank) const {
    return item.held == kMissedByAll || lists_.misses(rank, item.held);
}

uint64_t Resends::add(uint64_t number, const std::byte* data, size_t bytes) {
    TUTTI_ASSERT(end_ - first_ < kItems, "more multicasts under way than agreed");
    uint64_t index = end_++;
    // A number may have waited for its slot while the ring took a later one.
    for (; index > first_ && item(index - 1).number > number; --index) {
        TUTTI_ASSERT(item(index - 1).held != kMissedByAll, "multicasts are sent in their order");
        item(index) = item(index - 1);
    }
    TUTTI_ASSERT(index >= latest_cursor_, "a multicast comes after later ones have gone");
    item(index) = {number, data, bytes, kMissedByAll, ranks_ - 1};
    return index;
}

// What was given to add() and is not with all is of the call that has failed, and so is whatever
// comes behind it.
void Resends::call_off() {
    uint64_t end = first_;
    while (end < end_ && item(end).held != kMissedByAll) ++end;
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (is_sending_[rank] && cursors_[rank] >= end) {
            messages_.call_off(rank);
            is_sending_[rank] = false;
        }
        cursors_[rank] = std::min(cursors_[rank], end);
    }
    end_ = end;
}

void Resends::push() {
    if (is_over()) return;
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_) continue;
        while (push_to(rank)) {
        }
        if (messages_.has_failed()) return;
    }
    while (first_ < end_ && item(first_).remaining == 0) ++first_;
}

// True if there may be more to send to this rank at once.
bool Resends::push_to(Rank rank) {
    uint64_t& cursor = cursors_[rank];
    if (is_sending_[rank]) {
        if (!messages_.is_done(rank)) return false;
        is_sending_[rank] = false;
        TUTTI_ASSERT(item(cursor).remaining > 0, "it goes to each rank once");
        --item(cursor++).remaining;
    }
    cursor = std::max(cursor, first_);
    while (cursor < end_ && !is_wanted(item(cursor), rank)) ++cursor;
    if (cursor == end_) return false;
    const Item& next = item(cursor);
    messages_.send_to(rank, RecoveryWay::kMulticast, next.number, next.data, next.bytes);
    is_sending_[rank] = true;
    latest_cursor_ = std::max(latest_cursor_, cursor + 1);
    return true;
}

}  // namespace tutti::transport::carrier
