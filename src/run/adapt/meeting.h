// SPDX-License-Identifier: BSD-3-Clause
// One member of a team whose barriers and allreduces follow arrivals, call after call
// (docs/protocol/arrival.md). A state machine: messages in, orders out.
//
// Calls overlap: a released member goes on to the next call, and its messages there reach members
// that have not yet heard of their release. No member is two calls ahead, since a release needs all
// to have arrived. So a member keeps messages for its call and for the next, at most one of each
// neighbour for either.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "run/adapt/saturation.h"

namespace tutti::adapt {

enum class Releases : uint8_t { kAlongTree, kByMulticast };

enum class Kind : uint8_t {
    kPart,     // what the sender has of all but the receiver
    kRelease,  // all have arrived; with what all have together
};

// What a member is to do, in this order.
struct Orders {
    enum class What : uint8_t {
        kNothing,
        kSendPart,   // to `neighbour`
        kRelease,    // to all neighbours but `neighbour`, where that is set
        kMulticast,  // the release, to all other members
    };
    What what = What::kNothing;
    // A member leaves and was not told to: each of the two has everything, by the other's part.
    std::optional<uint32_t> neighbour;
    bool leaves = false;  // then the call is over for this member
    bool operator==(const Orders&) const = default;
};

class Meeting {
  public:
    // Neighbour 0 is the parent, where there is one.
    Meeting(uint32_t neighbours, bool has_parent, Releases releases)
        : saturations_{Saturation(neighbours), Saturation(neighbours)} {
        restart(neighbours, has_parent, releases);
    }
    // As if it were new; allocates nothing where it had as many neighbours before.
    void restart(uint32_t neighbours, bool has_parent, Releases releases);

    // The call that this member is in, or the next one that it enters.
    [[nodiscard]] uint64_t call() const { return call_; }
    [[nodiscard]] bool is_in_call() const { return is_in_call_; }
    // What it knows of that call: call() or the next one.
    [[nodiscard]] const Saturation& saturation(uint64_t call) const {
        return saturations_[call % 2];
    }

    // It enters call(); it was in none.
    Orders arrive();
    // A neighbour's message of that call, in any order. A part that is sent on, or released with,
    // is all that was heard, and the member's own. None: no member of this protocol sends it then.
    std::optional<Orders> take(uint64_t call, Kind kind, uint32_t neighbour);
    // The member that released that call did it by multicast; it may be over here.
    std::optional<Orders> take_multicast(uint64_t call);
    // There will be no multicast for this call: releases come along the tree. Who has everything
    // already, and has left, releases its neighbours so itself.
    void fall_back() { releases_ = Releases::kAlongTree; }

  private:
    Saturation& of(uint64_t call) { return saturations_[call % 2]; }
    Orders follow(const Saturation::Verdict& verdict);
    Orders release(std::optional<uint32_t> but);
    void leave();
    // Asserts what must hold behind each step.
    void check() const;

    uint32_t neighbours_ = 0;
    bool has_parent_ = false;
    Releases releases_ = Releases::kAlongTree;
    uint64_t call_ = 0;
    bool is_in_call_ = false;
    std::array<Saturation, 2> saturations_;  // of call_ and the next, by their parity
};

}  // namespace tutti::adapt
