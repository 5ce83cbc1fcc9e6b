// SPDX-License-Identifier: BSD-3-Clause
#include "run/notes/broadcast.h"

#include "base/assert.h"

namespace tutti::notes {

void Broadcast::begin(const Note& note) {
    const std::lock_guard lock(mutex_);
    note_ = note;
    done_ = 0;
    is_under_way_ = notes_.is_on();
    while (is_under_way_ && send_next()) {
    }
}

void Broadcast::go_on() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    while (lock && is_under_way_ && send_next()) {
    }
}

bool Broadcast::is_over() {
    const std::lock_guard lock(mutex_);
    return !is_under_way_;
}

// False where there is no room.
bool Broadcast::send_next() {
    const uint32_t nodes = placement_.nodes();
    TUTTI_ASSERT(done_ <= nodes + placement_.ranks(),
                 "each is told once as a first, once as a rank");
    if (done_ == nodes + placement_.ranks()) {
        is_under_way_ = false;
        return true;
    }
    const bool is_first = done_ < nodes;
    const uint32_t rank = is_first ? placement_.members(done_)[0] : done_ - nodes;
    const uint32_t node = placement_.node_of(rank);
    const bool is_known = !is_first && placement_.members(node)[0] == rank;
    if (node != placement_.node_of(rank_) && !is_known && !notes_.send(rank, note_)) return false;
    ++done_;
    return true;
}

}  // namespace tutti::notes
