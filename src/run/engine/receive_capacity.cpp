// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/receive_capacity.h"

#include <new>

#include "base/assert.h"
#include "run/engine/call_track.h"

namespace tutti::engine {

void ReceiveCapacity::reset() {
    TUTTI_ASSERT(!blocks_, "the call before has put them where they belong, or has failed");
    is_spare_ = false;
    is_given_up_ = false;
    less_ = 0;
}

void ReceiveCapacity::give_up(const transport::CallWord& word) {
    TUTTI_ASSERT(less_ != 0, "what others send is known");
    word_ = word;
    is_given_up_ = true;
    less_ = 0;
}

bool ReceiveCapacity::may_take_less() const {
    return is_spare_ && !is_given_up_ && track_.can_withdraw_receives() &&
           track_.executor().is_untouched();
}

bool ReceiveCapacity::take_less(const node::CallNote& theirs) {
    if (!may_take_less()) return false;
    if (less_ != 0) return theirs.bytes == less_;
    const node::CallNote mine = track_.messages().log().last();
    const bool is_kind = theirs.collective == mine.collective && theirs.root == mine.root;
    if (!is_kind || theirs.bytes == 0 || theirs.bytes >= mine.bytes) return false;
    if (!track_.planner().stays_with(track_.shape(), theirs.bytes)) return false;
    less_ = theirs.bytes;
    return true;
}

std::byte* ReceiveCapacity::make_blocks(uint64_t bytes, uint32_t ranks) {
    blocks_.reset(new (std::nothrow) std::byte[bytes * ranks]);
    return blocks_.get();
}

// Gather and scatter have one lane. Who has sent as much as there was room for does not run what
// this rank has taken the call to be since.
transport::Disagreement ReceiveCapacity::look_for_unexpected() {
    constexpr uint32_t kSlot = 0;
    constexpr int kLooksMax = 4;
    if (!is_spare_ || less_ != 0) return {};
    transport::P2p& plain = track_.messages().plain();
    for (int look = 0; look < kLooksMax; ++look) {
        const transport::Disagreement with = plain.find_unexpected(kSlot);
        if (!with.is_there) break;
        const node::CallNote theirs = node::CallNote::unpack(with.word.call);
        if (!track_.messages().log().is_of_last(with.word) ||
            theirs == track_.messages().log().last())
            continue;
        return take_less(theirs) ? transport::Disagreement{} : with;
    }
    if (!is_given_up_) return {};
    transport::Disagreement with{true, true, 0, word_};
    return plain.find_long_unexpected(kSlot, word_.kind, track_.word().kind, with.peer)
               ? with
               : transport::Disagreement{};
}

}  // namespace tutti::engine
