// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/executor.h"

#include <algorithm>
#include <bit>

#include "run/exec/state.h"

namespace tutti::exec {
namespace {

using sched::Operation;
using sched::OperationKind;
static_assert(sched::kLanesInFlightMax == transport::kRecoverySlot);
static_assert(sched::kBlockBytesMax == transport::kMessageBytesMax);

// Local work (copies, folds) of one step: 10 to 100 us, so that a waiting neighbour's message or
// the node's next chunk does not lie about for long.
constexpr size_t kStepBytes = 256 * 1024;

}  // namespace

Result<Done> Executor::State::reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max) {
    // After a failure the network may still write where it was told to: nothing is moved then.
    if (context.has_failed) return Error{ErrorCode::kSystem, context.error};
    TUTTI_ASSERT(context.slots.is_over(), "memory is not moved under a call");
    auto reserved = context.buffers.reserve(LaneSlots::lanes_in_flight(wanted),
                                            wanted.scratch_bytes, scratch_bytes_max);
    if (!reserved) return reserved;
    context.slots.reserve(wanted);
    const size_t operations = context.slots.operations_max();
    messages.reserve(operations);
    work.reserve(operations);
    node.reserve(operations);
    multicasts.reserve(operations);
    return reserved;
}

// ---- lanes and rounds --------------------------------------------------------------------------

void Executor::State::start_lanes() {
    messages.clear();
    work.start();
    node.start();
    for (uint32_t i = 0; i < context.slots.lanes_in_flight(); ++i) {
        const auto slot = static_cast<uint8_t>(i);
        context.slots.begin_lane(slot);
        advance(slot);
    }
}

// Begins whatever may begin in a slot, round after round and lane after lane.
void Executor::State::advance(uint8_t slot) {
    while (true) {
        begin_all(context.slots.take_older(slot));
        const Window& older = context.slots.older(slot);
        if (!older.is_over()) break;
        end_letters(context.slots.slot(slot), older.round);
        if (context.slots.go_on(slot)) continue;
        if (context.slots.is_over()) multicasts.check_end();
        return;
    }
    begin_all(context.slots.take_newer(slot));
}

void Executor::State::begin_all(const LaneSlots::Beginning& beginning) {
    for (uint64_t rest = beginning.operations; rest != 0; rest &= rest - 1) {
        begin(beginning.any.with(static_cast<uint32_t>(std::countr_zero(rest))));
    }
}

void Executor::State::begin(Ref ref) {
    const OperationKind kind = operation_of(ref).kind;
    if (sched::is_message(kind)) {
        // The caller, advance(), looks at it next.
        if (messages.post(ref) && take(ref)) set_done(ref);
        return;
    }
    if (sched::is_multicast(kind)) return multicasts.begin(ref);
    if (kind == OperationKind::kMeetWith) {
        messages.add(ref);
        return feeds.is_fed(ref) ? feeds.begin_neighbour(ref) : post_neighbour(ref);
    }
    if (kind == OperationKind::kFeed) {
        if (feeds.begin(ref)) messages.add(ref);
        return;
    }
    if (sched::is_meet(kind)) return begin_meet(ref);
    if (sched::is_node(kind)) return node.begin(ref);
    work.begin(ref);
}

void Executor::State::set_done(Ref ref) { context.slots.set_done(ref); }

void Executor::State::complete(Ref ref) {
    set_done(ref);
    advance(ref.slot);
}

// ---- messages ----------------------------------------------------------------------------------

transport::MessageId Executor::State::id_of(Ref ref) const {
    const bool is_neighbour = operation_of(ref).kind == OperationKind::kMeetWith;
    const Meet& meet = context.slots.slot_of(ref).meet;
    return context.id_of(ref, is_neighbour && meet.is_by_multicast ? meet.slot : ref.slot);
}

// A message is complete. True if its operation is.
bool Executor::State::take(Ref ref) {
    context.is_untouched = false;
    if (operation_of(ref).kind != OperationKind::kRecvReduce) return true;
    work.begin(ref);
    return false;
}

// Of any operation among the messages.
transport::State Executor::State::test_message(Ref ref) {
    const OperationKind kind = operation_of(ref).kind;
    if (kind == OperationKind::kFeed) return feeds.test(ref);
    if (kind == OperationKind::kMeetWith) return test_neighbour(ref);
    return context.network.test(context.slots.ticket_of(ref));
}

// Done when each of the two has had the other's message. What all do together may be done by that
// of the neighbour: then what waits for it begins before anything else is looked at.
transport::State Executor::State::test_neighbour(Ref ref) {
    const uint64_t& done = context.slots.window_of(ref).done;
    const uint64_t before = done;
    const bool is_fed = feeds.is_fed(ref);
    const transport::State heard = is_fed ? feeds.hear(ref) : hear_neighbour(ref);
    if (done != before) advance(ref.slot);
    if (context.has_failed) return transport::State::kFailed;
    if (heard != transport::State::kDone) return heard;
    return is_fed ? feeds.test_sent(ref) : test_told(ref);
}

// Looks at as many messages as were under way, so that a step ends even if each one that arrives
// begins another.
bool Executor::State::poll_messages() {
    bool has_moved = false;
    context.has_stirred = false;
    if (!messages.is_empty()) context.network.poll();
    size_t i = 0;
    for (size_t left = messages.size(); left > 0; --left) {
        const Ref ref = messages[i];
        const transport::State state = test_message(ref);
        if (state == transport::State::kPending) {
            ++i;
            continue;
        }
        if (state == transport::State::kFailed) {
            context.fail(context.network.error());
            return true;
        }
        has_moved = true;
        messages.remove(i);
        if (take(ref)) complete(ref);
    }
    return has_moved || context.has_stirred;
}

// ---- multicasts --------------------------------------------------------------------------------

// Posts no more than may be under way at a time, so that a step ends even if each is complete at
// once and lets another begin.
bool Executor::State::post_multicasts() {
    bool has_moved = false;
    for (uint32_t left = sched::kMulticastsInFlightMax; left > 0; --left) {
        const auto ref = multicasts.in_turn();
        if (!ref) break;
        if (sched::is_meet(operation_of(*ref).kind)) {
            if (!step_release(*ref)) break;
            multicasts.finish_meeting();
            // Else the release comes along the tree.
            if (slot_of(*ref).meet.release == Meet::Release::kOver) complete(*ref);
        } else if (multicasts.post()) {
            complete(*ref);
        }
        has_moved = true;
    }
    return has_moved;
}

bool Executor::State::test_multicasts() {
    bool has_moved = false;
    const uint64_t end = multicasts.end();
    for (uint64_t number = multicasts.first(); number < end; ++number) {
        const auto ref = multicasts.test(number);
        if (ref) complete(*ref);
        has_moved |= ref.has_value();
        if (context.has_failed) return true;
    }
    return has_moved;
}

// Those that have come make room for others.
bool Executor::State::step_multicasts() {
    const bool has_posted = post_multicasts();
    const bool has_moved = test_multicasts();
    if (has_moved && !context.has_failed) post_multicasts();
    return has_posted || has_moved;
}

// ---- the node and local work -------------------------------------------------------------------

bool Executor::State::step_node() {
    bool has_moved = false;
    while (true) {
        while (const auto empty = node.start_next()) complete(*empty);
        if (!node.is_busy()) return has_moved;
        const Step step = node.step();
        if (step == Step::kBlocked) return has_moved;
        has_moved = true;
        if (step == Step::kAdvanced) return true;
        complete(node.last());
    }
}

bool Executor::State::step_work() {
    if (work.is_empty()) return false;
    uint64_t bytes_left = kStepBytes;
    while (const auto ref = work.step(bytes_left)) complete(*ref);
    return true;
}

// ---- Executor ----------------------------------------------------------------------------------

Executor::Executor(node::Team* node, transport::Transport& network, transport::Multicast* route)
    : state_(std::make_unique<State>(node, network, route)) {}
Executor::~Executor() = default;

void Executor::set_route(transport::Multicast* route) { state_->multicasts.set_route(route); }

void Executor::set_clock(Clock& clock) { state_->context.clock = &clock; }

Result<Done> Executor::reserve(const sched::Extent& extent, uint64_t scratch_bytes_max) {
    return state_->reserve(extent, scratch_bytes_max);
}

void Executor::start(const sched::Program& program, uint32_t call, const Arguments& arguments,
                     const transport::CallWord& word) {
    State& state = *state_;
    CallContext& context = state.context;
    if (context.has_failed) return;
    const sched::Extent extent = program.extent();
    context.start(call, word);
    context.slots.start(program);
    context.buffers.start(arguments, context.slots.lanes_in_flight(), extent.scratch_bytes);
    state.multicasts.start(extent.multicasts);
    state.start_lanes();
}

Step Executor::step() {
    State& state = *state_;
    if (state.context.has_failed) return Step::kFailed;
    // Some MPIs give the processor away with each test that finds nothing.
    const bool seeks_only = state.seeks_only();
    bool has_moved = seeks_only && state.step_multicasts();
    if (!state.context.has_failed) has_moved |= state.poll_messages();
    if (!state.context.has_failed && !seeks_only) has_moved |= state.step_multicasts();
    if (state.context.has_failed) return Step::kFailed;
    has_moved |= state.step_node();
    has_moved |= state.step_work();
    if (state.context.slots.is_over()) {
        state.context.buffers.conceal_arguments();
        if (state.context.clock) state.left_ns = state.context.clock->now_ns();
        return Step::kDone;
    }
    return has_moved ? Step::kAdvanced : Step::kBlocked;
}

transport::State Executor::State::withdraw() {
    const transport::State set = messages.withdraw();
    if (set != transport::State::kDone) return set;
    node.retract();
    context.slots.end();
    context.has_failed = false;
    context.buffers.conceal_arguments();
    context.network.clear_disagreement();
    return set;
}

transport::State Executor::withdraw() { return state_->withdraw(); }
bool Executor::is_untouched() const { return state_->context.is_untouched; }

void Executor::cancel() {
    State& state = *state_;
    for (const Ref ref : state.messages) {
        const OperationKind kind = state.operation_of(ref).kind;
        if (sched::is_meet(kind) && state.feeds.is_fed(ref)) state.feeds.cancel_pieces(ref);
        const bool is_posted =
            kind != OperationKind::kFeed && !state.is_near(ref) && !state.calls_roll(ref);
        if (is_posted) state.context.network.cancel(state.task_of(ref).ticket);
    }
    state.call_off_roll();
    state.multicasts.call_off();
    state.messages.clear();
    state.context.buffers.conceal_arguments();
    state.context.buffers.conceal_scratch();
    state.context.fail("cancelled");
}

std::vector<sched::Rank> Executor::waits_for() const {
    State& state = *state_;
    std::vector<sched::Rank> ranks;
    for (const Ref ref : state.messages) {
        if (sched::is_meet(state.operation_of(ref).kind) && state.feeds.is_fed(ref)) {
            state.feeds.add_waits(ref, ranks);
        } else if (state.calls_roll(ref)) {
            state.add_missing(state.slot_of(ref).meet, ranks);
        } else if (!state.has_unanswered(ref)) {
            ranks.push_back(state.operation_of(ref).peer);
        }
    }
    state.multicasts.add_waits(ranks);
    if (const auto releaser = state.releaser()) ranks.push_back(*releaser);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

bool Executor::waits_for_multicasts() const {
    State& state = *state_;
    if (state.node.is_busy() || !state.work.is_empty()) return false;
    return (state.multicasts.has_posted() && state.messages.is_empty()) || state.seeks_only();
}

bool Executor::waits_for_node() const {
    State& state = *state_;
    const bool has_one =
        (state.node.is_busy() && state.messages.is_empty()) || state.waits_for_letters();
    return has_one && state.work.is_empty() && !state.multicasts.has_posted();
}

bool Executor::waits_for_messages(bool or_multicasts) const {
    const State& state = *state_;
    const bool is_on_node = state.node.is_busy() || state.node.has_letters();
    return !state.messages.is_empty() && !is_on_node && state.work.is_empty() &&
           (or_multicasts || state.multicasts.has_ended());
}

node::Op* Executor::node_op() { return state_->node.under_way(); }
const node::Op* Executor::node_op() const { return state_->node.under_way(); }

const Work& Executor::work() const { return state_->context.totals; }
bool Executor::has_miscounted() const { return state_->context.has_miscounted; }
const std::string& Executor::error() const { return state_->context.error; }

}  // namespace tutti::exec
