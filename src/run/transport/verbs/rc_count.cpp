// SPDX-License-Identifier: BSD-3-Clause
// Messages of which the receiver wants to know only that all have come (Kini 2003, section 3.1, the
// counter barrier): each is an addition to a word at the receiver, which looks at it. So they cost
// no slot, no receive and no completion there, however many they are.
//
// The low 16 bits count, modulo 2^16: fewer than 2^15 are ever awaited, and none is sent before
// those of the call before have all been seen. The upper ones have the sum of what the senders take
// their calls to be, so ranks that do not run the same call are found out, in this call or in the
// next one. The word is never set back.
#include <atomic>

#include "run/transport/verbs/rc.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kCountBits = 16;

// One, and what the call is.
uint64_t amount_of(const CallWord& word) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / phi
    const uint64_t mixed = (word.call * kOdd ^ word.before) * kOdd;
    return 1 + (mixed >> kCountBits << kCountBits);
}

}  // namespace

// False where it has to wait, or the pair has failed.
bool Rc::send_count(uint32_t pair, const Operation& operation) {
    Slots& slots = this->slots(pair);
    if (!slots.writes().may_begin()) return false;
    Add add;
    add.word = kCounter;
    add.amount = amount_of(operation.word);
    add.former = kFormer;
    add.number = slots.write();
    add.is_signaled = slots.must_signal(add.number);
    ++additions_;
    return is_posted(pair, endpoint().add(pairs_[pair].link, add));
}

void Rc::recv_count(uint32_t pair, Operation* operation) {
    Pair& at = pairs_[pair];
    append(counted_, operation);
    ++at.counting;
    counted_sum_ += amount_of(operation->word);
    take_counts();
    if (at.counting == 0 || !has_failed(pair)) return;
    note(pair, "that end has left");
    drop_counts(pair);
}

// The device adds to it. Some may have come whose receives are still to be posted: the sum says
// something when there are none of these.
void Rc::take_counts() {
    std::atomic_ref<uint64_t> counter(endpoint().words()[kCounter]);
    const uint64_t sum = counter.load(std::memory_order_acquire);
    const auto more = static_cast<int16_t>(static_cast<uint16_t>(sum - counted_sum_));
    if (more < 0) return;
    const bool is_alike = more > 0 || sum == counted_sum_;
    if (!is_alike && failure_ == Failure::kNone) {
        failure_ = Failure::kCount;
        disagreement_ = {};
        disagreement_.is_there = disagreement_.is_counted = true;
    }
    while (counted_.first) end_count(counted_.first, is_alike ? State::kDone : State::kFailed);
}

void Rc::end_count(Operation* operation, State state) {
    Ticket& ticket = *operation->ticket;
    remove(counted_, operation);
    --pairs_[ticket.number / kSlotsMax].counting;
    ticket.state = state;
    if (state == State::kDone) ++additions_;
    release(operation);
}

// All that would come from there.
void Rc::drop_counts(uint32_t pair) {
    for (Operation* next = counted_.first; next != nullptr;) {
        Operation* operation = next;
        next = operation->next;
        if (operation->ticket->number / kSlotsMax == pair) end_count(operation, State::kFailed);
    }
}

// What has come for it, or will, counts for the next one.
State Rc::withdraw_count(Ticket& ticket) {
    Operation* operation = find(counted_, ticket);
    if (!operation) return State::kFailed;
    counted_sum_ -= amount_of(operation->word);
    end_count(operation, State::kFailed);
    return State::kDone;
}

}  // namespace tutti::transport::verbs
