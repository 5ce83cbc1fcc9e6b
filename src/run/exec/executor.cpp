// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/executor.h"

#include <algorithm>
#include <bit>

#include "run/exec/state.h"

namespace tutti::exec {
namespace {

using sched::OperationKind;
static_assert(sched::kLanesInFlightMax == transport::kRecoverySlot);
static_assert(sched::kBlockBytesMax == transport::kMessageBytesMax);

// Local work (copies, folds) of one step: 10 to 100 us, so that a waiting neighbour's message or
// the node's next chunk does not lie about for long.
constexpr size_t kStepBytes = 256 * 1024;

}  // namespace

// ---- the life of a call ------------------------------------------------------------------------

Result<Done> Executor::State::reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max) {
    // After a failure the network may still write where it was told to: nothing is moved then.
    if (call.has_failed) return Error{ErrorCode::kSystem, call.error};
    TUTTI_ASSERT(call.slots.is_over(), "memory is not moved under a call");
    const uint64_t lanes = LaneSlots::lanes_in_flight(wanted);
    auto reserved = call.buffers.reserve(lanes, wanted.scratch_bytes, scratch_bytes_max);
    if (!reserved) return reserved;
    call.slots.reserve(wanted);
    meetings.reserve(lanes);
    bundles.reserve(wanted.bundled_ranks, wanted.bundled_nodes);
    const size_t operations = call.slots.operations_max();
    messages.reserve(operations);
    work.reserve(operations);
    node.reserve(operations);
    multicasts.reserve(operations);
    return reserved;
}

void Executor::State::start(const sched::Program& program, const Arguments& arguments) {
    const sched::Extent extent = program.extent();
    call.slots.start(program);
    call.buffers.start(arguments, call.slots.lanes_in_flight(), extent.scratch_bytes);
    messages.clear();
    work.start();
    node.start(program);
    bundles.start(program);
    multicasts.start(extent.multicasts);
    for (uint32_t i = 0; i < call.slots.lanes_in_flight(); ++i) {
        const auto slot = static_cast<uint8_t>(i);
        call.slots.begin_lane(slot);
        advance(slot);
    }
}

void Executor::State::end() {
    TUTTI_ASSERT(messages.is_empty(), "a message belongs to a lane that is over");
    TUTTI_ASSERT(work.is_empty(), "local work belongs to a lane that is over");
    TUTTI_ASSERT(!node.is_busy(), "the node's operation belongs to a lane that is over");
    TUTTI_ASSERT(!bundles.is_under_way(), "and so do bundles");
    call.buffers.conceal_arguments();
    meetings.end_call();
}

transport::State Executor::State::withdraw() {
    TUTTI_ASSERT(!bundles.is_under_way(), "calls with bundles are not withdrawn");
    const transport::State set = messages.withdraw();
    if (set != transport::State::kDone) return set;
    node.retract();
    call.slots.end();
    call.has_failed = false;
    call.buffers.conceal_arguments();
    call.network.clear_disagreement();
    return set;
}

void Executor::State::cancel() {
    for (const Ref ref : messages) {
        if (!sched::is_meet(kind_of(ref))) {
            call.network.cancel(call.slots.ticket_of(ref));
        } else if (feeds.is_fed(ref)) {
            feeds.cancel(ref);
        } else {
            meetings.cancel(ref);
        }
    }
    meetings.call_off();
    multicasts.call_off();
    bundles.cancel();
    messages.clear();
    call.buffers.conceal_arguments();
    call.buffers.conceal_scratch();
    call.fail("cancelled");
}

std::vector<sched::Rank> Executor::State::waits_for() const {
    std::vector<sched::Rank> ranks;
    for (const Ref ref : messages) {
        if (!sched::is_meet(kind_of(ref))) {
            ranks.push_back(call.slots.operation_of(ref).peer);
        } else if (feeds.is_fed(ref)) {
            feeds.add_waits(ref, ranks);
        } else {
            meetings.add_waits(ref, ranks);
        }
    }
    multicasts.add_waits(ranks);
    bundles.add_waits(ranks);
    meetings.add_releaser(ranks);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

// ---- lanes and rounds --------------------------------------------------------------------------

// Begins whatever may begin in a slot, round after round and lane after lane.
void Executor::State::advance(uint8_t index) {
    Slot& slot = call.slots[index];
    while (true) {
        begin_all({index, slot.older(), 0}, slot.take_older());
        const Window& older = slot.windows[slot.older()];
        if (!older.is_over()) break;
        meetings.end_round(index, older.round);
        if (call.slots.go_on(index)) continue;
        if (call.slots.is_over()) multicasts.check_end();
        return;
    }
    begin_all({index, slot.newer(), 0}, slot.take_newer());
}

// Operations of a round, of which one is given.
void Executor::State::begin_all(Ref any, uint64_t operations) {
    for (uint64_t rest = operations; rest != 0; rest &= rest - 1) {
        begin(any.with(static_cast<uint32_t>(std::countr_zero(rest))));
    }
}

// What is done at once, the caller looks at next.
void Executor::State::begin(Ref ref) {
    const OperationKind kind = kind_of(ref);
    if (call.slots.operation_of(ref).is_bundled) {
        bundles.add(ref);
        call.slots.set_done(ref);
    } else if (kind == OperationKind::kNodeBundles) {
        bundles.begin(ref);
    } else if (is_stray(ref)) {
        bundles.take_stray(ref);
        call.slots.set_done(ref);
    } else if (sched::is_message(kind)) {
        if (messages.post(ref) && take(ref)) call.slots.set_done(ref);
    } else if (sched::is_multicast(kind)) {
        multicasts.begin(ref);
    } else if (kind == OperationKind::kMeetWith) {
        messages.add(ref);
        if (feeds.is_fed(ref)) return feeds.begin_neighbour(ref);
        meetings.begin_neighbour(ref);
    } else if (kind == OperationKind::kFeed) {
        if (feeds.begin(ref)) messages.add(ref);
    } else if (sched::is_meet(kind)) {
        meetings.begin(ref);
    } else if (sched::is_node(kind)) {
        node.begin(ref);
    } else {
        work.begin(ref);
    }
}

void Executor::State::complete(Ref ref) {
    call.slots.set_done(ref);
    advance(ref.slot);
}

// ---- messages ----------------------------------------------------------------------------------

// A message is complete. True if its operation is.
bool Executor::State::take(Ref ref) {
    call.is_untouched = false;
    if (kind_of(ref) != OperationKind::kRecvReduce) return true;
    work.begin(ref);
    return false;
}

// Of any operation among the messages.
transport::State Executor::State::test_message(Ref ref) {
    const OperationKind kind = kind_of(ref);
    if (kind == OperationKind::kFeed) return feeds.test(ref);
    if (kind == OperationKind::kMeetWith) return test_neighbour(ref);
    return call.network.test(call.slots.ticket_of(ref));
}

// Done when each of the two has had the other's message. What all do together may be done by that
// of the neighbour: then what waits for it begins before anything else is looked at.
transport::State Executor::State::test_neighbour(Ref with) {
    const Window& window = call.slots.window_of(with);
    const uint64_t done_before = window.done;
    const bool is_fed = feeds.is_fed(with);
    const transport::State heard = is_fed ? feeds.hear(with) : meetings.hear(with);
    if (window.done != done_before) advance(with.slot);
    if (call.has_failed) return transport::State::kFailed;
    if (heard != transport::State::kDone) return heard;
    return is_fed ? feeds.test_sent(with) : meetings.test_told(with);
}

// Looks at as many messages as were under way, so that a step ends even if each one that arrives
// begins another.
bool Executor::State::step_messages() {
    bool has_moved = false;
    call.has_progressed = false;
    if (!messages.is_empty()) call.network.poll();
    size_t i = 0;
    for (size_t left = messages.size(); left > 0; --left) {
        const Ref ref = messages[i];
        // What comes now for a stray receive is of another call.
        const transport::State state =
            is_stray(ref) ? transport::State::kPending : test_message(ref);
        if (state == transport::State::kPending) {
            ++i;
            continue;
        }
        if (state == transport::State::kFailed) {
            call.fail(call.network.error());
            return true;
        }
        has_moved = true;
        messages.remove(i);
        if (take(ref)) complete(ref);
    }
    return has_moved || call.has_progressed;
}

// ---- multicasts --------------------------------------------------------------------------------

// Posts no more than may be under way at a time, so that a step ends even if each is complete at
// once and lets another begin.
bool Executor::State::post_multicasts() {
    bool has_moved = false;
    for (uint32_t left = sched::kMulticastsInFlightMax; left > 0; --left) {
        const auto ref = multicasts.in_turn();
        if (!ref) break;
        if (sched::is_meet(kind_of(*ref))) {
            if (!meetings.step_release(*ref)) break;
            multicasts.finish_meeting();
            if (meetings.is_over(*ref)) complete(*ref);
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
        if (call.has_failed) return true;
    }
    return has_moved;
}

// Those that have come make room for others.
bool Executor::State::step_multicasts() {
    if (!multicasts.has_any()) return false;
    const bool has_posted = post_multicasts();
    const bool has_moved = test_multicasts();
    if (has_moved && !call.has_failed) post_multicasts();
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
        if (step == Step::kFailed) call.fail("a block takes too many rounds in the node's memory");
        if (step != Step::kDone) return true;
        complete(node.last());
    }
}

bool Executor::State::step_bundles() {
    const bool is_under_way = bundles.is_under_way();
    bool has_moved = is_under_way && bundles.step();
    if (call.has_failed) return true;
    if (bundles.has_strays()) has_moved |= settle_strays();
    if (is_under_way && !bundles.is_under_way()) complete(bundles.last());
    return has_moved;
}

// A receive whose message has come in a bundle.
bool Executor::State::is_stray(Ref ref) const {
    const sched::Operation& operation = call.slots.operation_of(ref);
    return bundles.has_strays() && sched::is_recv(operation) && bundles.is_stray(operation.peer);
}

// Such receives are given back, a block's pieces in their order. True where one was.
bool Executor::State::settle_strays() {
    bool has_moved = false;
    while (const auto found = find_stray()) {
        const Ref ref = messages[*found];
        const sched::Operation& operation = call.slots.operation_of(ref);
        const transport::State given_back = call.network.withdraw_receive(
            operation.peer, call.id_of(ref), call.at(ref, operation.to), operation.to.bytes,
            call.slots.ticket_of(ref));
        if (given_back == transport::State::kPending) return has_moved;
        has_moved = true;
        if (given_back == transport::State::kFailed) {
            call.fail("rank " + std::to_string(operation.peer) +
                      " sent less than there is room for, and its receive cannot be given back");
            return true;
        }
        messages.remove(*found);
        bundles.take_stray(ref);
        complete(ref);
    }
    return has_moved;
}

std::optional<size_t> Executor::State::find_stray() const {
    std::optional<size_t> found;
    const auto message = [&](size_t i) { return call.slots.operation_of(messages[i]).message; };
    for (size_t i = 0; i < messages.size(); ++i) {
        if (is_stray(messages[i]) && (!found || message(i) < message(*found))) found = i;
    }
    return found;
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
void Executor::set_clock(Clock& clock) { state_->call.clock = &clock; }

Result<Done> Executor::reserve(const sched::Extent& extent, uint64_t scratch_bytes_max) {
    return state_->reserve(extent, scratch_bytes_max);
}

void Executor::start(const sched::Program& program, uint32_t call, const Arguments& arguments,
                     const transport::CallWord& word) {
    if (state_->call.has_failed) return;
    state_->call.start(call, word, arguments.has_private_lengths);
    state_->start(program, arguments);
}

Step Executor::step() {
    State& state = *state_;
    const CallContext& call = state.call;
    if (call.has_failed) return Step::kFailed;
    // Some MPIs give the processor away with each test that finds nothing.
    const bool seeks_only = state.meetings.seeks_only();
    bool has_moved = seeks_only && state.step_multicasts();
    if (!call.has_failed) has_moved |= state.step_messages();
    if (!call.has_failed && !seeks_only) has_moved |= state.step_multicasts();
    if (call.has_failed) return Step::kFailed;
    has_moved |= state.step_node();
    has_moved |= state.step_bundles();
    has_moved |= state.step_work();
    if (call.slots.is_over()) {
        state.end();
        return Step::kDone;
    }
    return has_moved ? Step::kAdvanced : Step::kBlocked;
}

transport::State Executor::withdraw() { return state_->withdraw(); }
bool Executor::is_untouched() const { return state_->call.is_untouched; }
void Executor::cancel() { state_->cancel(); }

std::vector<sched::Rank> Executor::waits_for() const { return state_->waits_for(); }

bool Executor::waits_for_multicasts() const {
    const State& state = *state_;
    if (state.node.is_busy() || !state.work.is_empty()) return false;
    return (state.multicasts.has_posted() && state.messages.is_empty()) ||
           state.meetings.seeks_only();
}

bool Executor::waits_for_node() const {
    const State& state = *state_;
    const bool has_operation = state.node.is_busy() || state.node.has_call();
    const bool has_messages = !state.messages.is_empty() || state.bundles.has_messages();
    const bool has_one =
        (has_operation && !has_messages) || state.meetings.waits_for_node(state.messages);
    return has_one && state.work.is_empty() && !state.multicasts.has_posted();
}

bool Executor::waits_for_messages(bool or_multicasts) const {
    const State& state = *state_;
    const bool is_on_node =
        state.node.is_busy() || state.node.has_call() || state.node.has_letters();
    const bool has_messages = !state.messages.is_empty() || state.bundles.has_messages();
    return has_messages && !is_on_node && state.work.is_empty() &&
           (or_multicasts || state.multicasts.has_ended());
}

node::Op* Executor::node_op() { return state_->node.under_way(); }
const node::Op* Executor::node_op() const { return state_->node.under_way(); }

const Work& Executor::work() const { return state_->call.totals; }
bool Executor::has_miscounted() const { return state_->call.has_miscounted; }
bool Executor::has_misfit() const { return state_->call.has_misfit; }
const std::string& Executor::error() const { return state_->call.error; }

}  // namespace tutti::exec
