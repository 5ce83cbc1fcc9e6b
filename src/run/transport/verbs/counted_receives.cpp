// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/counted_receives.h"

#include <atomic>

#include "base/assert.h"

namespace tutti::transport::verbs {
namespace {

constexpr uint32_t kCountBits = 16;

uint32_t pair_of(const Operation& operation) {
    return static_cast<uint32_t>(operation.ticket->number / kSlotsMax);
}

}  // namespace

uint64_t counted_amount(const CallWord& word) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / phi
    const uint64_t mixed = (word.call * kOdd ^ word.before) * kOdd;
    return 1 + (mixed >> kCountBits << kCountBits);
}

void CountedReceives::add(uint32_t pair, Operation* operation) {
    TUTTI_ASSERT(pair_of(*operation) == pair, "its ticket says so");
    line_.append(operation);
    ++of_pair_[pair];
    sum_ += counted_amount(operation->word);
}

// The device adds to it. Some may have come whose receives are still to be posted: the sum says
// something when there are none of these.
bool CountedReceives::take() {
    std::atomic_ref<uint64_t> counter(endpoint_.words()[kCounter]);
    const uint64_t sum = counter.load(std::memory_order_acquire);
    const auto more = static_cast<int16_t>(static_cast<uint16_t>(sum - sum_));
    if (more < 0) return true;
    const bool is_alike = more > 0 || sum == sum_;
    while (line_.first) end(line_.first, is_alike ? State::kDone : State::kFailed);
    return is_alike;
}

void CountedReceives::end(Operation* operation, State state) {
    const uint32_t pair = pair_of(*operation);
    TUTTI_ASSERT(of_pair_[pair] > 0, "it was counted there");
    line_.remove(operation);
    --of_pair_[pair];
    operation->ticket->state = state;
    if (state == State::kDone) ++count_;
    pool_.release(operation);
}

void CountedReceives::drop(uint32_t pair) {
    for (Operation* next = line_.first; next != nullptr;) {
        Operation* operation = next;
        next = operation->next;
        if (pair_of(*operation) == pair) end(operation, State::kFailed);
    }
}

bool CountedReceives::cancel(const Ticket& ticket) {
    Operation* operation = line_.find(ticket);
    if (operation) end(operation, State::kFailed);
    return operation != nullptr;
}

bool CountedReceives::withdraw(const Ticket& ticket) {
    const Operation* operation = line_.find(ticket);
    if (operation) sum_ -= counted_amount(operation->word);
    return cancel(ticket);
}

}  // namespace tutti::transport::verbs
