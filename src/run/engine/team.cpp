// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/team.h"

#include <utility>

#include "base/assert.h"
#include "base/bell.h"
#include "base/large_stack.h"
#include "run/engine/node_story.h"

namespace tutti::engine {
namespace {

// Fruitless polls of the short way before the wait loop takes over: about a microsecond.
constexpr uint32_t kShortPolls = 256;

}  // namespace

Team::Team(Context& context, const tutti_team_params& params, uint32_t tracks, bool checks)
    : members_(context, params),
      tracks_(tracks, members_, link_, checks),
      own_calls_(*this, tracks_.first()) {}

Team::~Team() {
    // Whoever has completed the last request is through with the team.
    static_cast<void>(HeldTeam(*this));
    TUTTI_ASSERT(!link_.is_listed.load(std::memory_order_relaxed) && tracks_.are_idle(),
                 "a team goes when its calls are complete");
    for (size_t number = 0; number < tracks_.count(); ++number) tracks_.at(number).detach();
    if (inter_node_) InterNode::part_with(std::move(inter_node_), !members_.is_broken());
    members_.memory.leave();
    context().remnants().tidy();
    if (members_.arena) members_.arena->trim(context().kept_bytes_max());
}

void Team::run_short_by(NodeRunner& runner) {
    if (!tracks_.first().queue().checks()) short_ = &runner;
}

tutti_status Team::describe(const tutti_call& call, Request& request) {
    const tutti_status status =
        engine::describe(call, {rank(), size()}, context().machine().isa, request);
    if (status != TUTTI_OK) return status;
    request.team = this;
    if (tracks_.first().queue().checks()) request.card = card_of(call, size(), request);
    return TUTTI_OK;
}

// ---- blocking calls ----------------------------------------------------------------------------

tutti_status Team::run(const tutti_call& call) {
    const tutti_status described = describe(call, own());
    if (described != TUTTI_OK) return described;
    if (rejected_ && is_made_again(card_of(call, size(), own()))) [[unlikely]]
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
    if (way != 0 || short_->is_ruled(own().op.call)) {
        return short_->leaves_to_host(own()) ? TUTTI_HOST : run_slowly(call);
    }
    if (own().buffers_later) return run_slowly(call);
    return run_short();
}

// What is not there within a microsecond, the wait loop waits for.
[[gnu::always_inline]] inline tutti_status Team::run_short() {
    TUTTI_ASSERT_SLOW(tracks_.are_idle(), "a chosen call goes on first");
    if (short_->begin(own().op) == Runner::Begun::kDone) return TUTTI_OK;
    node::Team& node = members_.node;
    const WaitPolicy& policy = members_.policy;
    uint32_t polls = 0;
    for (Step step; (step = node::step(node, own().op)) != Step::kDone;) {
        if (step == Step::kAdvanced) {
            polls = 0;
        } else if (policy.is_crowded || ++polls == kShortPolls) {
            short_->resume(own().op);
            tracks_.first().queue().put_in_front(own());
            return tracks_.first().waits().wait_for(own(), kShortPolls);
        }
    }
    if (policy.sleeps) short_->ring_done(own().op);
    tracks_.first().waits().call_done();
    return TUTTI_OK;
}

// The call is well formed.
tutti_status Team::run_sampled(const tutti_call& call) {
    sampler_->compare_if_due();
    const Sampler::Look look = sampler_->begin(own());
    own().way = look.way;
    const tutti_status status = run_quickly(call, look.way);
    status == TUTTI_CHOSEN ? sampler_->put_aside(look) : sampler_->end(look, status);
    return status;
}

// The call is well formed.
tutti_status Team::run_slowly(const tutti_call& call) {
    Track& track = tracks_.take();
    last_ = &track;
    do_duties();
    if (&track != &tracks_.first()) static_cast<void>(describe(call, track.own()));
    if (sampler_) sampler_->choose_following(own());
    const tutti_status status = run_own(track);
    if (sampler_) sampler_->ran(own());
    if (status == TUTTI_HOST && tracks_.count() > 1) {
        const HeldTeam held(*this);
        tracks_.settle_others(track);
    }
    return status;
}

tutti_status Team::run_own(Track& track) {
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(*this);
        status = track.run(track.own());
    }
    return ended(status);
}

tutti_status Team::resume(const void* send, void* recv) {
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(*this);
        Request& chosen = last_->own();
        if (!chosen.was_chosen || !may_have(chosen, send)) return TUTTI_ERR_ARGUMENT;
        chosen.was_chosen = false;
        // Else the team has broken down since.
        if (chosen.stage == Request::Stage::kChosen) {
            set_buffers(chosen, send, recv);
            last_->queue().start_chosen();
        }
        status = last_->waits().wait_for(chosen);
    }
    if (sampler_) sampler_->end_put_aside(status);
    return ended(status);
}

tutti_status Team::check_foreign(const char* label) {
    if (!tracks_.first().queue().checks()) return TUTTI_OK;
    const CallCard card = foreign_card(label);
    if (rejected_ && is_made_again(card)) return TUTTI_OK;
    Track& track = tracks_.take();
    track.own().card = card;
    return run_own(track);
}

// A call that the embedder rejected has its number already. Any other one takes the next, and
// members find out that they are not in the same call.
bool Team::is_made_again(const CallCard& card) {
    const bool is_again = *rejected_ == card;
    rejected_.reset();
    return is_again;
}

tutti_status Team::ended(tutti_status status) {
    if (tracks_.count() == 1 || status >= TUTTI_OK) return status;
    const HeldTeam held(*this);
    if (members_.is_broken()) tracks_.end();
    return status;
}

// ---- what members do between two calls ---------------------------------------------------------

Sampler& Team::sample() {
    sampler_ = std::make_unique<Sampler>(*this);
    return *sampler_;
}

// Before a call of the first track, on which members count what makes a duty due: they have counted
// alike once the calls before it there are over.
void Team::do_duties() {
    if (agenda_.is_empty() || last_ != &tracks_.first() || !own_calls_.settle_first()) return;
    Duty* due = agenda_.due();
    if (!due || !own_calls_.settle()) return;
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
    if (!members_.is_broken()) tracks_.first().control().break_off(status, why);
    tracks_.end();
}

void Team::give_up(const char* why) {
    const HeldTeam held(*this);
    give_up(TUTTI_ERR_MEMORY, why);
}

void Team::rejected(const tutti_call& call) {
    if (describe(call, ask_) == TUTTI_OK) rejected_ = card_of(call, size(), ask_);
}

void Team::rejected_foreign(const char* label) {
    if (tracks_.first().queue().checks()) rejected_ = foreign_card(label);
}

const char* Team::message() {
    const HeldTeam held(*this);
    return members_.message.c_str();
}

// ---- questions about the next call -------------------------------------------------------------

const char* Team::algorithm(const tutti_call& call) {
    const HeldTeam held_team(*this);
    if (describe(call, ask_) != TUTTI_OK) return "none";
    ask_.way = sampler_ ? sampler_->way_of(kind_of(ask_)) : 0;
    return tracks_.next().runner().algorithm(ask_);
}

const char* Team::ran() const {
    const Request& request = last_->own();
    return request.ran ? request.ran : node::algorithm_name(request.op);
}

Result<Done> Team::force(const tutti_call& call, const std::string& algorithm) {
    if (Duty* duty = agenda_.that_brings_ways()) {
        static_cast<void>(on_large_stack([&] { return duty->run(); }));
    }
    if (members_.is_broken()) return Error{ErrorCode::kNetwork, members_.message};
    const HeldTeam held_team(*this);
    if (describe(call, ask_) != TUTTI_OK) {
        return Error{ErrorCode::kArgument, "the call is malformed"};
    }
    ask_.way = 0;
    Result<Done> forced = Done{};
    for (size_t number = 0; forced && number < tracks_.count(); ++number) {
        forced = tracks_.at(number).runner().force(ask_, algorithm);
    }
    // The others run another algorithm from now on.
    if (!forced && forced.error().code == ErrorCode::kMemory) {
        give_up(TUTTI_ERR_MEMORY, "out of memory");
    }
    return forced;
}

std::vector<FactRow> Team::facts(bool alone) {
    const HeldTeam held_team(*this);
    std::vector<FactRow> rows;
    const auto host_of = [&](uint32_t rank) {
        if (!inter_node_) return members_.host();
        return inter_node_->host_text(inter_node_->placement().node_of(rank));
    };
    if (sampler_) sampler_->add_facts(rows, host_of);
    if (members_.node.size > 1) rows.push_back(node::facts_of(node_story(members_)));
    if (inter_node_) {
        const auto held = inter_node_->hold();
        inter_node_->tell(rows, members_.name);
    }
    if (!alone) std::erase_if(rows, [](const FactRow& row) { return !row.is_told; });
    return rows;
}

}  // namespace tutti::engine
