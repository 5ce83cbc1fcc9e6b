// SPDX-License-Identifier: BSD-3-Clause
// A team: the one wait loop, and the functions for the embedder. The runner runs calls (runner.h),
// the control exchanges messages beside calls (control.h), the queue orders requests (queue.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/facts.h"
#include "base/result.h"
#include "plan/select/follow.h"
#include "plan/select/live.h"
#include "run/engine/active.h"
#include "run/engine/arrivals.h"
#include "run/engine/context.h"
#include "run/engine/control.h"
#include "run/engine/members.h"
#include "run/engine/node_runner.h"
#include "run/engine/queue.h"
#include "run/engine/request.h"
#include "run/engine/runner.h"
#include "run/engine/tracks.h"
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
    // See tutti_team_params.multicast_later: how its members try multicast, and measure messages
    // between hosts, all of them in the same call.
    using Trial = tutti_status (*)(Team&);
    void try_later(Trial how) { try_multicast_ = how; }
    void measure_later(Trial how) { measure_ = how; }
    // When members come to its blocking calls is looked at. Across hosts, where they have clocks of
    // their own, which they read so, the way to other nodes is prepared for what they compare.
    // Allocates.
    void watch_arrivals();
    void read_clocks_by(Trial how);
    void leave_arrivals() {
        live_.reset();
        follow_.reset();
        arrivals_.reset();
    }
    // Its blocking calls try other ways (plan/select/live.h). After watch_arrivals(). Allocates.
    void tune_live(bool all);
    // Short calls use a tree rooted at the last arriver, where members come late
    // (plan/select/follow.h): across hosts, not where calls are tuned. After watch_arrivals().
    // Allocates.
    void follow_arrivals();
    [[nodiscard]] Arrivals* arrivals() { return arrivals_.get(); }

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
        if (Request* last = queue_.back()) wait_for(*last);
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
    std::vector<FactRow> facts();
    // All but struct_bytes.
    void describe_arrivals(tutti_collective collective, tutti_arrivals_info& info);
    // See tutti_team_host_left().
    bool host_left() {
        if (arrivals_ && arrivals_->awaits_exit()) {
            arrivals_->host_left(context().clock().now_ns());
        }
        return live_ && run_.way != 0;
    }
    // Collective, a call of its own: what was sampled and is not compared yet.
    tutti_status finish_arrivals();

    // The beginning of a trial: all members meet. No request is under way.
    tutti_status meet();
    // Of one of multicast: and what a failure of it has left to do is done.
    tutti_status begin_try();

  private:
    Result<Done> force_here(const tutti_call& call, const std::string& algorithm);
    tutti_status run_sampled(const tutti_call& call);
    // Before a call. True where it has run another one.
    bool compare_arrivals();
    void hear_of_trials();
    bool hear_of_late();
    Done price_following();
    tutti_status run_quickly(const tutti_call& call, uint32_t way);
    tutti_status run_short();
    tutti_status run_slowly(const tutti_call& call);
    tutti_status run_described();
    [[nodiscard]] bool is_made_again(const CallCard& card);
    Team& take_track();
    tutti_status ended(tutti_status status);
    // Before a call: makes a trial where it is time for one. True where that has run another call.
    bool look_at_trials();
    // polls: fruitless ones just before.
    tutti_status wait_for(Request& request, uint32_t polls = 0);
    // After a fruitless step of the request in front.
    void wait_turn(Waiter& waiter);
    bool sleep_turn(Waiter::From from);
    // After a fruitless test: now and then looks for news that came outside the calls, as wait()
    // does by itself.
    void look_around();
    void listen();
    void watch_others(uint64_t waited_ns);
    [[nodiscard]] Waiter::From awaited() const;
    // Of a sleep that begins now.
    [[nodiscard]] uint64_t sleep_end_ns();
    // Besides this team, others have requests under way.
    [[nodiscard]] bool has_company() const {
        return context().active().has_more_than(
            link_.is_listed.load(std::memory_order_relaxed) ? 1 : 0);
    }
    // In a fruitless turn of a wait.
    void move_others_on() {
        if (has_company()) context().active().advance();
    }
    void call_done();

    Members members_;
    ActiveLink link_;
    std::unique_ptr<Runner> runner_;
    std::unique_ptr<Control> control_;
    // The runner, where calls go the short way: they are not compared before, run in shared memory,
    // and one at a time.
    NodeRunner* short_ = nullptr;
    Trial try_multicast_ = nullptr;
    Trial measure_ = nullptr;
    Trial read_clocks_ = nullptr;
    std::unique_ptr<Arrivals> arrivals_;      // where they are looked at
    std::unique_ptr<select::Live> live_;      // where calls are tuned; then there are arrivals
    std::unique_ptr<select::Follow> follow_;  // where calls may follow; then, too
    bool has_followed_ = false;               // some did: nothing that the user says kept them
    Queue queue_;
    uint32_t looks_ = 0;
    Request run_;  // run()'s own, so that a call allocates nothing
    Request ask_;  // for questions that run nothing
    // The call that was left to the embedder, and that it has rejected: without another number.
    std::optional<CallCard> rejected_;
    uint32_t calls_since_progress_ = 0;
    uint64_t progressed_ns_ = 0;          // see Waiter
    Tracks* tracks_ = nullptr;            // where there are several
    std::unique_ptr<Tracks> own_tracks_;  // the first track's
    Team* last_ = this;                   // the track of the last run()
    bool watches_others_ = false;  // the call under way has made other teams watch their groups
};

}  // namespace tutti::engine
