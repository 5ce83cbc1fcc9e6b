// SPDX-License-Identifier: BSD-3-Clause
// Records the arrivals of a call in one word. Each member adds to it once when it arrives, and gets
// its value before that. So each knows which members came before it, and the last knows that it is
// the last. One member's part of all calls of a team; no I/O.
//
// The low bits, one a member, say who has come: they are set one after the other in one call, and
// cleared in the next one, by additions of 2^i and -2^i, so the word is never set back and nothing
// is carried. Nobody comes to call k + 1 before all have come to call k, so the word never holds
// more than one of them. The upper bits have the sum of what those who have come take their calls
// to be: a member that runs another call is found by any that comes after it, unless two sums agree
// by chance, of at least 2^32.
//
// Invariants (tests/unit/run/adapt/roll_call_test.cpp):
//   I1  of those who come to a call exactly one is told that it is the last, after all have come
//   I2  a member that has come may read the word later, as long as the call is not over for it
#pragma once

#include <bit>
#include <cstdint>

#include "base/assert.h"
#include "base/prng.h"

namespace tutti::adapt {

class RollCall {
  public:
    static constexpr uint32_t kMembersMax = 32;

    // The next call: what to add to the word. members are the same in each one. word: what this
    // member takes the call to be.
    uint64_t arrive(uint32_t members, uint32_t own, uint64_t word) {
        TUTTI_ASSERT(members > 1 && members <= kMembersMax && own < members, "a bit each");
        if (members_ != 0) before_ += members_ * mark_;
        members_ = members;
        own_ = bit_of(own);
        is_set_ = !is_set_;
        mark_ = Prng(word).next() << members;  // each bit of it depends on all of the word
        here_ = own_;
        return mark_ + (is_set_ ? own_ : uint64_t{0} - own_);
    }

    enum class Found : uint8_t {
        kSome,      // others are still to come
        kLast,      // by the addition: this is the one
        kDisagree,  // a member runs another call
    };
    // What the word was before the addition of arrive().
    Found take(uint64_t former) {
        TUTTI_ASSERT(members_ > 0, "a member that has come itself");
        const uint64_t others = come(former);
        if (!is_of_call(former, others) || (others & own_) != 0) return Found::kDisagree;
        here_ = others | own_;
        return here_ == all() ? Found::kLast : Found::kSome;
    }
    // What it is now. Where all have come others may be in the next call, which shows in the sum.
    void look(uint64_t word) {
        const uint64_t here = come(word);
        here_ = is_of_call(word, here) ? here | own_ : all();
    }
    // As far as is known, by bits.
    [[nodiscard]] uint64_t missing() const { return all() & ~here_; }

  private:
    static constexpr uint64_t bit_of(uint32_t member) { return uint64_t{1} << member; }
    [[nodiscard]] uint64_t all() const { return bit_of(members_) - 1; }
    [[nodiscard]] uint64_t come(uint64_t word) const { return (is_set_ ? word : ~word) & all(); }
    [[nodiscard]] bool is_of_call(uint64_t word, uint64_t come) const {
        const auto count = static_cast<uint64_t>(std::popcount(come));
        return (word & ~all()) == before_ + count * mark_;
    }

    uint32_t members_ = 0;
    bool is_set_ = false;  // by this call; else cleared
    uint64_t own_ = 0;
    uint64_t mark_ = 0;    // of this call, in its place
    uint64_t before_ = 0;  // the sum of those before
    uint64_t here_ = 0;    // who is known to have come
};

}  // namespace tutti::adapt
