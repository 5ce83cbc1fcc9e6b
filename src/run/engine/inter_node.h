// SPDX-License-Identifier: BSD-3-Clause
// The part of a team across nodes beside its node's shared memory: the placement, the networks to
// other nodes, notes, and multicast. Which plan a call has is call_planner.h, and where it runs
// call_track.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/facts.h"
#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "run/engine/call_planner.h"
#include "run/engine/call_track.h"
#include "run/engine/context.h"
#include "run/multicast/multicast_life.h"
#include "run/networks/team_networks.h"
#include "run/node/node_team.h"
#include "run/notes/broadcast.h"
#include "run/notes/call_log.h"
#include "run/notes/notes.h"
#include "run/transport/faulty/faulty.h"
#include "run/transport/p2p/p2p.h"
#include "run/transport/p2p/tags.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class InterNode final : public Retired, private multicast::RecoveryClient {
  public:
    InterNode(Context& context, topo::Placement placement, uint32_t rank, const tutti_p2p& p2p,
              std::vector<uint32_t> peers, transport::TagLease tags);
    ~InterNode() override;
    // See MulticastLife::hold().
    [[nodiscard]] std::unique_lock<std::mutex> hold() { return multicast_.hold(); }
    // The team is gone. False where this must be kept: until is_over(), attend() goes on with what
    // it still owes to others. Not sound: messages may still write into its memory.
    [[nodiscard]] bool retire(bool is_sound);
    bool is_over() override;
    // To all other nodes.
    [[nodiscard]] notes::Broadcast& notice() { return notice_; }

    [[nodiscard]] const topo::Placement& placement() const { return placement_; }
    [[nodiscard]] transport::Transport& transport() {
        if (faulty_) return *faulty_;
        return networks_.routes();
    }
    [[nodiscard]] notes::Notes& notes() { return notes_; }
    // The names of the nodes, for messages; may be left away.
    void set_host_names(std::vector<std::string> names) { host_names_ = std::move(names); }
    // "HOST".
    [[nodiscard]] std::string host_text(uint32_t node) const;
    // By which messages go. Made before attach().
    [[nodiscard]] networks::TeamNetworks& networks() { return networks_; }
    // Facts about the networks of the team of this name. hold() while it runs.
    void tell(std::vector<FactRow>& rows, const std::string& name, bool all) const;
    // The life of the team's multicast; the planner decides which calls use it.
    [[nodiscard]] multicast::MulticastLife& multicast() { return multicast_; }
    // What a try has brought, alike on all members: calls may use it.
    Result<Done> adopt_multicast(multicast::MulticastOutcome made);
    // Not for any call to use, after all: the group goes at once, on all members alike.
    void drop_multicast(std::string obstacle);
    // Once, when the node's part is there; it stays where it is. nullptr where every node has one
    // rank.
    void attach(node::Team* node);
    // CallPlanner::Helpers that are not there yet, with their memory.
    Result<Done> plan_helpers(size_t card_bytes);
    Result<Done> plan_comparison(size_t bytes);

    // See CallPlanner.
    void adopt_speed(const sched::Speed& speed) {
        const auto held = hold();
        planner_.adopt_speed(speed);
    }
    // Which plan the next call has; under hold().
    [[nodiscard]] CallPlanner& planner() { return planner_; }
    // Where calls run.
    [[nodiscard]] CallTrack& track() { return track_; }
    [[nodiscard]] const CallTrack& track() const { return track_; }
    // The number of the call under way, of this team; from 1.
    [[nodiscard]] uint32_t call() const { return log_.number(); }
    [[nodiscard]] const notes::CallLog& log() const { return log_; }
    // Tells those that the call under way waits for the last calls of this rank; not again before
    // they have answered, which ranks do that wait themselves.
    void tell_calls();
    void calls_heard(uint32_t rank) { is_told_[rank] = false; }
    // What was told may have been lost since.
    void forget_told() { is_told_.assign(is_told_.size(), false); }
    // "rank 3 (on HOST)".
    [[nodiscard]] std::string rank_text(uint32_t rank) const;

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
    transport::P2p messages_;
    networks::TeamNetworks networks_;
    std::unique_ptr<transport::Faulty> faulty_;  // TUTTI_FAULTS
    notes::Notes notes_;
    notes::Broadcast notice_;
    bool is_sound_ = true;  // no call has failed
    multicast::MulticastLife multicast_;
    std::vector<std::string> host_names_;
    notes::CallLog log_;
    std::vector<bool> is_told_;  // by rank, the last calls
    CallPlanner planner_;
    CallTrack track_;
};

}  // namespace tutti::engine
