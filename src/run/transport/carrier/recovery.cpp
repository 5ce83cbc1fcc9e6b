// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/recovery.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::transport::carrier {
namespace {

constexpr uint32_t kWordBits = 64;
// Beside what a rank holds, all ranks miss it.
constexpr uint32_t kMissedByAll = kRingSlotsMax;

}  // namespace

Recovery::Recovery(Ring ring, Transport& network, Rank rank, Rank ranks)
    : ring_(ring),
      network_(network),
      rank_(rank),
      ranks_(ranks),
      known_(kHolders + (ranks + kWordBits - 1) / kWordBits),
      heard_(known_.size()),
      missed_by_(ranks),
      tickets_(ranks),
      cursors_(ranks),
      is_sending_(ranks) {}

Recovery::~Recovery() {
    if (is_posted_) network_.cancel(ticket_);
    for (Ticket& ticket : tickets_) network_.cancel(ticket);
}

void Recovery::step(const Progress& progress) {
    if (!ring_.is_frozen()) return;
    network_.poll();
    bool goes_on = true;
    while (goes_on) {
        switch (phase_) {
            case Phase::kIdle:
                begin();
                break;
            case Phase::kGather:
                goes_on = gather();
                break;
            case Phase::kToParent:
                goes_on = to_parent();
                break;
            case Phase::kFromParent:
                goes_on = from_parent();
                break;
            case Phase::kToChildren:
                goes_on = to_children();
                break;
            case Phase::kLists:
                goes_on = lists(progress);
                break;
            case Phase::kReady:
                push();
                return;
            case Phase::kFailed:
                return;
        }
    }
}

// ---------------------------------------------------------------- messages

void Recovery::post_send(Rank peer, Way way, uint64_t number, const void* data, size_t bytes,
                         Ticket& ticket) {
    const MessageId id{static_cast<uint32_t>(number), static_cast<uint32_t>(way), kRecoverySlot,
                       static_cast<uint32_t>(number >> 32)};
    network_.send(peer, id, static_cast<const std::byte*>(data), bytes, ticket);
}

void Recovery::post_recv(Rank peer, Way way, uint64_t number, void* data, size_t bytes,
                         Ticket& ticket) {
    const MessageId id{static_cast<uint32_t>(number), static_cast<uint32_t>(way), kRecoverySlot,
                       static_cast<uint32_t>(number >> 32)};
    network_.recv(peer, id, static_cast<std::byte*>(data), bytes, ticket);
}

// The one message that a step waits for is complete.
bool Recovery::has_arrived() {
    const State state = network_.test(ticket_);
    if (state == State::kFailed) phase_ = Phase::kFailed;
    if (state != State::kDone) return false;
    is_posted_ = false;
    return true;
}

// ---------------------------------------------------------------- 1: what all must know

void Recovery::begin() {
    own_list_.count = ring_.held_by(rank_, own_list_.numbers);
    known_[kCallsEnd] = calls_end_;
    known_[kDead] = ring_.dead();
    known_[kContradicted] = ring_.is_contradicted() ? 1 : 0;
    if (own_list_.count > 0) {
        known_[kHolders + rank_ / kWordBits] |= uint64_t{1} << rank_ % kWordBits;
    }
    phase_ = Phase::kGather;
}

void Recovery::merge() {
    known_[kCallsEnd] = std::max(known_[kCallsEnd], heard_[kCallsEnd]);
    known_[kContradicted] |= heard_[kContradicted];
    for (size_t i = kHolders; i < known_.size(); ++i) known_[i] |= heard_[i];
}

// The parent of a rank is the rank without its lowest bit, so its children are the rank with one
// bit below that.
bool Recovery::gather() {
    if (is_posted_) {
        if (!has_arrived()) return false;
        merge();
        child_bit_ *= 2;
    }
    const bool is_below = child_bit_ < ranks_ && (rank_ & child_bit_) == 0;
    if (!is_below) {
        phase_ = rank_ == 0 ? Phase::kToChildren : Phase::kToParent;
        return true;
    }
    if (rank_ + child_bit_ >= ranks_) {
        child_bit_ *= 2;
        return true;
    }
    post_recv(rank_ + child_bit_, Way::kUp, 0, heard_.data(), heard_.size() * sizeof(uint64_t),
              ticket_);
    is_posted_ = true;
    return true;
}

bool Recovery::to_parent() {
    const Rank parent = rank_ & (rank_ - 1);
    if (!is_posted_) {
        post_send(parent, Way::kUp, 0, known_.data(), known_.size() * sizeof(uint64_t), ticket_);
        is_posted_ = true;
    }
    if (!has_arrived()) return false;
    phase_ = Phase::kFromParent;
    return true;
}

bool Recovery::from_parent() {
    const Rank parent = rank_ & (rank_ - 1);
    if (!is_posted_) {
        post_recv(parent, Way::kDown, 0, known_.data(), known_.size() * sizeof(uint64_t), ticket_);
        is_posted_ = true;
    }
    if (!has_arrived()) return false;
    phase_ = Phase::kToChildren;
    return true;
}

bool Recovery::to_children() {
    if (is_posted_ && !has_arrived()) return false;
    while (child_bit_ > 1) {
        child_bit_ /= 2;
        const Rank child = rank_ + child_bit_;
        if (child >= ranks_) continue;
        post_send(child, Way::kDown, 0, known_.data(), known_.size() * sizeof(uint64_t), ticket_);
        is_posted_ = true;
        return true;
    }
    phase_ = is_contradicted() ? Phase::kFailed : Phase::kLists;
    return true;
}

// ---------------------------------------------------------------- 2: who misses what

bool Recovery::lists(const Progress& progress) {
    const auto holds = [&](Rank rank) {
        return (known_[kHolders + rank / kWordBits] >> rank % kWordBits & 1) != 0;
    };
    while (holder_ < ranks_ && !holds(holder_)) ++holder_;
    if (holder_ == ranks_) {
        queue_held();
        phase_ = Phase::kReady;
        // Before anything goes, the rank adds what it has under way.
        return false;
    }
    const bool is_over = holder_ == rank_ ? own_list() : other_list(progress);
    if (is_over) ++holder_;
    return is_over;
}

// The list to all, then all answers.
bool Recovery::own_list() {
    if (!is_posted_) {
        for (Rank rank = 0; rank < ranks_; ++rank) {
            if (rank == rank_) continue;
            if (has_sent_list_) {
                post_recv(rank, Way::kAnswer, rank_, &missed_by_[rank], sizeof(uint64_t),
                          tickets_[rank]);
            } else {
                post_send(rank, Way::kList, rank_, &own_list_, sizeof(List), tickets_[rank]);
            }
        }
        is_posted_ = true;
    }
    for (Ticket& ticket : tickets_) {
        const State state = network_.test(ticket);
        if (state == State::kFailed) phase_ = Phase::kFailed;
        if (state != State::kDone) return false;
    }
    is_posted_ = false;
    if (has_sent_list_) return true;
    has_sent_list_ = true;
    return own_list();
}

bool Recovery::other_list(const Progress& progress) {
    if (!has_heard_list_) {
        if (!is_posted_) {
            post_recv(holder_, Way::kList, holder_, &list_, sizeof(List), ticket_);
            is_posted_ = true;
        }
        if (!has_arrived()) return false;
        TUTTI_ASSERT(list_.count <= kRingSlotsMax, "a rank holds no more than its ring");
        has_heard_list_ = true;
        answer_ = missing(progress);
        keep_next(progress);
    }
    if (!is_posted_) {
        post_send(holder_, Way::kAnswer, holder_, &answer_, sizeof(answer_), ticket_);
        is_posted_ = true;
    }
    if (!has_arrived()) return false;
    has_heard_list_ = false;
    return true;
}

// What the ring has this rank will find there, whenever it comes to it; and what the ring does not
// have it will never have.
uint64_t Recovery::missing(const Progress& progress) const {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < list_.count; ++i) {
        const uint64_t number = list_.numbers[i];
        const bool is_missed = progress.is_missing(number) && !ring_.has(number);
        bits |= uint64_t{is_missed ? 1u : 0u} << i;
    }
    return bits;
}

// What is offered is so when all ranks have come to it: a number beyond the next one was not.
void Recovery::keep_next(const Progress& progress) {
    for (uint32_t i = 0; i < list_.count; ++i) {
        if (list_.numbers[i] == progress.next) held_next_ = Held{progress.next, holder_};
    }
}

std::optional<Rank> Recovery::holder_of(uint64_t number) const {
    TUTTI_ASSERT(is_ready(), "nobody knows yet who holds what");
    if (!held_next_ || held_next_->number != number) return std::nullopt;
    return held_next_->holder;
}

// ---------------------------------------------------------------- 3: multicasts as messages

void Recovery::queue_held() {
    for (uint32_t i = 0; i < own_list_.count; ++i) {
        const uint64_t number = own_list_.numbers[i];
        Item& item = this->item(end_item_++);
        item = {number, ring_.data(number), ring_.bytes(number), i, 0};
        for (Rank rank = 0; rank < ranks_; ++rank) {
            if (rank != rank_ && is_wanted(item, rank)) ++item.remaining;
        }
        missed_count_ += item.remaining > 0 ? 1 : 0;
    }
}

bool Recovery::is_wanted(const Item& item, Rank rank) const {
    return item.held == kMissedByAll || (missed_by_[rank] >> item.held & 1) != 0;
}

uint64_t Recovery::send(uint64_t number, const std::byte* data, size_t bytes) {
    TUTTI_ASSERT(is_ready(), "nobody knows yet who misses what");
    TUTTI_ASSERT(end_item_ - first_item_ < kItems, "more multicasts under way than agreed");
    uint64_t index = end_item_++;
    // A number may have waited for its slot while the ring took a later one.
    for (; index > first_item_ && item(index - 1).number > number; --index) {
        TUTTI_ASSERT(item(index - 1).held != kMissedByAll, "multicasts are sent in their order");
        item(index) = item(index - 1);
    }
    TUTTI_ASSERT(index >= latest_cursor_, "a multicast comes after later ones have gone");
    item(index) = {number, data, bytes, kMissedByAll, ranks_ - 1};
    return index;
}

bool Recovery::is_sent(uint64_t index) const {
    return index < first_item_ || items_[index % kItems].remaining == 0;
}

void Recovery::recv(uint64_t number, Rank sender, std::byte* data, size_t bytes, Ticket& ticket) {
    TUTTI_ASSERT(is_ready(), "nobody knows yet who misses what");
    post_recv(sender, Way::kMulticast, number, data, bytes, ticket);
}

// What was given to send() and is not with all is of the call that has failed, and so is whatever
// comes behind it.
void Recovery::call_off() {
    uint64_t end = first_item_;
    while (end < end_item_ && item(end).held != kMissedByAll) ++end;
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (is_sending_[rank] && cursors_[rank] >= end) {
            network_.cancel(tickets_[rank]);
            tickets_[rank] = {};
            is_sending_[rank] = false;
        }
        cursors_[rank] = std::min(cursors_[rank], end);
    }
    end_item_ = end;
}

void Recovery::push() {
    if (first_item_ == end_item_) return;
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_) continue;
        while (push_to(rank)) {
        }
        if (phase_ == Phase::kFailed) return;
    }
    while (first_item_ < end_item_ && item(first_item_).remaining == 0) ++first_item_;
}

// True if there may be more to send to this rank at once.
bool Recovery::push_to(Rank rank) {
    uint64_t& cursor = cursors_[rank];
    if (is_sending_[rank]) {
        const State state = network_.test(tickets_[rank]);
        if (state == State::kFailed) phase_ = Phase::kFailed;
        if (state != State::kDone) return false;
        is_sending_[rank] = false;
        --item(cursor++).remaining;
    }
    cursor = std::max(cursor, first_item_);
    while (cursor < end_item_ && !is_wanted(item(cursor), rank)) ++cursor;
    if (cursor == end_item_) return false;
    const Item& next = item(cursor);
    post_send(rank, Way::kMulticast, next.number, next.data, next.bytes, tickets_[rank]);
    is_sending_[rank] = true;
    latest_cursor_ = std::max(latest_cursor_, cursor + 1);
    return true;
}

}  // namespace tutti::transport::carrier
