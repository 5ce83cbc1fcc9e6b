// SPDX-License-Identifier: BSD-3-Clause
// What the members of simulated multicast groups do: every team of members carries out a row of
// broadcasts with roots drawn by seed, each member at its own pace, and compares every byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/mcast_world.h"

namespace tutti::test {

struct TrafficPlan {
    struct Call {
        mcast::Member root = 0;
        size_t bytes = 0;
    };
    struct Team {
        std::vector<mcast::Member> members;
        std::vector<Call> calls;
    };
    std::vector<Team> teams;
    // Between a member's calls, drawn anew each time.
    uint64_t compute_ns_max = 0;
};

class Traffic {
  public:
    Traffic(McastWorld& world, const TrafficPlan& plan, uint64_t seed);

    // Lets a member go on as far as it can.
    void step(mcast::Member member);
    [[nodiscard]] bool is_done() const { return left_ == 0; }
    // All but this member are through.
    [[nodiscard]] bool is_done_without(mcast::Member dead) const;
    // All members (but dead ones) are through and everything is acknowledged.
    [[nodiscard]] bool is_settled() const;
    // The first thing that went wrong; empty if nothing did.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

  private:
    struct Actor {
        uint32_t team = 0;
        mcast::Member member = 0;
        uint32_t call = 0;
        bool has_begun = false;
        uint64_t free_ns = 0;  // it computes until then
        std::vector<std::byte> buffer;
        mcast::Outgoing outgoing;
        mcast::PostId post;
    };

    bool advance(Actor& actor);
    void begin(Actor& actor);
    bool finish(Actor& actor);
    [[nodiscard]] std::byte pattern(uint32_t team, uint32_t call, size_t at) const;

    McastWorld& world_;
    TrafficPlan plan_;
    Prng prng_;
    std::vector<std::vector<Actor>> actors_;  // by member
    uint64_t left_ = 0;
    std::string wrong_;
};

}  // namespace tutti::test
