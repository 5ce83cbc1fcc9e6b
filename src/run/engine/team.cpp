// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/team.h"

#include <cstdio>
#include <utility>

#include "base/bell.h"
#include "base/large_stack.h"
#include "run/engine/inter_node.h"
#include "run/engine/node_story.h"
#include "run/notes/notes.h"

namespace tutti::engine {
namespace {

// Steps of another team in one turn of a wait: one that moves much data must not hold up the wait.
constexpr uint32_t kStepsAtOnce = 64;
// Fruitless polls of the short way before the wait loop takes over: about a microsecond.
constexpr uint32_t kShortPolls = 256;

}  // namespace

Team::Team(Context& context, const tutti_team_params& params, bool checks)
    : members_(context, params),
      queue_(members_, checks),
      waits_(members_, queue_, link_),
      own_calls_(*this, queue_, waits_) {}

Team::~Team() {
    // Whoever has completed the last request is through with the team.
    static_cast<void>(HeldTeam(*this));
    TUTTI_ASSERT(!link_.is_listed.load(std::memory_order_relaxed) && queue_.is_idle(),
                 "a team goes when its calls are complete");
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
    waits_.run_by(*runner_, *control_);
}

void Team::run_by_node(std::unique_ptr<NodeRunner> runner, std::unique_ptr<Control> control) {
    if (!queue_.checks()) short_ = runner.get();
    run_by(std::move(runner), std::move(control));
}

void Team::become_track(Tracks& tracks) {
    tracks_ = &tracks;
    short_ = nullptr;
    leave_sampling();  // of several calls at once no rank can be said to be late
}

void Team::own_tracks(std::unique_ptr<Tracks> tracks) { own_tracks_ = std::move(tracks); }

tutti_status Team::describe(const tutti_call& call, Request& request) {
    const tutti_status status = engine::describe(call, size(), context().machine().isa, request);
    if (status != TUTTI_OK) return status;
    request.team = this;
    if (queue_.checks()) request.card = card_of(call, request);
    return TUTTI_OK;
}

// ---- blocking calls ----------------------------------------------------------------------------

tutti_status Team::run(const tutti_call& call) {
    const tutti_status described = describe(call, run_);
    if (described != TUTTI_OK) return described;
    if (rejected_ && is_made_again(card_of(call, run_))) [[unlikely]]
        return TUTTI_HOST;
    if (sampler_ && sampler_->has_turn()) [[unlikely]]
        return run_sampled(call);
    return run_quickly(call, 0);
}

// The call is well formed. way: live tuning's. Inlined, as the next: a call more would take 7
// instructions of 265.
[[gnu::always_inline]] inline tutti_status Team::run_quickly(const tutti_call& call, uint32_t way) {
    if (!short_ || link_.is_listed.load(std::memory_order_acquire)) return run_slowly(call);
    if (members_.is_broken()) return run_slowly(call);
    if (way != 0 || short_->is_ruled(run_.op.call)) {
        return short_->leaves_to_host(run_) ? TUTTI_HOST : run_slowly(call);
    }
    if (run_.buffers_later) return run_slowly(call);
    return run_short();
}

// What is not there within a microsecond, the wait loop waits for.
[[gnu::always_inline]] inline tutti_status Team::run_short() {
    TUTTI_ASSERT_SLOW(queue_.is_idle(), "a chosen call goes on first");
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
            return waits_.wait_for(run_, kShortPolls);
        }
    }
    if (policy.sleeps) short_->ring_done(run_.op);
    waits_.call_done();
    return TUTTI_OK;
}

// The call is well formed.
tutti_status Team::run_sampled(const tutti_call& call) {
    sampler_->compare_if_due();
    const Sampler::Look look = sampler_->begin(run_);
    run_.way = look.way;
    const tutti_status status = run_quickly(call, look.way);
    status == TUTTI_CHOSEN ? sampler_->put_aside(look) : sampler_->end(look, status);
    return status;
}

// The call is well formed.
tutti_status Team::run_slowly(const tutti_call& call) {
    last_ = &take_track();
    last_->do_duties();
    if (last_ != this) static_cast<void>(last_->describe(call, last_->run_));
    if (sampler_) sampler_->choose_following(run_);
    const tutti_status status = last_->run_described();
    if (sampler_) sampler_->ran(run_);
    if (status == TUTTI_HOST && tracks_) tracks_->settle(*last_);
    return status;
}

tutti_status Team::run_described() {
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(*this);
        queue_.push(run_);
        status = waits_.wait_for(run_);
    }
    return ended(status);
}

tutti_status Team::resume(const void* send, void* recv) {
    Team& track = *last_;
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(track);
        Request& chosen = track.run_;
        if (!std::exchange(chosen.was_chosen, false)) return TUTTI_ERR_ARGUMENT;
        // Else the team has broken down since.
        if (chosen.stage == Request::Stage::kChosen) {
            set_buffers(chosen, send, recv);
            track.queue_.start_chosen();
        }
        status = track.waits_.wait_for(chosen);
    }
    if (sampler_) sampler_->end_put_aside(status);
    return track.ended(status);
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
    if (members_.is_in_turn || call.buffers_later != 0) return TUTTI_ERR_ARGUMENT;
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
        status = request.track->waits_.wait_for(request);
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
            track.waits_.look_around();
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

// ---- what members do between two calls ---------------------------------------------------------

Sampler& Team::sample() {
    sampler_ = std::make_unique<Sampler>(*this);
    return *sampler_;
}

void Team::do_duties() {
    if (agenda_.is_empty() || !own_calls_.settle()) return;
    Duty* due = agenda_.due();
    if (!due) return;
    static_cast<void>(on_large_stack([&] { return due->run(); }));  // an error stays with the team
    agenda_.drop_over();
}

// First a call by which members find out that they are not in step, so that none waits for the
// others in the comparison.
tutti_status Team::finish_arrivals() {
    if (!sampler_) return TUTTI_OK;
    const tutti_status met = run({});  // a barrier
    if (met < TUTTI_OK) return met;
    sampler_->compare();
    return members_.broken;
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
    ask_.way = sampler_ ? sampler_->way_of(kind_of(ask_)) : 0;
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
    if (Duty* duty = agenda_.that_brings_ways()) {
        static_cast<void>(on_large_stack([&] { return duty->run(); }));
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

std::vector<FactRow> Team::facts(bool all) {
    const HeldTeam held_team(*this);
    std::vector<FactRow> rows;
    InterNode* const inter_node = runner_->inter_node();
    const auto host_of = [&](uint32_t rank) {
        if (inter_node == nullptr) return members_.host();
        return inter_node->host_text(inter_node->placement().node_of(rank));
    };
    if (sampler_) sampler_->add_facts(rows, all, host_of);
    if (members_.node.size > 1 && (all || members_.node.rank == 0)) {
        rows.push_back(node::facts_of(node_story(members_)));
    }
    if (inter_node != nullptr) {
        const auto held = inter_node->hold();
        inter_node->tell(rows, members_.name, all);
    }
    if (!all) std::erase_if(rows, [](const FactRow& row) { return !row.is_told; });
    return rows;
}

}  // namespace tutti::engine
