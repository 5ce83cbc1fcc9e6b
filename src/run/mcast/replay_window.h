// SPDX-License-Identifier: BSD-3-Clause
// Which of one member's packets have been here: each is let in once, however often the network or
// somebody who recorded it brings it.
//
// Source: the anti-replay window of IPsec (RFC 4303, Section 3.4.3), in the form of RFC 6479: bits
// by counter in a ring of words, of which those that the window moves over are cleared as wholes.
//
// Example, words of 4 bits, 3 words, highest counter 9, here are 5, 6, 8, 9 (. not, # here):
//
//     counter   4 5 6 7 | 8 9 10 11 | 0 1 2 3      a counter below 4 is too old;
//               . # # . | # #  .  . | (old)        10 to 11 need no clearing, 12 clears the last
//
// Invariants (unit test, against a set of all counters that were let in):
//   I1  no counter is let in twice;
//   I2  one that is at most `counters` below the highest, and was not here, is let in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tutti::mcast {

class ReplayWindow {
  public:
    explicit ReplayWindow(uint32_t counters) : words_((counters + kBits - 1) / kBits + 1) {
        words_[0] = 1;  // packets are counted from 1
    }

    // True the first time, if the counter is not too old to tell.
    bool accept(uint64_t counter) {
        const uint64_t word = counter / kBits;
        const uint64_t last = highest_ / kBits;
        if (word + words_.size() <= last) return false;
        for (uint64_t clear = last + 1; clear <= std::min(word, last + words_.size()); ++clear) {
            words_[clear % words_.size()] = 0;
        }
        highest_ = std::max(highest_, counter);
        uint64_t& bits = words_[word % words_.size()];
        const uint64_t bit = uint64_t{1} << counter % kBits;
        if ((bits & bit) != 0) return false;
        bits |= bit;
        return true;
    }

  private:
    static constexpr uint32_t kBits = 64;

    std::vector<uint64_t> words_;
    uint64_t highest_ = 0;
};

}  // namespace tutti::mcast
