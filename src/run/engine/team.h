// SPDX-License-Identifier: BSD-3-Clause
// A team: the functions for the embedder. Its calls run on tracks, one or several (tracks.h); on
// one node by state machines in shared memory (node_runner.h), across nodes by schedules
// (program_runner.h). The agenda has what members do between calls (agenda.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/facts.h"
#include "base/result.h"
#include "run/engine/active.h"
#include "run/engine/agenda.h"
#include "run/engine/context.h"
#include "run/engine/inter_node.h"
#include "run/engine/members.h"
#include "run/engine/node_runner.h"
#include "run/engine/own_calls.h"
#include "run/engine/request.h"
#include "run/engine/sampler.h"
#include "run/engine/tracks.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Team {
  public:
    // Takes all the memory that does not depend on who the members are. tracks: that this member
    // asks for. checks: TUTTI_CHECK.
    Team(Context& context, const tutti_team_params& params, uint32_t tracks, bool checks);
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team();

    // ---- while it is made ----
    Members& members() { return members_; }
    // Of those that this member asks for, as many stay as all members do.
    [[nodiscard]] Tracks& tracks() { return tracks_; }
    // Across nodes: before anything runs its tracks.
    void connect(std::unique_ptr<InterNode> inter_node) { inter_node_ = std::move(inter_node); }
    // The way to other nodes, or nullptr.
    [[nodiscard]] InterNode* inter_node() { return inter_node_.get(); }
    // On one node, by the runner of the only track: calls go the short way where nothing is to be
    // compared before them.
    void run_short_by(NodeRunner& runner);
    // What members do between calls; see tutti_team_params.multicast_later.
    [[nodiscard]] Agenda& agenda() { return agenda_; }
    // Its blocking calls are sampled, of a team of one track. Across hosts the way to other nodes
    // is prepared for what members compare. Allocates.
    Sampler& sample();
    void leave_sampling() { sampler_.reset(); }
    [[nodiscard]] Sampler* sampler() { return sampler_.get(); }

    // ---- calls ----
    // TUTTI_OK, or TUTTI_ERR_ARGUMENT.
    tutti_status describe(const tutti_call& call, Request& request);
    // The short way for a blocking call: describe, start, wait.
    tutti_status run(const tutti_call& call);
    // Goes on with that call, which is chosen: see tutti_resume().
    tutti_status resume(const void* send, void* recv);
    // TUTTI_CHECK for a call that the embedder runs itself.
    tutti_status check_foreign(const char* label);
    // See tutti_team_rejected() and tutti_team_rejected_foreign().
    void rejected(const tutti_call& call);
    void rejected_foreign(const char* label);
    // See tutti_team_ran().
    const char* ran() const;
    // Of the next call.
    const char* algorithm(const tutti_call& call);
    // See tutti_team_force().
    Result<Done> force(const tutti_call& call, const std::string& algorithm);

    [[nodiscard]] ActiveLink& link() { return link_; }
    // Of a call, or of a look at it, that has ended so; the team is not held. Where the team has
    // broken down, members may wait on another track.
    tutti_status ended(tutti_status status);
    // This member takes part in no further call: all others are told, and their calls end with
    // `status`. Allocates nothing. The team is held (active.h).
    void give_up(tutti_status status, const char* why);
    // As the embedder says.
    void give_up(const char* why);
    Context& context() const { return members_.context; }
    uint32_t rank() const { return members_.rank; }
    uint32_t size() const { return members_.size; }
    const char* message();
    // See tutti_team_facts().
    std::vector<FactRow> facts(bool alone);
    // See tutti_team_host_left().
    bool host_left() { return sampler_ && sampler_->host_left(own().way); }
    // Collective, a call of its own: what was sampled and is not compared yet.
    tutti_status finish_arrivals();
    // For what members do between two calls.
    [[nodiscard]] OwnCalls& own_calls() { return own_calls_; }

  private:
    // Of blocking calls; where there are several tracks, of those on the first.
    [[nodiscard]] Request& own() { return tracks_.first().own(); }
    tutti_status run_sampled(const tutti_call& call);
    tutti_status run_quickly(const tutti_call& call, uint32_t way);
    tutti_status run_short();
    tutti_status run_slowly(const tutti_call& call);
    tutti_status run_own(Track& track);
    [[nodiscard]] bool is_made_again(const CallCard& card);
    // Before a call.
    void do_duties();

    Members members_;
    ActiveLink link_;
    std::unique_ptr<InterNode> inter_node_;  // across nodes
    Tracks tracks_;
    // The first track's runner, where calls go the short way: they are not compared before, run in
    // shared memory, and one at a time.
    NodeRunner* short_ = nullptr;
    Agenda agenda_;
    std::unique_ptr<Sampler> sampler_;  // where calls are sampled
    OwnCalls own_calls_;
    Request ask_;  // for questions that run nothing
    // The call that was left to the embedder, and that it has rejected: without another number.
    std::optional<CallCard> rejected_;
    Track* last_ = &tracks_.first();  // of the last run()
};

}  // namespace tutti::engine
