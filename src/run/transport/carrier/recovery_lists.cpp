// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/carrier/recovery_lists.h"

#include "base/assert.h"

namespace tutti::transport::carrier {

RecoveryLists::RecoveryLists(RecoveryMessages& messages, Ring ring, Rank rank, Rank ranks)
    : messages_(messages), ring_(ring), rank_(rank), ranks_(ranks), missed_by_(ranks) {}

const RecoveryLists::List& RecoveryLists::take_own() {
    TUTTI_ASSERT(ring_.is_frozen(), "what a rank holds may still change");
    own_.count = ring_.held_by(rank_, own_.numbers);
    return own_;
}

bool RecoveryLists::step(const Progress& progress, const RecoveryTree& tree) {
    TUTTI_ASSERT(tree.is_decided(), "who holds something is known");
    while (holder_ < ranks_ && !tree.holds(holder_)) ++holder_;
    if (is_done()) return false;
    const bool is_over = holder_ == rank_ ? tell_own() : hear(progress);
    if (is_over) ++holder_;
    return is_over;
}

// The list to all, then all answers.
bool RecoveryLists::tell_own() {
    if (!is_telling_) post_to_all();
    is_telling_ = true;
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (rank != rank_ && !messages_.is_done(rank)) return false;
    }
    is_telling_ = false;
    if (has_told_) return true;
    has_told_ = true;
    return tell_own();
}

void RecoveryLists::post_to_all() {
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_) continue;
        if (has_told_) {
            messages_.recv_from(rank, RecoveryWay::kAnswer, rank_, &missed_by_[rank],
                                sizeof(uint64_t));
        } else {
            messages_.send_to(rank, RecoveryWay::kList, rank_, &own_, sizeof(List));
        }
    }
}

bool RecoveryLists::hear(const Progress& progress) {
    if (!has_heard_) {
        if (!messages_.is_posted()) {
            messages_.recv(holder_, RecoveryWay::kList, holder_, &list_, sizeof(List));
        }
        if (!messages_.has_arrived()) return false;
        TUTTI_ASSERT(list_.count <= kRingSlotsMax, "a rank holds no more than its ring");
        has_heard_ = true;
        answer_ = missing(progress);
        keep_next(progress);
    }
    if (!messages_.is_posted()) {
        messages_.send(holder_, RecoveryWay::kAnswer, holder_, &answer_, sizeof(answer_));
    }
    if (!messages_.has_arrived()) return false;
    has_heard_ = false;
    return true;
}

// What the ring has this rank will find there, whenever it comes to it; and what the ring does not
// have it will never have.
uint64_t RecoveryLists::missing(const Progress& progress) const {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < list_.count; ++i) {
        const uint64_t number = list_.numbers[i];
        const bool is_missed = progress.is_missing(number) && !ring_.has(number);
        bits |= uint64_t{is_missed ? 1u : 0u} << i;
    }
    return bits;
}

// What is offered is so when all ranks have come to it: a number beyond the next one was not.
void RecoveryLists::keep_next(const Progress& progress) {
    for (uint32_t i = 0; i < list_.count; ++i) {
        if (list_.numbers[i] == progress.next) held_next_ = Held{progress.next, holder_};
    }
}

std::optional<Rank> RecoveryLists::holder_of(uint64_t number) const {
    TUTTI_ASSERT(is_done(), "nobody knows yet who holds what");
    if (!held_next_ || held_next_->number != number) return std::nullopt;
    return held_next_->holder;
}

}  // namespace tutti::transport::carrier
