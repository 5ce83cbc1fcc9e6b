// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/active.h"
#include "engine/arena.h"
#include "engine/circle.h"
#include "engine/context.h"
#include "engine/host_choice.h"
#include "engine/inquiry.h"
#include "engine/network.h"
#include "engine/rejections.h"
#include "engine/tracks.h"
#include "engine/wait.h"
#include "node/team.h"
#include "tutti/tutti.h"

namespace tutti::engine {

// What TUTTI_CHECK compares: equal on all members of a correct program.
struct CallCard {
    uint32_t collective = 0;  // TUTTI_COLLECTIVE_COUNT: the embedder's own, see label
    uint32_t root = 0;
    uint32_t op = 0;
    uint32_t reserved = 0;
    uint64_t bytes = 0;
    char label[24] = {};

    bool operator==(const CallCard&) const = default;
};

class Team;

// One call, from start to completion; can be started again.
struct Request {
    Team* team = nullptr;
    Team* track = nullptr;  // of the last start: see tracks.h
    node::Op op;            // op.call is the call
    bool commutes = true;   // the operator of a reduction
    CallCard card;          // TUTTI_CHECK only
    enum class Stage {
        kIdle,
        kQueued,
        kAgreeing,
        kChecking,
        kRunning,
        kSettling  // no call: waits for what a failure of multicast has left to do
    } stage = Stage::kIdle;
    tutti_status status = TUTTI_OK;
    Request* next = nullptr;  // in the team's queue
};

class Team {
  public:
    ~Team();

    // See tutti_prefers_host().
    bool prefers_host(const tutti_call& call);
    const char* algorithm(const tutti_call& call);
    // See tutti_team_force().
    Result<Done> force(const tutti_call& call, const std::string& algorithm);
    // TUTTI_OK, or TUTTI_ERR_ARGUMENT.
    tutti_status describe(const tutti_call& call, Request& request);
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
    // A few steps, for whoever holds the team.
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
        if (tail_) wait_for(*tail_);
    }
    // See tutti_team_rejected().
    void rejected();
    bool is_idle() const { return head_ == nullptr; }

    Context& context() const { return *context_; }
    ActiveLink& link() { return link_; }
    uint32_t rank() const { return rank_; }
    uint32_t size() const { return size_; }
    const char* message();
    const std::string& name() const { return name_; }
    // See tutti_multicast_is_due() and tutti_multicast_try().
    bool multicast_is_due(const tutti_call& call);
    tutti_status try_multicast(Circle::Allgather allgather, void* user);
    // All but struct_bytes.
    void describe_multicast(tutti_multicast_info& info);

  private:
    friend class TeamMaker;
    Team() = default;
    Result<Done> force_here(const tutti_call& call, const std::string& algorithm);
    tutti_status run_slowly(const tutti_call& call);
    tutti_status run_prepared();
    Team& take_track();
    tutti_status ended(tutti_status status);
    void start_here(Request& request);
    // Moves the request in front a little. True if anything moved.
    bool advance();
    tutti_status wait_for(Request& request);
    // After a fruitless test: now and then looks for news that came outside the calls, as wait()
    // does by itself.
    void look_around();
    void begin(Request& request);
    void begin_agreed(Request& request);
    void begin_main(Request& request);
    void begin_exchange(Request& request);
    tutti_status meet();
    tutti_status settle_multicast();
    bool advance_settling();
    void tell_return();
    void begin_cards(Request& request);
    void begin_plan(Request& request);
    void leave_to_host();
    void compare_cards(Request& request);
    [[nodiscard]] bool is_tolerable(uint32_t rank) const;
    bool advance_network();
    exec::Step step_network();
    bool advance_decision();
    void tell_failure();
    void begin_agreement(Request& request);
    bool advance_agreement();
    Verdict agree_on_node();
    Verdict agree_across();
    void fall_out_of_step(uint32_t rank);
    void look_for_rejections();
    void wait_agreement_turn(Waiter& waiter);
    [[nodiscard]] uint32_t calls_begun() const;
    // op: of the node, under way; nullptr: none.
    void listen(node::Op* op);
    void look_for_disagreement(node::Op& op);
    void disagree(uint64_t number, const node::CallNote& mine, uint32_t rank,
                  const node::CallNote* theirs);
    void disagree(const node::Op& op, const node::Disagreement& with);
    void disagree(const transport::Disagreement& with);
    void tell_calls();
    void hear_calls(const Note& note);
    node::Op* node_op();
    bool tell_others(tutti_status status, const char* text);
    void break_off(tutti_status status, const char* why);
    void watch_others(uint64_t waited_ns);
    void hear_all();
    void hear(const Note& note);
    void answer(const Note& question);
    void ask_on();
    bool pass_on(tutti_status status, const char* text);
    void fall_silent(tutti_status status, const char* text);
    void report_inquiry();
    bool wait_turn(Waiter& waiter, node::Op& op);
    bool sleep_turn(node::Op& op);
    void wait_network_turn(Waiter& waiter);
    [[nodiscard]] Waiter::From awaited() const;
    // Of a sleep that begins now.
    [[nodiscard]] uint64_t sleep_end_ns();
    // Besides this team, others have requests under way.
    [[nodiscard]] bool has_company() const {
        return context_->active().has_more_than(
            link_.is_listed.load(std::memory_order_relaxed) ? 1 : 0);
    }
    // In a fruitless turn of a wait.
    void move_others_on() {
        if (has_company()) context_->active().advance();
    }
    bool sleep_for_service();
    bool sleep_for_node();
    void report_stall(const node::Op& op, uint64_t waited_ns);
    void begin_inquiry(uint64_t waited_ns);
    [[nodiscard]] std::vector<uint32_t> waits_for();
    void finish_front();
    node::Op& front_op();
    void call_done();
    void ring_done(const node::Op& op);
    void finish(Request& request, tutti_status status);

    Context* context_ = nullptr;
    ActiveLink link_;
    std::shared_ptr<Arena> arena_;
    std::shared_ptr<Mapping> mapping_;
    // The own node's part: all of the team where network_ is not there.
    node::Team node_;
    std::unique_ptr<Network> network_;         // where there are several nodes
    std::unique_ptr<HostChoice> host_choice_;  // where there is one, and rules name the host
    uint32_t node_leader_ = 0;                 // by its place on the node: who owns the arena
    uint32_t rank_ = 0;
    uint32_t size_ = 1;
    WaitPolicy policy_;
    std::string name_;
    std::string message_;
    std::vector<CallCard> cards_;  // one a member, for TUTTI_CHECK
    node::Op exchange_;            // of the cards
    bool checks_ = false;
    // Calls never go the short way: they are compared, or cross hosts, or have several tracks.
    bool is_complex_ = false;
    // Not TUTTI_OK: a message failed, or a member gave up. No further call runs.
    tutti_status broken_ = TUTTI_OK;
    // The number of a node's operation in which this rank has been seen to wait for one that has
    // finished it; 0: none.
    uint64_t suspected_ = 0;
    node::Rank suspect_ = node::kNoRank;
    // When this rank tells the calls that it waits in: see tell_calls().
    uint32_t telling_call_ = 0;
    uint32_t tellings_ = 0;  // of that call
    uint64_t tell_at_ns_ = 0;
    uint64_t tell_after_ns_ = 0;
    // The call in front waits for what all ranks agree on after multicast failed.
    bool waits_for_decision_ = false;
    Rejections rejections_;
    Inquiry inquiry_;
    uint64_t inquiry_waited_ns_ = 0;
    uint32_t looks_ = 0;
    Request run_;  // run()'s own, so that a call allocates nothing
    Request ask_;  // for questions that run nothing
    Request* head_ = nullptr;
    Request* tail_ = nullptr;
    uint32_t calls_since_progress_ = 0;
    uint64_t progressed_ns_ = 0;          // see Waiter
    bool has_slept_ = false;              // in the call under way
    Tracks* tracks_ = nullptr;            // where there are several
    std::unique_ptr<Tracks> own_tracks_;  // the first track's
    bool watches_others_ = false;  // the call under way has made other teams watch their groups
};

// Collective; see tutti_team_create().
Result<std::unique_ptr<Team>> make_team(Context& context, const tutti_team_params& params);

}  // namespace tutti::engine
