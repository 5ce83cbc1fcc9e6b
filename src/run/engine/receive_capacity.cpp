// SPDX-License-Identifier: BSD-3-Clause
// The root of a gather, or a receiver of a scatter, that has room for more than is sent to it. What
// is sent decides: once this rank knows how much that is, by the word of a message, of its node or
// of a note, it withdraws its call, in which nothing has come to it, and begins it anew as one of
// so many bytes, by the plan that all others have (docs/protocol/words.md).
#include <new>

#include "run/engine/call_track.h"

namespace tutti::engine {

bool CallTrack::may_take_less() const {
    const bool can = !is_faulty_ && means_.networks.routes().can_withdraw_receives();
    return capacity_.is_spare && !capacity_.is_given_up && can && executor_->is_untouched();
}

bool CallTrack::take_less(const node::CallNote& theirs) {
    if (!may_take_less()) return false;
    if (capacity_.less != 0) return theirs.bytes == capacity_.less;
    const node::CallNote mine = means_.log.last();
    const bool is_kind = theirs.collective == mine.collective && theirs.root == mine.root;
    if (!is_kind || theirs.bytes == 0 || theirs.bytes >= mine.bytes) return false;
    if (!means_.planner.stays_with(shape_, theirs.bytes)) return false;
    capacity_.less = theirs.bytes;
    return true;
}

std::byte* CallTrack::make_blocks(uint64_t bytes, uint32_t ranks) {
    capacity_.blocks.reset(new (std::nothrow) std::byte[bytes * ranks]);
    return capacity_.blocks.get();
}

transport::State CallTrack::retract() {
    const auto held = means_.multicast.hold();
    const transport::State state = executor_->withdraw();
    if (state != transport::State::kDone) return state;
    is_under_way_ = false;
    means_.log.withdraw();
    means_.planner.withdrawn();
    return state;
}

void CallTrack::take_on_again(select::Plan& plan) {
    capacity_.word = word_;
    capacity_.is_given_up = true;
    capacity_.less = 0;
    begin(plan);
}

// Gather and scatter have one lane. Who has sent as much as there was room for does not run what
// this rank has taken the call to be since.
transport::Disagreement CallTrack::look_for_unexpected() {
    constexpr uint32_t kSlot = 0;
    constexpr int kLooksMax = 4;
    if (!capacity_.is_spare || capacity_.less != 0) return {};
    for (int look = 0; look < kLooksMax; ++look) {
        const transport::Disagreement with = means_.messages.find_unexpected(kSlot);
        if (!with.is_there) break;
        const node::CallNote theirs = node::CallNote::unpack(with.word.call);
        if (!means_.log.is_of_last(with.word) || theirs == means_.log.last()) continue;
        return take_less(theirs) ? transport::Disagreement{} : with;
    }
    if (!capacity_.is_given_up) return {};
    transport::Disagreement with{true, true, 0, capacity_.word};
    return means_.messages.find_long_unexpected(kSlot, capacity_.word.kind, word_.kind, with.peer)
               ? with
               : transport::Disagreement{};
}

}  // namespace tutti::engine
