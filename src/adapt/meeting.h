// SPDX-License-Identifier: BSD-3-Clause
// One member of a team whose barriers and allreduces follow who arrives, call after call
// (docs/protocol/arrival.md). A state machine: messages in, actions out.
//
// Calls overlap: who is released goes on to the next call, and what it sends there comes to members
// that have not yet heard of their release. Nobody is two calls ahead, since a release needs all to
// have arrived. So a member keeps what comes for its call and for the next, at most one message of
// each neighbour for either.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "adapt/saturation.h"
#include "adapt/tree.h"

namespace tutti::adapt {

enum class Releases : uint8_t { kAlongTree, kByMulticast };

enum class Kind : uint8_t {
    kPart,     // what the sender has of all but the receiver
    kRelease,  // all have arrived; with what all have together
};

struct Action {
    enum class What : uint8_t {
        kSend,       // a message of that kind to that neighbour
        kMulticast,  // the release to all other members
        kLeave,      // the call is over for this member
    };
    What what = What::kLeave;
    Kind kind = Kind::kPart;
    uint32_t neighbour = 0;
    bool operator==(const Action&) const = default;
};
using Actions = std::vector<Action>;

class Meeting {
  public:
    Meeting(uint32_t members, uint32_t fan_in, uint32_t member, Releases releases);

    [[nodiscard]] const Place& place() const { return place_; }
    // The call that this member is in, or the next one that it enters.
    [[nodiscard]] uint64_t call() const { return call_; }
    [[nodiscard]] bool is_in_call() const { return is_in_call_; }
    // What it knows of that call: call() or the next one.
    [[nodiscard]] const Saturation& saturation(uint64_t call) const {
        return saturations_[call % 2];
    }

    // It enters call(); it was in none.
    Actions arrive();
    // A neighbour's message of that call, in any order. A part that is sent on, or released with,
    // is all that was heard, and the member's own. None: no member of this protocol sends it then.
    std::optional<Actions> take(uint64_t call, Kind kind, uint32_t neighbour);
    // Whoever released that call did it by multicast; it may be over here.
    std::optional<Actions> take_multicast(uint64_t call);

  private:
    Saturation& of(uint64_t call) { return saturations_[call % 2]; }
    Actions follow(const Saturation::Verdict& verdict);
    Actions release(std::optional<uint32_t> but);
    void leave(Actions& actions);

    Place place_;
    Releases releases_;
    uint64_t call_ = 0;
    bool is_in_call_ = false;
    std::array<Saturation, 2> saturations_;  // of call_ and the next, by their parity
};

}  // namespace tutti::adapt
