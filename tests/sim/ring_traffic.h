// SPDX-License-Identifier: BSD-3-Clause
// Whole nodes on a simulated multicast group: ring, service, ranks with their routes. The ranks
// carry out one row of multicasts, each at its own pace, and compare every byte.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/mailbox.h"
#include "run/transport/carrier/ring_feed.h"
#include "run/transport/carrier/route.h"
#include "run/transport/p2p/p2p.h"
#include "sim/mcast_world.h"
#include "unit/run/transport/carrier/ring_support.h"

namespace tutti::test {

struct RingPlan {
    struct Message {
        transport::Rank sender = 0;
        size_t bytes = 0;
        // The others do not know who sends it, and all ranks have come to it when it is sent. If
        // the group fails before, nobody gets it.
        bool is_offered = false;
    };
    std::vector<mcast::Member> member_of_rank;
    std::vector<Message> messages;
    uint32_t slots = transport::carrier::kRingSlots;
    uint32_t in_flight = transport::kMulticastsInFlightMax;
    uint64_t poll_ns_max = 100'000;
    // One step of a rank in so many is followed by a pause; 0: none.
    uint32_t pause_every = 0;
    uint64_t pause_ns_max = 0;
    // The ranks go on after a failure; so many messages are a call.
    bool has_network = false;
    // Who has done everything does nothing more, as a rank that waits elsewhere in its program.
    bool leaves_when_done = false;
    uint64_t call_messages = 8;
};

class RingTraffic {
  public:
    RingTraffic(McastWorld& world, const RingPlan& plan, uint64_t seed);
    ~RingTraffic();

    // Does nothing until then.
    void pause(transport::Rank rank, uint64_t until_ns);
    // Numbers that the rank has done.
    [[nodiscard]] uint64_t done(transport::Rank rank) const { return actors_[rank].done; }
    [[nodiscard]] uint64_t posted(transport::Rank rank) const { return actors_[rank].next; }
    [[nodiscard]] bool is_done() const;
    // The first thing that went wrong, or a slot that is not free at the end; empty if nothing.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }
    [[nodiscard]] std::string not_free() const;
    // After a failure: nobody owes anything, all have agreed, nothing is under way. Else says what.
    [[nodiscard]] std::string not_recovered() const;
    [[nodiscard]] bool is_settled() const;
    // All ranks go, whatever is under way. Receives that are posted before it, and after.
    std::pair<size_t, size_t> abandon();
    // Data packets that no member can have sent.
    [[nodiscard]] uint64_t refused() const { return refused_; }
    // By routes and feeds, after they were made.
    [[nodiscard]] uint64_t allocations() const { return allocations_; }
    [[nodiscard]] transport::carrier::Route& route(transport::Rank rank) {
        return *actors_[rank].route;
    }
    [[nodiscard]] transport::carrier::Ring ring(mcast::Member member) {
        return nodes_[member]->memory.ring();
    }

  private:
    struct Flight {
        uint64_t number = 0;
        transport::Ticket ticket;
        std::vector<std::byte> buffer;
    };
    struct Actor {
        transport::Rank rank = 0;
        mcast::Member member = 0;
        std::unique_ptr<transport::P2p> network;
        std::unique_ptr<transport::carrier::Route> route;
        uint64_t progress_ns = 0;  // the last time
        std::deque<Flight> flights;
        uint64_t next = 0;
        uint64_t done = 0;
        std::vector<std::byte> sought;  // for the next number, which is offered
        uint64_t wake_ns = 0;
        uint64_t poll_ns = 0;
        uint64_t paused_ns = 0;
    };
    struct Node : transport::carrier::Waker {
        Node(RingTraffic& owner, mcast::Member own, const transport::carrier::RingParams& params)
            : traffic(owner), member(own), memory(params) {}
        void wake() override;
        RingTraffic& traffic;
        mcast::Member member;
        RingMemory memory;
        std::unique_ptr<transport::carrier::Feed> feed;
        uint64_t service_ns = mcast::kNever;
        std::vector<transport::Rank> ranks;
    };

    void app(mcast::Member member);
    void serve(mcast::Member member);
    void step(Actor& actor);
    void test(Actor& actor);
    void post(Actor& actor);
    void finish(Actor& actor, Flight& flight);
    bool meet(Actor& actor);
    void compare(const Actor& actor, bool is_here);
    void recover(Actor& actor);
    template <class Call>
    auto counted(Call call);

    McastWorld& world_;
    RingPlan plan_;
    Prng prng_;
    std::vector<std::unique_ptr<Node>> nodes_;
    Mailbox mailbox_;
    std::vector<Actor> actors_;
    std::map<uint64_t, bool> offered_;  // by number: whether it came to anybody
    std::string wrong_;
    uint64_t allocations_ = 0;
    uint64_t refused_ = 0;
};

}  // namespace tutti::test
