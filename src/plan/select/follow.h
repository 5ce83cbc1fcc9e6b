// SPDX-License-Identifier: BSD-3-Clause
// Decides which calls of a team across hosts use a tree rooted at the last arriver
// (adaptive_multicast), because ranks were observed to come late. A state machine on numbers that
// all members know alike, so all decide the same. docs/protocol/arrival.md, "Fixed or adaptive".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plan/select/live.h"
#include "tutti/tutti.h"

namespace tutti::select {

class Follow {
  public:
    // Vectors up to which the built-in rules let one multicast tell the result, on any hosts. What
    // goes up holds two of them.
    static constexpr uint64_t kBytesMax = 256;

    // A call of each collective that may follow, to be priced for all: they are short.
    static constexpr std::array<CallKind, 2> kPriced = {{{TUTTI_BARRIER}, {TUTTI_ALLREDUCE, 8, 8}}};

    // Of one collective.
    struct Choice {
        bool follows = false;
        bool is_kept = false;    // it follows, and was found to be faster so
        uint64_t since = 0;      // the team's call; 0: it never changed
        uint64_t before_ns = 0;  // from the last arrival to the last exit, before it followed
        std::optional<uint64_t> follows_from_ns;  // pays_from_ns, as it was when the try began
        uint32_t wait = 0;                        // so many verdicts until it is tried again
        uint32_t patience = 1;                    // what wait becomes when that was in vain
        // Since the last verdict.
        std::optional<uint64_t> pays_from_ns;  // see price()
        static constexpr uint32_t kSamplesMax = 24;
        uint32_t samples = 0;
        std::array<uint64_t, kSamplesMax> spread_ns;
        std::array<uint64_t, kSamplesMax> delay_ns;
    };

    // Operands may be put in parentheses in any way, and the call is short.
    [[nodiscard]] static bool may_follow(const CallKind& kind);
    [[nodiscard]] bool follows(const CallKind& kind) const {
        return may_follow(kind) && of(kind.collective).follows;
    }
    // Of a call that may follow: last arrival less first, last exit less last arrival.
    void sampled(tutti_collective collective, uint64_t spread_ns, uint64_t delay_ns);
    // True where it hangs on a price whether the next verdict is to try it: somebody is late by
    // more than a multicast.
    [[nodiscard]] bool asks_price(tutti_collective collective, uint64_t multicast_ns) const;
    // The spread from which on that pays, by price (Plans::follows_from); none: no price is known.
    // For the next verdict.
    void price(tutti_collective collective, std::optional<uint64_t> pays_from_ns) {
        choices_[index_of(collective)].pays_from_ns = pays_from_ns;
    }
    // Members have compared; multicast_ns: what one takes, 0: the team has none; calls: of the team
    // so far. True where calls run otherwise from the next one on.
    bool heard(uint64_t multicast_ns, uint64_t calls);

    [[nodiscard]] const Choice& of(tutti_collective collective) const {
        return choices_[index_of(collective)];
    }

  private:
    static size_t index_of(tutti_collective collective) {
        return collective == TUTTI_BARRIER ? 0 : 1;
    }
    static bool judge(Choice& choice, uint64_t multicast_ns);

    std::array<Choice, 2> choices_{};  // barrier, allreduce
};

}  // namespace tutti::select
