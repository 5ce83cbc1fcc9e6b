// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/team.h"

#include <utility>

#include "base/bell.h"
#include "base/large_stack.h"
#include "plan/select/live_facts.h"
#include "run/engine/inter_node.h"
#include "run/engine/node_story.h"
#include "run/notes/notes.h"

namespace tutti::engine {
namespace {

// Calls that never waited still let the embedder progress now and then: a program that only calls
// collectives in a loop must not starve a message under way. At 150 ns a call, 1 in 128 costs 1 ns.
constexpr uint32_t kCallsPerProgress = 128;
// Steps of another team in one turn of a wait: one that moves much data must not hold up the wait.
constexpr uint32_t kStepsAtOnce = 64;
// Who sleeps in a wait is up again so soon to move other teams on.
constexpr uint64_t kSleepWithCompanyNs = 50'000;
// Fruitless polls of the short way before the wait loop takes over: about a microsecond.
constexpr uint32_t kShortPolls = 256;
// Each test lets the embedder progress, which costs more than a look.
constexpr uint32_t kTestsPerLook = 64;
// From when on a wait may have to do with a failure of another team's group. Long beside what calls
// take, so that idle groups stay idle; short beside the time in which a silent member is given up.
constexpr uint64_t kWatchOthersAfterNs = 1'000'000'000;

}  // namespace

Team::Team(Context& context, const tutti_team_params& params, bool checks)
    : members_(context, params), queue_(members_, checks) {}

Team::~Team() {
    // Whoever has completed the last request is through with the team.
    static_cast<void>(HeldTeam(*this));
    TUTTI_ASSERT(!link_.is_listed.load(std::memory_order_relaxed),
                 "a team goes when its requests are complete");
    control_.reset();
    runner_.reset();  // it knows the node's part
    members_.memory.leave();
    context().remnants().tidy();
    if (members_.arena) members_.arena->trim(context().kept_bytes_max());
}

void Team::run_by(std::unique_ptr<Runner> runner, std::unique_ptr<Control> control) {
    runner_ = std::move(runner);
    control_ = std::move(control);
    queue_.run_by(*runner_, *control_);
}

void Team::run_by_node(std::unique_ptr<NodeRunner> runner, std::unique_ptr<Control> control) {
    if (!queue_.checks()) short_ = runner.get();
    run_by(std::move(runner), std::move(control));
}

void Team::become_track(Tracks& tracks) {
    tracks_ = &tracks;
    short_ = nullptr;
    leave_arrivals();  // who is late to one of several calls at once, nobody can tell
}

void Team::own_tracks(std::unique_ptr<Tracks> tracks) { own_tracks_ = std::move(tracks); }

tutti_status Team::describe(const tutti_call& call, Request& request) {
    const tutti_status status = engine::describe(call, size(), context().machine().isa, request);
    if (status != TUTTI_OK) return status;
    request.team = this;
    if (queue_.checks()) request.card = card_of(call, request);
    return TUTTI_OK;
}

// ---- waiting -----------------------------------------------------------------------------------

Waiter::From Team::awaited() const {
    // Nobody rings for what other teams wait for.
    return has_company() ? Waiter::From::kAnywhere : runner_->awaited();
}

void Team::wait_turn(Waiter& waiter) {
    // Heard before the last step: what would have completed the call came before the news, if at
    // all.
    if (members_.is_broken()) return queue_.end_front();
    move_others_on();
    const Waiter::From from = awaited();
    switch (waiter.turn(from)) {
        case Waiter::Advice::kPoll:
            runner_->serve_others();
            break;
        case Waiter::Advice::kProgress:
            runner_->serve_others();
            context().progress();
            calls_since_progress_ = 0;
            break;
        case Waiter::Advice::kAnnounce:
            runner_->announce();
            break;
        case Waiter::Advice::kListen:
            runner_->lengthen();
            context().progress();
            listen();
            watch_others(waiter.waited_ns());
            break;
        case Waiter::Advice::kReport:
            control_->report_stall(queue_.front()->op.call, runner_->node_op(), waiter.waited_ns());
            break;
        case Waiter::Advice::kSleep:
            if (sleep_turn(from)) waiter.reset();
            break;
    }
}

// Sleeps unless the last look moves the call. True if it did.
bool Team::sleep_turn(Waiter::From from) {
    Sleeper sleeper(runner_->bell(from));
    if (queue_.advance()) return true;
    runner_->sleep(sleeper, from, sleep_end_ns());
    return false;
}

uint64_t Team::sleep_end_ns() {
    return context().clock().now_ns() + (has_company() ? kSleepWithCompanyNs : Waiter::kSleepNsMax);
}

void Team::listen() {
    const Request* front = queue_.front();
    control_->listen(front ? &front->op.call : nullptr, runner_->node_op());
}

void Team::look_around() {
    if (++looks_ % kTestsPerLook != 0) return;
    listen();
    // What completes the call came first, if at all.
    if (members_.is_broken() && !queue_.advance()) queue_.end_front();
}

void Team::watch_others(uint64_t waited_ns) {
    if (watches_others_ || waited_ns < kWatchOthersAfterNs) return;
    watches_others_ = true;
    context().process_multicast().watch_all_for_others(true);
}

tutti_status Team::wait_for(Request& request, uint32_t polls) {
    Waiter waiter(members_.policy, context().clock(), progressed_ns_, polls);
    while (request.stage != Request::Stage::kIdle) {
        if (queue_.advance()) {
            waiter.reset();
        } else {
            wait_turn(waiter);
        }
    }
    call_done();
    return request.status;
}

inline void Team::call_done() {
    if (watches_others_) {
        watches_others_ = false;
        context().process_multicast().watch_all_for_others(false);
    }
    if (++calls_since_progress_ < kCallsPerProgress) return;
    calls_since_progress_ = 0;
    context().progress();
}

// ---- blocking calls ----------------------------------------------------------------------------

tutti_status Team::run(const tutti_call& call) {
    const tutti_status described = describe(call, run_);
    if (described != TUTTI_OK) return described;
    if (rejected_ && is_made_again(card_of(call, run_))) [[unlikely]]
        return TUTTI_HOST;
    if (arrivals_ && arrivals_->has_turn()) [[unlikely]]
        return run_sampled(call);
    return run_quickly(call, 0);
}

// The call is well formed. way: live tuning's.
inline tutti_status Team::run_quickly(const tutti_call& call, uint32_t way) {
    if (!short_ || link_.is_listed.load(std::memory_order_acquire)) return run_slowly(call);
    if (members_.is_broken()) return run_slowly(call);
    if (way != 0 || short_->is_ruled(run_.op.call)) {
        return short_->leaves_to_host(run_) ? TUTTI_HOST : run_slowly(call);
    }
    if (run_.prepare_buffers) return run_slowly(call);
    return run_short();
}

// What is not there within a microsecond, the wait loop waits for.
inline tutti_status Team::run_short() {
    if (short_->begin(run_.op) == Runner::Begun::kDone) return TUTTI_OK;
    node::Team& node = members_.node;
    const WaitPolicy& policy = members_.policy;
    uint32_t polls = 0;
    for (Step step; (step = node::step(node, run_.op)) != Step::kDone;) {
        if (step == Step::kAdvanced) {
            polls = 0;
        } else if (policy.is_crowded || ++polls == kShortPolls) {
            short_->resume(run_.op);
            queue_.put_in_front(run_);
            return wait_for(run_, kShortPolls);
        }
    }
    if (policy.sleeps) short_->ring_done(run_.op);
    call_done();
    return TUTTI_OK;
}

// The call is well formed. The first one after a comparison is no sample: members come to it from
// there.
tutti_status Team::run_sampled(const tutti_call& call) {
    const bool is_after = arrivals_->is_comparison_due();
    if (is_after && compare_arrivals()) static_cast<void>(describe(call, run_));
    const bool is_tuned = live_ && !run_.op.call.is_empty();
    const select::CallKind kind = kind_of(run_);
    run_.way = is_tuned ? live_->force(kind) : 0;
    const bool is_timed = is_tuned && live_->is_timed(kind);
    const bool is_looked_at = is_timed || (arrivals_->is_sampled() && !is_after);
    const uint64_t arrived_ns = is_looked_at ? context().clock().now_ns() : 0;
    const tutti_status status = run_quickly(call, run_.way);
    const uint32_t question = is_tuned ? live_->ran(kind) : select::Live::kNone;
    if (!is_looked_at || status < TUTTI_OK) return status;
    const uint64_t left_ns = status == TUTTI_OK ? context().clock().now_ns() : 0;
    arrivals_->add({.collective = call.collective,
                    .arrived_ns = arrived_ns,
                    .left_ns = left_ns,
                    .is_timed = is_timed,
                    .question = question,
                    .may_follow = select::Follow::may_follow(kind)});
    return status;
}

// The call is well formed.
tutti_status Team::run_slowly(const tutti_call& call) {
    last_ = &take_track();
    const bool has_run_another = last_->look_at_trials();
    if (has_run_another || last_ != this) static_cast<void>(last_->describe(call, last_->run_));
    if (follow_) run_.way = follow_->follows(kind_of(run_)) ? select::kFollows : 0;
    const tutti_status status = last_->run_described();
    if (run_.way == select::kFollows && run_.ran != nullptr) {
        has_followed_ |= std::string_view(run_.ran).starts_with(select::kFollowing);
    }
    if (status == TUTTI_HOST && tracks_) tracks_->settle(*last_);
    return status;
}

tutti_status Team::run_described() {
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(*this);
        queue_.push(run_);
        status = wait_for(run_);
    }
    return ended(status);
}

tutti_status Team::check_foreign(const char* label) {
    if (!queue_.checks()) return TUTTI_OK;
    const CallCard card = foreign_card(label);
    if (rejected_ && is_made_again(card)) return TUTTI_OK;
    Team& track = take_track();
    track.run_.card = card;
    return track.run_described();
}

// A call that the embedder rejected has its number already. Any other one takes the next, and
// members find out that they are not in the same call.
bool Team::is_made_again(const CallCard& card) {
    const bool is_again = *rejected_ == card;
    rejected_.reset();
    return is_again;
}

Team& Team::take_track() {
    if (!tracks_) return *this;
    Team& track = tracks_->next();
    tracks_->pass();
    return track;
}

// Of a call of this track, or of a look at it; nothing is held.
tutti_status Team::ended(tutti_status status) {
    if (tracks_ && status < TUTTI_OK) tracks_->fail(*this);
    return status;
}

// ---- requests ----------------------------------------------------------------------------------

tutti_status Team::init(const tutti_call& call, Request& request) {
    if (members_.is_in_turn) return TUTTI_ERR_ARGUMENT;
    const tutti_status status = describe(call, request);
    request.described = request.op.call;
    return status;
}

void Team::start(Request& request) {
    request.op.call = request.described;  // the last run may have changed it
    Team& track = request.team->take_track();
    request.track = &track;
    {
        const HeldTeam held(track);
        track.queue_.push(request);
        if (!track.is_idle()) track.context().active().enter(track);
    }
    static_cast<void>(track.ended(is_over(request) ? request.status : TUTTI_PENDING));
}

tutti_status Team::wait(Request& request) {
    if (!request.track) return request.status;
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(*request.track);
        status = request.track->wait_for(request);
    }
    return request.track->ended(status);
}

tutti_status Team::test(Request& request) {
    if (!request.track) return request.status;
    Team& track = *request.track;
    {
        const HeldTeam held(track);
        if (request.stage != Request::Stage::kIdle) track.move_on();
        if (request.stage != Request::Stage::kIdle) {
            track.context().progress();
            track.move_others_on();
            track.look_around();
        }
        if (request.stage != Request::Stage::kIdle) return TUTTI_PENDING;
    }
    return track.ended(request.status);
}

void Team::move_on() {
    bool has_moved = false;
    for (uint32_t steps = 0; steps < kStepsAtOnce && queue_.advance(); ++steps) has_moved = true;
    // As before a sleep: others of the node may sleep for what was done.
    if (has_moved && members_.policy.sleeps) members_.node.slice.header().bell.ring();
}

bool Team::is_over(const Request& request) {
    if (!request.track) return true;
    const HeldTeam held(*request.track);
    return request.stage == Request::Stage::kIdle;
}

// ---- ends and errors ---------------------------------------------------------------------------

void Team::give_up(tutti_status status, const char* why) {
    if (!members_.is_broken()) control_->break_off(status, why);
    queue_.end_front();
}

void Team::give_up_all(const char* why) {
    if (tracks_) return tracks_->give_up(TUTTI_ERR_MEMORY, why);
    const HeldTeam held(*this);
    give_up(TUTTI_ERR_MEMORY, why);
}

void Team::follow(const Team& broken) {
    if (!broken.members_.is_broken() || members_.is_broken()) return;
    control_->follow(broken.members_);
    queue_.end_front();
}

void Team::rejected(const tutti_call& call) {
    if (describe(call, ask_) == TUTTI_OK) rejected_ = card_of(call, ask_);
}

void Team::rejected_foreign(const char* label) {
    if (queue_.checks()) rejected_ = foreign_card(label);
}

const char* Team::message() {
    Team& track = tracks_ ? tracks_->failed() : *this;
    const HeldTeam held(track);
    return track.members_.message.c_str();
}

// ---- questions about the next call -------------------------------------------------------------

const char* Team::algorithm(const tutti_call& call) {
    const HeldTeam held_team(*this);
    if (describe(call, ask_) != TUTTI_OK) return "none";
    const select::CallKind kind = kind_of(ask_);
    ask_.way = live_ ? live_->force(kind) : 0;
    if (follow_ && follow_->follows(kind)) ask_.way = select::kFollows;
    return runner_->algorithm(ask_);
}

const char* Team::ran() const {
    const Request& request = last_->run_;
    return request.ran ? request.ran : node::algorithm_name(request.op);
}

Result<Done> Team::force(const tutti_call& call, const std::string& algorithm) {
    if (!tracks_) return force_here(call, algorithm);
    Result<Done> forced = Done{};
    tracks_->for_each([&](Team& track) {
        if (forced) forced = track.force_here(call, algorithm);
    });
    return forced;
}

Result<Done> Team::force_here(const tutti_call& call, const std::string& algorithm) {
    const InterNode* inter_node = runner_->inter_node();
    if (inter_node && inter_node->awaits_multicast()) {
        static_cast<void>(on_large_stack([&] { return try_multicast_(*this); }));
    }
    if (members_.is_broken()) return Error{ErrorCode::kNetwork, members_.message};
    const HeldTeam held_team(*this);
    if (describe(call, ask_) != TUTTI_OK) {
        return Error{ErrorCode::kArgument, "the call is malformed"};
    }
    ask_.way = 0;
    auto forced = runner_->force(ask_, algorithm);
    // The others run another algorithm from now on.
    if (!forced && forced.error().code == ErrorCode::kMemory) {
        give_up(TUTTI_ERR_MEMORY, "out of memory");
    }
    return forced;
}

std::vector<FactRow> Team::facts() {
    const HeldTeam held_team(*this);
    std::vector<FactRow> rows;
    if (live_) {
        for (const auto& question : live_->questions()) {
            rows.push_back(select::facts_of(question, rank(), size()));
        }
    }
    if (members_.node.size > 1) rows.push_back(node::facts_of(node_story(members_)));
    if (InterNode* inter_node = runner_->inter_node()) {
        const auto held = inter_node->hold();
        inter_node->tell(rows, members_.name);
    }
    return rows;
}

}  // namespace tutti::engine
