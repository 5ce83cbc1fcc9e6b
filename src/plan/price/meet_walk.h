// SPDX-License-Identifier: BSD-3-Clause
// Those who meet in a round of a lane, followed in time, each from when it comes:
// run/adapt/saturation.h with the network's times. Those who are fed, as if all came at once.
// Inside price/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/price/lane_servers.h"
#include "plan/price/timed_queue.h"

namespace tutti::price {

class MeetWalk {
  public:
    MeetWalk(const NodeParameters& node, const Lanes& lanes, LaneServers& servers);

    enum class Outcome : uint8_t {
        kWaits,    // until all have begun to meet
        kDone,     // take_ends_ns() says when
        kUnknown,  // it is not followed where somebody is late and the others are fed meanwhile
    };
    // A participant begins an operation of the meeting.
    Outcome begin(sched::Rank rank, const sched::Operation& op, uint64_t ready_ns);
    // By participant: when all of these operations are complete. Then the next ones may meet.
    std::vector<uint64_t> take_ends_ns();

  private:
    // One of those who meet.
    struct Meeter {
        std::vector<sched::Rank> children;
        sched::Rank parent = 0;
        bool is_top = true;
        bool is_near = false;  // to its parent, on the same node
        uint64_t fed = 0;      // how many it feeds if all are there at once
        uint64_t at_ns = 0;    // when it has what it waits for
        // As run/adapt/saturation.h has them.
        bool has_arrived = false;
        uint32_t heard = 0;
        sched::Rank unheard = 0;  // of the neighbours not heard from, by exclusive or
        std::optional<sched::Rank> sent_to = {};
        [[nodiscard]] size_t neighbours() const { return children.size() + (is_top ? 0 : 1); }
    };
    // What comes to one of those who meet: it arrives itself, or a neighbour's message does.
    enum class Comes : uint8_t { kItself, kPart, kRelease };
    struct Coming {
        Comes what;
        sched::Rank to;
        sched::Rank from;
    };

    void add_neighbour(sched::Rank rank, const sched::Operation& op);
    void meet();
    void come(const Coming& coming, uint64_t at_ns);
    void release(sched::Rank rank, std::optional<sched::Rank> but);
    void send(Comes what, sched::Rank from, sched::Rank to);
    void feed();
    uint64_t pass(sched::Rank from, sched::Rank to, uint64_t at_ns);

    const NodeParameters& node_;
    const Lanes& lanes_;
    LaneServers& servers_;
    std::vector<Meeter> meeters_;  // by participant; none where nobody meets
    sched::Rank begun_ = 0;        // of them have begun more than their kMeetWith
    TimedQueue<Coming> coming_;
    uint64_t bytes_ = 0;        // of the vector
    uint64_t piece_bytes_ = 0;  // of what is fed; 0: a fold
    bool is_by_multicast_ = false;
};

}  // namespace tutti::price
