// SPDX-License-Identifier: BSD-3-Clause
// The multicasts of a simulated world's teams. A multicast sets out when the node's ring would have
// a slot for it everywhere (Cluster::multicast_slots), passes each link of its tree once, cutting
// through like messages, and comes from a host's link through that host's memory to each of its
// ranks; to those on the sender's own host it goes through memory only. Long ones (as messages,
// Cluster::eager_bytes_max) wait until all have posted their receives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/topo/multicast_tree.h"
#include "run/transport/multicast.h"
#include "run/transport/sim/world.h"

namespace tutti::transport::sim {

class World::Casts {
  public:
    explicit Casts(World& world);
    ~Casts();
    Multicast& endpoint(uint32_t team, Rank rank);
    // The branch has taken its link, whose other end its head reaches then.
    void go_on(const Flight& flight, uint64_t head_ns);
    // The last byte has left the sender, whose memory is free then.
    void leave(uint32_t cast);
    // A multicast has come to a rank.
    void come(uint32_t flight);

    [[nodiscard]] const Traffic& traffic() const { return traffic_; }
    [[nodiscard]] size_t under_way() const { return under_way_; }

  private:
    class End;
    // What one rank has of a multicast.
    struct Share {
        Ticket* ticket = nullptr;
        std::byte* target = nullptr;
        size_t room_bytes = 0;
        Rank sender = 0;  // that it expects
        bool is_asked = false;
        bool is_come = false;
        bool is_done = false;
    };
    struct Cast {
        bool is_open = false;
        uint64_t number = 0;
        uint32_t team = 0;
        bool is_sent = false;     // posted by the sender
        bool is_offered = false;  // nobody posts a receive before it has come
        bool has_departed = false;
        bool has_left = false;
        Rank sender = 0;
        Ticket* send = nullptr;
        const std::byte* source = nullptr;
        size_t bytes = 0;
        uint64_t sent_ns = 0;   // when it was posted
        uint64_t asked_ns = 0;  // of a long one: when the sender knows of the last receive
        uint32_t asked = 0;
        uint32_t left = 0;  // ranks that have not got it yet, and the sender while it is pending
        std::vector<Share> shares;          // by rank
        std::unique_ptr<std::byte[]> kept;  // what it says, when the sender's memory is free
    };
    struct Team {
        std::vector<std::unique_ptr<End>> ends;        // by rank
        std::vector<std::vector<Rank>> ranks_of_host;  // by host
        uint32_t hosts = 0;                            // that have members
        std::unique_ptr<topo::MulticastTree> tree;
        uint32_t first_cast = 0;
        uint64_t oldest = 0;  // all below are complete everywhere
    };

    void open_team(uint32_t team);
    // No rank is further ahead of the slowest: a ring's slots, and as many as it may post.
    [[nodiscard]] uint32_t casts_of_team() const {
        return world_.cluster_.multicast_slots + kMulticastsInFlightMax;
    }
    [[nodiscard]] uint32_t cast_of(const Team& team, uint64_t number) const {
        return team.first_cast + static_cast<uint32_t>(number % casts_of_team());
    }
    uint32_t open(End& end, uint64_t number);
    void post_send(End& end, uint64_t number, const std::byte* data, size_t bytes, Ticket& ticket,
                   bool is_offered = false);
    void post_recv(End& end, uint64_t number, Rank sender, std::byte* data, size_t bytes,
                   Ticket& ticket);
    Multicast::Sought seek(End& end, uint64_t number, std::byte* data, size_t bytes);
    Multicast::Sought offer(End& end, uint64_t number, const std::byte* data, size_t bytes);
    [[nodiscard]] bool is_complete(const End& end, uint64_t number) const;
    [[nodiscard]] uint64_t way_ns(uint32_t team, Rank from, Rank to) const;
    void try_depart(uint32_t cast);
    void depart(uint32_t cast, uint64_t at_ns);
    void reach_host(uint32_t cast, uint32_t host, uint64_t at_ns);
    void give(uint32_t cast, Rank rank);
    void count_down(uint32_t cast);

    World& world_;
    std::vector<std::unique_ptr<Team>> teams_;  // by number; of those that multicast
    std::vector<std::unique_ptr<Cast>> casts_;
    Traffic traffic_;
    size_t under_way_ = 0;
};

}  // namespace tutti::transport::sim
