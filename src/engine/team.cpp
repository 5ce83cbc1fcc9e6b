// SPDX-License-Identifier: BSD-3-Clause
// Requests of a team: queue, wait loop, TUTTI_CHECK and stall reports.
#include "engine/team.h"

#include <cstring>
#include <vector>

#include "base/bell.h"
#include "engine/make_node.h"
#include "engine/messages.h"
#include "sched/shape.h"

namespace tutti::engine {
namespace {

// Calls that never waited still let the embedder progress now and then: a program that only calls
// collectives in a loop must not starve a message under way. At 150 ns a call, 1 in 128 costs 1 ns.
constexpr uint32_t kCallsPerProgress = 128;
// Steps of another team in one turn of a wait: one that moves much data must not hold up the wait.
constexpr uint32_t kStepsAtOnce = 64;
// Who sleeps in a wait is up again so soon to move other teams on.
constexpr uint64_t kSleepWithCompanyNs = 50'000;

// False where operator, type and bytes do not go together.
bool set_reducer(const tutti_call& call, node::Isa isa, node::Reducer& reducer) {
    if (call.op == TUTTI_OP_USER) {
        if (!call.reduce || call.element_bytes == 0) return false;
        if (call.element_bytes > TUTTI_ELEMENT_BYTES_MAX) return false;
        reducer = {nullptr, call.reduce, call.reduce_user,
                   static_cast<uint32_t>(call.element_bytes)};
        return call.bytes % call.element_bytes == 0;
    }
    const node::Kernel kernel = node::find_kernel(call.dtype, call.op, isa);
    if (!kernel) return false;
    const size_t element = node::dtype_bytes(call.dtype);
    // Nothing of a user operator before it may stay: it would choose another algorithm.
    reducer = {kernel, nullptr, nullptr, static_cast<uint32_t>(element)};
    return call.bytes % element == 0;
}

}  // namespace

Team::~Team() {
    // Whoever has completed the last request is through with the team.
    static_cast<void>(HeldTeam(*this));
    TUTTI_ASSERT(!link_.is_listed.load(std::memory_order_relaxed),
                 "a team goes when its requests are complete");
    if (network_) network_->notes().drain();
    // What is under way goes on in other teams' waits, and at the context's end: nobody waits here.
    if (network_ && !network_->retire(broken_ == TUTTI_OK)) context_->keep(std::move(network_));
    network_.reset();  // the executor knows the node's part
    if (mapping_) leave(node_);
    context_->tidy();
    if (arena_) arena_->trim(context_->kept_bytes_max());
}

tutti_status Team::describe(const tutti_call& call, Request& request) {
    if (call.collective < 0 || call.collective >= TUTTI_COLLECTIVE_COUNT) {
        return TUTTI_ERR_ARGUMENT;
    }
    request.team = this;
    node::Call& target = request.op.call;
    target.collective = call.collective;
    target.root = has_root(call.collective) ? call.root : 0;
    if (target.root >= size_) return TUTTI_ERR_ARGUMENT;
    target.bytes = call.collective == TUTTI_BARRIER ? 0 : call.bytes;
    target.send = call.send == TUTTI_IN_PLACE ? nullptr : static_cast<const std::byte*>(call.send);
    target.recv = call.recv == TUTTI_IN_PLACE ? nullptr : static_cast<std::byte*>(call.recv);
    if (is_reduction(call.collective)) {
        if (!set_reducer(call, context_->isa(), target.reducer)) return TUTTI_ERR_ARGUMENT;
    } else {
        target.reducer.user_fn = nullptr;
        target.is_whole = call.element_bytes > 0;
    }
    request.commutes = call.op != TUTTI_OP_USER || call.commutes != 0;
    if (checks_) {
        request.card = CallCard{};
        request.card.collective = call.collective;
        request.card.root = target.root;
        request.card.op = is_reduction(call.collective) ? call.op : 0;
        request.card.bytes = target.bytes;
    }
    return TUTTI_OK;
}

// What follows a fruitless step of `op`. True if it was completed after all, or never will be:
// then the team is broken.
inline bool Team::wait_turn(Waiter& waiter, node::Op& op) {
    // Heard before the last step: what would have completed the call came before the news, if at
    // all.
    if (broken_ != TUTTI_OK) return true;
    move_others_on();
    switch (waiter.turn()) {
        case Waiter::Advice::kPoll:
            break;
        case Waiter::Advice::kProgress:
            context_->progress();
            calls_since_progress_ = 0;
            break;
        case Waiter::Advice::kAnnounce:
            node::announce(node_, op);
            break;
        case Waiter::Advice::kListen:
            context_->progress();
            listen(&op);
            watch_others(waiter.waited_ns());
            break;
        case Waiter::Advice::kReport:
            report_stall(op, waiter.waited_ns());
            break;
        case Waiter::Advice::kSleep:
            return sleep_turn(op);
    }
    return false;
}

// After a call. Where all waited for all, the first to leave has woken everybody, and it had no
// need to sleep itself; whoever was woken need not wake the others again.
void Team::ring_done(const node::Op& op) {
    if (!has_slept_ || !node::waits_for_all(op)) node_.slice.header().bell.ring();
    has_slept_ = false;
}

// Sleeps unless the last look moves the call.
bool Team::sleep_turn(node::Op& op) {
    node::SliceHeader& header = node_.slice.header();
    // What this rank has done up to here may be what another one sleeps for.
    if (!node::waits_for_all(op)) header.bell.ring();
    Sleeper sleeper(header.bell);
    const node::Step step = node::step(node_, op);
    if (step == node::Step::kBlocked) {
        sleeper.sleep(sleep_end_ns());
        has_slept_ = true;
    }
    return step == node::Step::kDone;
}

inline void Team::call_done() {
    if (watches_others_) {
        watches_others_ = false;
        context_->multicast_desk().watch_all_for_others(false);
    }
    if (++calls_since_progress_ < kCallsPerProgress) return;
    calls_since_progress_ = 0;
    context_->progress();
}

tutti_status Team::run(const tutti_call& call) {
    const tutti_status described = describe(call, run_);
    if (described != TUTTI_OK) return described;
    if (is_complex_ || link_.is_listed.load(std::memory_order_acquire)) return run_slowly(call);
    if (broken_ != TUTTI_OK || rejections_.is_open()) return run_slowly(call);
    if (run_.op.call.is_empty_for_all()) {
        node::pass(node_, run_.op.call);
        return TUTTI_OK;
    }
    node::start(node_, run_.op);
    Waiter waiter(policy_, context_->clock());
    tutti_status status = TUTTI_OK;
    while (true) {
        const node::Step step = node::step(node_, run_.op);
        if (step == node::Step::kDone) break;
        if (step == node::Step::kAdvanced) {
            waiter.reset();
        } else if (wait_turn(waiter, run_.op)) {
            status = broken_;
            break;
        }
    }
    if (policy_.sleeps) ring_done(run_.op);
    call_done();
    return status;
}

// The call is well formed.
tutti_status Team::run_slowly(const tutti_call& call) {
    Team& track = take_track();
    if (&track != this) static_cast<void>(track.describe(call, track.run_));
    return track.run_prepared();
}

tutti_status Team::run_prepared() {
    tutti_status status = TUTTI_OK;
    {
        const HeldTeam held(*this);
        start_here(run_);
        status = wait_for(run_);
    }
    return ended(status);
}

tutti_status Team::check_foreign(const char* label) {
    if (!checks_) return TUTTI_OK;
    Team& track = take_track();
    CallCard& card = track.run_.card;
    card = CallCard{};
    card.collective = TUTTI_COLLECTIVE_COUNT;
    std::strncpy(card.label, label, sizeof(card.label) - 1);
    return track.run_prepared();
}

Team& Team::take_track() {
    if (!tracks_) return *this;
    Team& track = tracks_->next();
    tracks_->pass();
    return track;
}

// Of a call of this track, or of a look at it; nothing is held.
tutti_status Team::ended(tutti_status status) {
    if (tracks_ && status != TUTTI_OK && status != TUTTI_PENDING) tracks_->fail(*this);
    return status;
}

void Team::give_up_all(const char* why) {
    if (tracks_) return tracks_->give_up(TUTTI_ERR_MEMORY, why);
    const HeldTeam held(*this);
    give_up(TUTTI_ERR_MEMORY, why);
}

void Team::start(Request& request) {
    Team& track = request.team->take_track();
    request.track = &track;
    {
        const HeldTeam held(track);
        track.start_here(request);
        if (!track.is_idle()) track.context_->active().enter(track);
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
            track.context_->progress();
            track.move_others_on();
            track.look_around();
        }
        if (request.stage != Request::Stage::kIdle) return TUTTI_PENDING;
    }
    return track.ended(request.status);
}

void Team::move_on() {
    bool has_moved = false;
    for (uint32_t steps = 0; steps < kStepsAtOnce && advance(); ++steps) has_moved = true;
    // As before a sleep: others of the node may sleep for what was done.
    if (has_moved && policy_.sleeps) node_.slice.header().bell.ring();
}

bool Team::is_over(const Request& request) {
    if (!request.track) return true;
    const HeldTeam held(*request.track);
    return request.stage == Request::Stage::kIdle;
}

uint64_t Team::sleep_end_ns() {
    return context_->clock().now_ns() + (has_company() ? kSleepWithCompanyNs : Waiter::kSleepNsMax);
}

const char* Team::message() {
    Team& track = tracks_ ? tracks_->failed() : *this;
    const HeldTeam held(track);
    return track.message_.c_str();
}

void Team::start_here(Request& request) {
    TUTTI_ASSERT(request.stage == Request::Stage::kIdle, "a request is started once at a time");
    request.stage = Request::Stage::kQueued;
    request.status = TUTTI_PENDING;
    request.next = nullptr;
    if (tail_) {
        tail_->next = &request;
        tail_ = &request;
        return;
    }
    head_ = tail_ = &request;
    begin(request);
}

void Team::begin(Request& request) {
    if (broken_ != TUTTI_OK && network_) network_->tell_on();
    if (broken_ != TUTTI_OK) return finish(request, broken_);
    if (rejections_.is_open()) return begin_agreement(request);
    begin_agreed(request);
}

void Team::begin_agreed(Request& request) {
    if (!checks_) return begin_main(request);
    request.stage = Request::Stage::kChecking;
    begin_exchange(request);
}

void Team::begin_exchange(Request& request) {
    if (network_) return begin_cards(request);
    node::Call exchange;
    exchange.collective = TUTTI_ALLGATHER;
    exchange.bytes = sizeof(CallCard);
    exchange.send = reinterpret_cast<const std::byte*>(&request.card);
    exchange.recv = reinterpret_cast<std::byte*>(cards_.data());
    node::start(node_, exchange_, exchange);
}

void Team::begin_main(Request& request) {
    request.stage = Request::Stage::kRunning;
    const bool is_foreign = checks_ && request.card.label[0] != '\0';
    if (is_foreign) return finish(request, TUTTI_OK);
    if (network_) {
        if (!request.op.call.is_empty()) return begin_plan(request);
        network_->pass(request.op.call);
        return finish(request, TUTTI_OK);
    }
    if (request.op.call.is_empty_for_all()) {
        node::pass(node_, request.op.call);
        return finish(request, TUTTI_OK);
    }
    node::start(node_, request.op);
}

// Whether the card of `rank` goes with all others, as each member finds alike: equal to the root's,
// or of a gather that sends less than its root has room for, or of a scatter that sends less than
// its receivers have.
bool Team::is_tolerable(uint32_t rank) const {
    const CallCard& card = cards_[rank];
    const CallCard& root = cards_[cards_[0].root < size_ ? cards_[0].root : 0];
    if (card == root) return true;
    CallCard same = card;
    same.bytes = root.bytes;
    if (!node_.tolerates || network_ || !(same == root)) return false;
    if (card.collective == TUTTI_GATHER) return card.bytes < root.bytes;
    return card.collective == TUTTI_SCATTER && card.bytes > root.bytes;
}

void Team::compare_cards(Request& request) {
    const uint64_t number = network_ ? network_->call() : exchange_.number;
    for (uint32_t rank = 0; rank < cards_.size(); ++rank) {
        if (is_tolerable(rank)) continue;
        message_ = mismatch_message(name_, number, cards_);
        return finish(request, TUTTI_ERR_MISMATCH);
    }
    begin_main(request);
}

void Team::finish(Request& request, tutti_status status) {
    // Of a call that fails for good, some of what the others sent may still be on its way.
    if (broken_ != TUTTI_OK && network_) network_->cancel();
    request.status = status;
    request.stage = Request::Stage::kIdle;
    head_ = request.next;
    if (!head_) {
        tail_ = nullptr;
    } else {
        begin(*head_);
    }
}

node::Op& Team::front_op() {
    return head_->stage == Request::Stage::kChecking ? exchange_ : head_->op;
}

// The call in front is done: on to what follows it.
void Team::finish_front() {
    const bool is_checking = head_->stage == Request::Stage::kChecking;
    if (is_checking && broken_ != TUTTI_OK) return finish(*head_, broken_);
    if (policy_.sleeps && !network_) ring_done(front_op());
    if (is_checking) {
        compare_cards(*head_);
    } else {
        finish(*head_, TUTTI_OK);
    }
}

bool Team::advance() {
    if (!head_) return false;
    if (head_->stage == Request::Stage::kAgreeing) return advance_agreement();
    if (network_) return advance_network();
    const node::Step step = node::step(node_, front_op());
    if (step == node::Step::kDone) finish_front();
    return step != node::Step::kBlocked;
}

tutti_status Team::wait_for(Request& request) {
    Waiter waiter(policy_, context_->clock(), progressed_ns_);
    while (request.stage != Request::Stage::kIdle) {
        if (advance()) {
            waiter.reset();
        } else if (head_->stage == Request::Stage::kAgreeing) {
            wait_agreement_turn(waiter);
        } else if (network_) {
            wait_network_turn(waiter);
        } else if (wait_turn(waiter, front_op())) {
            broken_ == TUTTI_OK ? finish_front() : finish(*head_, broken_);
        }
    }
    call_done();
    return request.status;
}

void Team::report_stall(const node::Op& op, uint64_t waited_ns) {
    const Stall stall{name_, rank_, waited_ns, op.call.collective, op.number};
    context_->log(TUTTI_LOG_WARN, stall_message(stall, node::not_arrived(node_, op)));
}

}  // namespace tutti::engine
