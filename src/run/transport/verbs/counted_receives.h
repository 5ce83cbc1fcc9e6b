// SPDX-License-Identifier: BSD-3-Clause
// Messages of which the receiver wants to know only that all have come (Kini 2003, section 3.1, the
// counter barrier): each is an addition to a word at the receiver, which looks at it. So they cost
// no slot, no receive and no completion there, however many they are.
//
// The low 16 bits count, modulo 2^16: fewer than 2^15 are ever awaited, and none is sent before
// those of the call before have all been seen. The upper ones have the sum of what the senders take
// their calls to be, so ranks that do not run the same call are found out, in this call or in the
// next one. The word is never set back.
#pragma once

#include <cstdint>
#include <vector>

#include "run/transport/verbs/operations.h"
#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

// What one of them adds: one, and what the call is.
uint64_t counted_amount(const CallWord& word);

class CountedReceives {
  public:
    CountedReceives(Endpoint& endpoint, OperationPool& pool, uint32_t pairs)
        : endpoint_(endpoint), pool_(pool), of_pair_(pairs) {}

    void add(uint32_t pair, Operation* operation);
    [[nodiscard]] bool is_waiting() const { return line_.first != nullptr; }
    [[nodiscard]] bool is_waiting(uint32_t pair) const { return of_pair_[pair] != 0; }
    // Looks whether all have come. False: ranks run different calls, so they have failed.
    bool take();
    // All that would come from there fail.
    void drop(uint32_t pair);
    // False where it is none of them.
    bool cancel(const Ticket& ticket);
    // The same; what has come for it, or will, counts for the next one.
    bool withdraw(const Ticket& ticket);
    // That have come.
    [[nodiscard]] uint64_t count() const { return count_; }

  private:
    void end(Operation* operation, State state);

    Endpoint& endpoint_;
    OperationPool& pool_;
    Line line_;
    uint64_t sum_ = 0;               // what the word has when all have come
    std::vector<uint32_t> of_pair_;  // how many wait
    uint64_t count_ = 0;
};

}  // namespace tutti::transport::verbs
