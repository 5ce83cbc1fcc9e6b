// SPDX-License-Identifier: BSD-3-Clause
// Additions to a word of rank 0's to which all of the team add, and of which each is told what it
// was before (run/transport/transport.h). All come through rank 0's device, also those of rank 0,
// which has a connection with itself for them: only so is none lost (IBV_ATOMIC_HCA). Nobody looks
// at the word but so.
//
// The completion of an addition says that the former value is here, so who sleeps asks for it. One
// that does not reach rank 0 fails, and its pair with it, so nobody looks whether that is there.
//
// Invariant: at most one is under way.
#pragma once

#include <cstdint>

#include "run/transport/transport.h"
#include "run/transport/verbs/link.h"

namespace tutti::transport::verbs {

class Adder {
  public:
    // number: the team's on the links.
    explicit Adder(uint32_t number) : number_(number) {}

    // So many ranks add, by this link with rank 0.
    void use(Rank ranks, Link& link);
    [[nodiscard]] Rank ranks() const { return ranks_; }
    [[nodiscard]] bool is_under_way() const { return is_under_way_; }
    void begin(uint64_t amount, Ticket& ticket);
    // Posts it when it can, or sees that it has been made.
    void go_on();
    // It has failed with its link.
    void fail() { end(State::kFailed); }
    // False: it is not that one. What was posted happens all the same, and nobody is told.
    bool cancel(Ticket& ticket);
    // That were posted, but those that only look at the word.
    [[nodiscard]] uint64_t count() const { return count_; }

  private:
    void end(State state);

    const uint32_t number_;
    Rank ranks_ = 0;
    Link* link_ = nullptr;
    Ticket* ticket_ = nullptr;  // nullptr: nobody waits for it
    uint64_t amount_ = 0;
    uint64_t write_ = 0;  // its number; 0: not posted yet
    bool is_under_way_ = false;
    uint64_t count_ = 0;
};

}  // namespace tutti::transport::verbs
