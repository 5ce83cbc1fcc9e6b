// SPDX-License-Identifier: BSD-3-Clause
// The root of a gather, or a receiver of a scatter, that has room for more than is sent to it. What
// is sent decides: once this rank knows how much that is, by the word of a message, of its node or
// of a note, it withdraws its call, in which nothing has come to it, and begins it anew as one of
// so many bytes, by the plan that all others have (docs/protocol/words.md).
#include <new>

#include "run/engine/inter_node.h"

namespace tutti::engine {

bool InterNode::may_take_less() const {
    const bool can = faulty_ == nullptr && networks_.routes().can_withdraw_receives();
    return capacity_.is_spare && !capacity_.is_given_up && can && executor_->is_untouched();
}

bool InterNode::take_less(const node::CallNote& theirs) {
    if (!may_take_less()) return false;
    if (capacity_.less != 0) return theirs.bytes == capacity_.less;
    const node::CallNote mine = log_.last();
    const bool is_kind = theirs.collective == mine.collective && theirs.root == mine.root;
    if (!is_kind || theirs.bytes == 0 || theirs.bytes >= mine.bytes) return false;
    if (!stays_with(theirs.bytes)) return false;
    capacity_.less = theirs.bytes;
    return true;
}

// Rules may leave one of the two sizes to the host MPI from a later call on, where nobody compares:
// then this call is the one that says so.
bool InterNode::stays_with(uint64_t bytes) const {
    try {
        const sched::Shape mine = agreed(shape_);
        sched::Shape theirs = mine;
        theirs.bytes = bytes;
        return plans_.go_together(mine, theirs, circumstances(mine));
    } catch (const std::bad_alloc&) {
        return false;
    }
}

std::byte* InterNode::make_blocks(uint64_t bytes) {
    capacity_.blocks.reset(new (std::nothrow) std::byte[bytes * placement_.ranks()]);
    return capacity_.blocks.get();
}

transport::State InterNode::retract() {
    const auto held = hold();
    const transport::State state = executor_->withdraw();
    if (state != transport::State::kDone) return state;
    log_.withdraw();
    plans_.withdrawn();
    return state;
}

void InterNode::take_on_again(select::Plan& plan) {
    capacity_.word = word_;
    capacity_.is_given_up = true;
    capacity_.less = 0;
    begin(plan);
}

// Gather and scatter have one lane. Who has sent as much as there was room for does not run what
// this rank has taken the call to be since.
transport::Disagreement InterNode::look_for_unexpected() {
    constexpr uint32_t kSlot = 0;
    constexpr int kLooksMax = 4;
    if (!capacity_.is_spare || capacity_.less != 0) return {};
    for (int look = 0; look < kLooksMax; ++look) {
        const transport::Disagreement with = messages_.find_unexpected(kSlot);
        if (!with.is_there) break;
        const node::CallNote theirs = node::CallNote::unpack(with.word.call);
        if (!log_.is_of_last(with.word) || theirs == log_.last()) continue;
        return take_less(theirs) ? transport::Disagreement{} : with;
    }
    if (!capacity_.is_given_up) return {};
    transport::Disagreement with{true, true, 0, capacity_.word};
    return messages_.find_long_unexpected(kSlot, capacity_.word.kind, word_.kind, with.peer)
               ? with
               : transport::Disagreement{};
}

}  // namespace tutti::engine
