// SPDX-License-Identifier: BSD-3-Clause
// A team: the functions for the embedder. The runner runs calls (runner.h), the control exchanges
// messages beside calls (control.h), the queue orders requests (queue.h), the wait loop waits for
// them (wait_loop.h), the agenda has what members do between calls (agenda.h).
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
#include "run/engine/control.h"
#include "run/engine/members.h"
#include "run/engine/node_runner.h"
#include "run/engine/own_calls.h"
#include "run/engine/queue.h"
#include "run/engine/request.h"
#include "run/engine/runner.h"
#include "run/engine/sampler.h"
#include "run/engine/tracks.h"
#include "run/engine/wait_loop.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Team {
  public:
    // Takes all the memory that does not depend on who the members are. checks: TUTTI_CHECK.
    Team(Context& context, const tutti_team_params& params, bool checks);
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team();

    // ---- while it is made; nothing here allocates ----
    Members& members() { return members_; }
    // The way to other nodes, or nullptr.
    InterNode* inter_node() { return runner_->inter_node(); }
    // Its calls are run by these.
    void run_by(std::unique_ptr<Runner> runner, std::unique_ptr<Control> control);
    // The same, on one node. Calls go the short way where nothing is to be compared before them.
    void run_by_node(std::unique_ptr<NodeRunner> runner, std::unique_ptr<Control> control);
    // It is one of several tracks; the first of them owns the others.
    void become_track(Tracks& tracks);
    void own_tracks(std::unique_ptr<Tracks> tracks);
    // What members do between calls; see tutti_team_params.multicast_later.
    [[nodiscard]] Agenda& agenda() { return agenda_; }
    // Its blocking calls are sampled. Across hosts the way to other nodes is prepared for what
    // members compare. Allocates.
    Sampler& sample();
    void leave_sampling() { sampler_.reset(); }
    [[nodiscard]] Sampler* sampler() { return sampler_.get(); }

    const char* algorithm(const tutti_call& call);
    // See tutti_team_ran().
    const char* ran() const;
    // See tutti_team_force().
    Result<Done> force(const tutti_call& call, const std::string& algorithm);
    // TUTTI_OK, or TUTTI_ERR_ARGUMENT.
    tutti_status describe(const tutti_call& call, Request& request);
    // The same for one that is started later, perhaps more than once.
    tutti_status init(const tutti_call& call, Request& request);
    // The short way for a blocking call: describe, start, wait.
    tutti_status run(const tutti_call& call);
    // Goes on with that call, which is chosen: see tutti_resume().
    tutti_status resume(const void* send, void* recv);
    // TUTTI_CHECK for a call that the embedder runs itself.
    tutti_status check_foreign(const char* label);
    // Requests run in the order of their start, one at a time on each track. Waits of others move
    // them on.
    static void start(Request& request);
    static tutti_status test(Request& request);
    static tutti_status wait(Request& request);
    // Or was never started.
    static bool is_over(const Request& request);
    // Where the next call runs. It is the one to ask about that call.
    Team& next_track() { return tracks_ ? tracks_->next() : *this; }
    // A few steps, for the holder of the team.
    void move_on();
    // This member takes part in no further call: all others are told, and their calls end with
    // `status`. Allocates nothing.
    void give_up(tutti_status status, const char* why);
    // As the embedder says.
    void give_up_all(const char* why);
    // Another track has failed for good.
    void follow(const Team& broken);
    // Waits for its requests.
    void settle() {
        if (Request* last = queue_.back()) waits_.wait_for(*last);
    }
    // See tutti_team_rejected() and tutti_team_rejected_foreign().
    void rejected(const tutti_call& call);
    void rejected_foreign(const char* label);
    bool is_idle() const { return queue_.is_idle(); }

    Context& context() const { return members_.context; }
    ActiveLink& link() { return link_; }
    uint32_t rank() const { return members_.rank; }
    uint32_t size() const { return members_.size; }
    const char* message();
    // See tutti_team_facts().
    std::vector<FactRow> facts(bool all);
    // See tutti_team_host_left().
    bool host_left() { return sampler_ && sampler_->host_left(run_.way); }
    // Collective, a call of its own: what was sampled and is not compared yet.
    tutti_status finish_arrivals();

    // ---- for what members do between two calls ----
    [[nodiscard]] OwnCalls& own_calls() { return own_calls_; }
    [[nodiscard]] Runner& runner() { return *runner_; }

  private:
    Result<Done> force_here(const tutti_call& call, const std::string& algorithm);
    tutti_status run_sampled(const tutti_call& call);
    tutti_status run_quickly(const tutti_call& call, uint32_t way);
    tutti_status run_short();
    tutti_status run_slowly(const tutti_call& call);
    tutti_status run_described();
    [[nodiscard]] bool is_made_again(const CallCard& card);
    Team& take_track();
    tutti_status ended(tutti_status status);
    // Before a call.
    void do_duties();

    Members members_;
    ActiveLink link_;
    std::unique_ptr<Runner> runner_;
    std::unique_ptr<Control> control_;
    // The runner, where calls go the short way: they are not compared before, run in shared memory,
    // and one at a time.
    NodeRunner* short_ = nullptr;
    Agenda agenda_;
    std::unique_ptr<Sampler> sampler_;  // where calls are sampled
    Queue queue_;
    WaitLoop waits_;
    OwnCalls own_calls_;
    Request run_;  // run()'s own, so that a call allocates nothing
    Request ask_;  // for questions that run nothing
    // The call that was left to the embedder, and that it has rejected: without another number.
    std::optional<CallCard> rejected_;
    Tracks* tracks_ = nullptr;            // where there are several
    std::unique_ptr<Tracks> own_tracks_;  // the first track's
    Team* last_ = this;                   // the track of the last run()
};

}  // namespace tutti::engine
