// SPDX-License-Identifier: BSD-3-Clause
// The whole life of a team with multicast in virtual time, to the end: ranks that carry out one row
// of multicasts and free the team each when it likes, rings, the members of the group with their
// byes, and a network that loses packets, stands still or is cut.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/prng.h"
#include "conformance/mailbox.h"
#include "run/transport/carrier/membership.h"
#include "run/transport/carrier/route.h"
#include "run/transport/p2p/p2p.h"
#include "sim/mcast_world.h"
#include "unit/run/transport/carrier/ring_support.h"

namespace tutti::test {

struct LeavingPlan {
    struct Rank {
        mcast::Member member = 0;
        uint64_t free_ns = 0;  // from its last number until it frees the team
        bool waits = false;    // afterwards, in other calls, for others
    };
    struct Message {
        transport::Rank sender = 0;
        size_t bytes = 0;
    };
    std::vector<Rank> ranks;
    std::vector<Message> messages;
    uint32_t in_flight = 4;      // a ring has two flights of slots
    uint64_t call_messages = 8;  // so many are a call
    uint32_t window_packets = 16;
    uint32_t packet_bytes_max = 1472;
    transport::carrier::Protection protection = transport::carrier::Protection::kAll;
};

class LeavingWorld {
  public:
    // True for a packet that is lost; to: kEverybody on its way to the switches.
    using Filter = std::function<bool(mcast::Member from, mcast::Member to, bool is_for_all)>;

    LeavingWorld(const LeavingPlan& plan, const Weather& weather, uint64_t seed);

    [[nodiscard]] uint64_t now_ns() const { return now_ns_; }
    [[nodiscard]] mcast::Member members() const {
        return static_cast<mcast::Member>(nodes_.size());
    }
    void set_filter(Filter filter) { filter_ = std::move(filter); }
    // The member and its ranks do nothing until then; what comes for it waits.
    void stop_until(mcast::Member member, uint64_t ns) { nodes_[member]->stopped_ns = ns; }
    // From now on every rank that has freed the team waits for others.
    void wait_for_all() {
        for (LeavingPlan::Rank& rank : plan_.ranks) rank.waits = true;
    }
    // Until `done` or the time; false if the time came first.
    bool run(uint64_t until_ns, const std::function<bool()>& done);

    // Ranks that have done all numbers and freed the team.
    [[nodiscard]] uint32_t freed() const { return freed_; }
    // Members whose ranks have all freed it, as their group knows.
    [[nodiscard]] uint32_t left() const;
    // Ranks that nobody needs any more.
    [[nodiscard]] uint32_t gone() const { return gone_; }
    [[nodiscard]] uint32_t ranks() const { return static_cast<uint32_t>(actors_.size()); }
    // All groups are gone and nothing is on the wire.
    [[nodiscard]] bool is_silent() const;
    [[nodiscard]] uint32_t frozen() const;  // rings
    [[nodiscard]] uint32_t ended() const;   // rings
    // Numbers that went as messages.
    [[nodiscard]] uint64_t messages() const { return messages_; }
    [[nodiscard]] size_t under_way() const { return mailbox_.under_way(); }
    // The first thing that went wrong; empty if nothing.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

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
        std::unique_ptr<transport::carrier::Route> route;  // until nobody needs it
        std::deque<Flight> flights;
        uint64_t next = 0;
        uint64_t done = 0;
        uint64_t progress_ns = 0;  // the last time
        uint64_t nap_ns = 0;
        uint64_t wake_ns = 0;
        bool has_freed = false;
    };
    struct Node final : transport::carrier::Waker {
        Node(LeavingWorld& owner, const transport::carrier::RingParams& params)
            : world(owner), memory(params) {}
        void wake() override;
        LeavingWorld& world;
        RingMemory memory;
        std::unique_ptr<transport::carrier::Membership> membership;  // until it is over
        uint64_t service_ns = mcast::kNever;
        uint64_t stopped_ns = 0;
        std::vector<transport::Rank> ranks;
    };
    struct Packet {
        uint64_t ns;
        uint64_t number;  // keeps equal times in order
        mcast::Member to;
        std::vector<std::byte> bytes;
        bool operator>(const Packet& other) const {
            return ns != other.ns ? ns > other.ns : number > other.number;
        }
    };

    void make_node(mcast::Member member);
    void make_actor(transport::Rank rank);
    bool chance(double probability);
    void transmit(mcast::Member from, mcast::Member to, std::span<const std::byte> bytes);
    [[nodiscard]] uint64_t wake_ns(const Node& node) const;
    void arrive();
    bool pass_code(const transport::carrier::Key& key, std::vector<std::byte>& packet);
    void wake(mcast::Member member);
    void serve(mcast::Member member);
    void step(Actor& actor);
    void carry_out(Actor& actor);
    void test(Actor& actor);
    void post(Actor& actor);
    void finish(Actor& actor, Flight& flight);
    void stay(Actor& actor);
    void note(const std::string& what);

    LeavingPlan plan_;
    Weather weather_;
    Prng prng_;
    Prng forger_{77};  // of its own: the network's draws are the same with and without it
    Filter filter_;
    std::vector<mcast::Member> member_of_rank_;
    std::vector<transport::carrier::Address> addresses_;
    std::vector<std::unique_ptr<Node>> nodes_;
    Mailbox mailbox_;
    std::vector<Actor> actors_;
    std::priority_queue<Packet, std::vector<Packet>, std::greater<>> packets_;
    uint64_t packet_number_ = 0;
    uint64_t now_ns_ = 1'000'000;
    uint32_t freed_ = 0;
    uint32_t gone_ = 0;
    uint64_t messages_ = 0;
    std::string wrong_;
};

}  // namespace tutti::test
