// SPDX-License-Identifier: BSD-3-Clause
// Members whose calls follow who arrives, and the messages between them; events come in whatever
// order the test wants. Says what goes wrong. Which members' contributions a message holds is kept
// beside the machines, so that each result is seen to hold all, each once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "run/adapt/fold_tree.h"
#include "run/adapt/meeting.h"

namespace tutti::adapt::test {

// What a member does wrong, so that those who look for it can be tried.
enum class Fault : uint8_t {
    kNone,
    kForgetsItself,      // its part is not in what it sends
    kLeavesWithItsPart,  // it takes its own part's leaving for its release
    kBothMulticast,      // two who have everything both release all
    kForgetsANeighbour,  // when it releases along the tree
    kIsSilent,           // it sends no part
};

struct World {
    uint32_t members = 1;
    uint32_t fan_in = 1;
    Releases releases = Releases::kAlongTree;
    uint64_t calls = 1;
    Fault fault = Fault::kNone;
    uint32_t faulty = 0;  // the member
};

using Holds = std::vector<bool>;  // by member: whose contribution is in it

struct Mail {
    uint64_t call = 0;
    uint32_t from = 0;
    uint32_t to = 0;
    Kind kind = Kind::kPart;
    bool is_multicast = false;
    Holds holds;
    auto operator<=>(const Mail&) const = default;
};

struct Happened {
    std::string wrong;  // empty: nothing
    std::vector<Mail> posted;
};

class Arrivals {
  public:
    explicit Arrivals(const World& setup);

    [[nodiscard]] const World& setup() const { return setup_; }
    [[nodiscard]] bool can_arrive(uint32_t member) const;
    [[nodiscard]] const Meeting& member(uint32_t number) const { return members_[number]; }
    // Each: an event.
    Happened arrive(uint32_t member);
    Happened deliver(const Mail& mail);
    // When nothing is under way any more, and all have entered all calls that they can: what is
    // wrong then.
    [[nodiscard]] std::string end() const;
    // All that can make a difference later, but for what is under way.
    [[nodiscard]] std::string state() const;

    uint64_t messages = 0;

  private:
    Happened act(uint32_t member, const std::optional<Orders>& orders, bool is_told);
    std::string send(uint32_t member, Kind kind, uint32_t neighbour, std::vector<Mail>& posted);
    std::string release(uint32_t member, std::vector<Mail>& posted);
    std::string leave(uint32_t member);
    // What a member has of its call, but for one neighbour's; empty: two overlap.
    [[nodiscard]] Holds gathered(uint32_t member, std::optional<uint32_t> but) const;

    World setup_;
    std::vector<Place> places_;
    std::vector<Meeting> members_;
    std::vector<uint64_t> arrived_;                         // by member: in so many calls
    std::array<std::vector<std::vector<Holds>>, 2> parts_;  // by parity, member and neighbour
    std::vector<uint32_t> multicasts_of_call_;
    std::set<std::tuple<uint64_t, uint32_t, uint32_t>> sent_;  // call, from, to
};

}  // namespace tutti::adapt::test
