// SPDX-License-Identifier: BSD-3-Clause
// The part of a team across nodes beside its node's shared memory, once for all of its calls: the
// placement, the networks to other nodes, and multicast. What a call needs for itself is its
// track's (call_track.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/facts.h"
#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "run/engine/call_track.h"
#include "run/engine/context.h"
#include "run/engine/track_messages.h"
#include "run/multicast/multicast_life.h"
#include "run/networks/team_networks.h"
#include "run/node/node_team.h"
#include "run/transport/p2p/tags.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class InterNode final : public Retired, private multicast::RecoveryClient {
  public:
    // Of as many tracks as there are ranges of tags.
    InterNode(Context& context, topo::Placement placement, uint32_t rank, const tutti_p2p& p2p,
              std::vector<uint32_t> peers, transport::TagLease tags);
    ~InterNode() override;
    // See MulticastLife::hold().
    [[nodiscard]] std::unique_lock<std::mutex> hold() { return multicast_.hold(); }
    // The team is gone. False where this must be kept: until is_over(), attend() goes on with what
    // it still owes to others. Not sound: messages may still write into its memory.
    [[nodiscard]] bool retire(bool is_sound);
    bool is_over() override;
    // The same for the owner: what is owed goes on in other teams' waits, and at the context's end.
    // Nobody waits here.
    static void part_with(std::unique_ptr<InterNode> inter_node, bool is_sound);

    [[nodiscard]] const topo::Placement& placement() const { return placement_; }
    // The names of the nodes, for messages; may be left away.
    void set_host_names(std::vector<std::string> names) { host_names_ = std::move(names); }
    // "HOST".
    [[nodiscard]] std::string host_text(uint32_t node) const;
    // "rank 3 (on HOST)".
    [[nodiscard]] std::string rank_text(uint32_t rank) const;
    // By which messages go. Made before attach().
    [[nodiscard]] networks::TeamNetworks& networks() { return networks_; }
    // Facts about the networks of the team of this name. hold() while it runs.
    void tell(std::vector<FactRow>& rows, const std::string& name) const;
    // The life of the team's multicast; the first track's planner decides which calls use it.
    [[nodiscard]] multicast::MulticastLife& multicast() { return multicast_; }
    // What a try has brought, alike on all members: calls may use it.
    Result<Done> adopt_multicast(multicast::MulticastOutcome made);
    // Not for any call to use, after all: the group goes at once, on all members alike.
    void drop_multicast(std::string obstacle);
    // Of messages, as members have measured them alike; 0: it is not known.
    void adopt_speed(const sched::Speed& speed);

    // Once, when the node's part is there: that of each track, which stays where it is. nullptr
    // where every node has one rank.
    void attach(std::span<node::Team* const> nodes);
    [[nodiscard]] size_t tracks() const { return tracks_.size(); }
    [[nodiscard]] CallTrack& track(size_t number) { return *tracks_[number]; }
    // The first, which is the one that multicasts, and the members' own: what they do between calls
    // has numbers among its calls.
    [[nodiscard]] CallTrack& first() { return *tracks_.front(); }

  private:
    void attend() override;
    void withdraw();
    [[nodiscard]] bool must_keep_messages();
    void give_up_memory();
    void settle_messages();
    void watch_for_others(bool is_wanted) override { multicast_.watch_for_others(is_wanted); }

    Context& context_;
    topo::Placement placement_;
    uint32_t rank_;
    std::vector<uint32_t> peers_;
    transport::TagLease tags_;
    std::vector<std::unique_ptr<TrackMessages>> messages_;  // by track
    networks::TeamNetworks networks_;
    bool is_sound_ = true;  // no call has failed
    multicast::MulticastLife multicast_;
    std::vector<std::string> host_names_;
    std::vector<std::unique_ptr<CallTrack>> tracks_;
};

}  // namespace tutti::engine
