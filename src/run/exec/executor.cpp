// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/executor.h"

#include <algorithm>
#include <bit>

#include "run/exec/state.h"

namespace tutti::exec {
namespace {

using sched::Block;
using sched::kLanesInFlightMax;
using sched::Operation;
using sched::OperationKind;
static_assert(kLanesInFlightMax == transport::kRecoverySlot);
static_assert(sched::kBlockBytesMax == transport::kMessageBytesMax);

// Less than a page is copied by any fabric.
constexpr uint64_t kExposedBytesMin = 4096;

constexpr uint64_t all_of(uint32_t count) {
    return count == sched::kRoundOpsMax ? ~uint64_t{0} : sched::after_op(count) - 1;
}

}  // namespace

// ---- memory ------------------------------------------------------------------------------------

Result<Done> Executor::State::reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max) {
    // After a failure the network may still write where it was told to: nothing is moved then.
    if (has_failed) return Error{ErrorCode::kSystem, error};
    TUTTI_ASSERT(lanes_left == 0, "memory is not moved under a call");
    TUTTI_ASSERT(wanted.lanes_in_flight <= kLanesInFlightMax, "a lane in flight has a slot");
    const uint64_t lanes = std::min<uint64_t>(wanted.lanes_in_flight, wanted.lanes);
    const uint64_t bytes = lanes * aligned(wanted.scratch_bytes);
    if (bytes > scratch_bytes_max) {
        return Error{ErrorCode::kMemory, "a schedule wants " + std::to_string(bytes) +
                                             " bytes of scratch memory, " +
                                             std::to_string(scratch_bytes_max) + " are allowed"};
    }
    if (bytes > scratch_bytes) {
        auto* memory = static_cast<std::byte*>(
            ::operator new[](bytes, std::align_val_t{kScratchAlign}, std::nothrow));
        if (!memory) {
            return Error{ErrorCode::kMemory,
                         "no memory for " + std::to_string(bytes) + " bytes of scratch"};
        }
        conceal_scratch();
        scratch.reset(memory);
        scratch_bytes = bytes;
    }
    // Also where a former try ended here.
    if (scratch && !is_scratch_exposed) {
        network.expose({scratch.get(), scratch_bytes}, transport::Memory::kScratch);
        is_scratch_exposed = true;
    }
    while (slots.size() < lanes) slots.push_back(std::make_unique<Slot>());
    const size_t operations = slots.size() * 2 * sched::kRoundOpsMax;
    messages.reserve(operations);
    work.reserve(operations);
    node_ready.reserve(operations);
    multicasts.ready.reserve(operations);
    if (!user_space) user_space = std::make_unique<std::byte[]>(kUserBytes);
    return Done{};
}

void Executor::State::conceal_scratch() {
    if (is_scratch_exposed) network.conceal({scratch.get(), scratch_bytes});
    is_scratch_exposed = false;
}

// The caller's, for the time of the call alone. An input within the output is exposed with that.
void Executor::State::expose_arguments() {
    if (arguments.output && arguments.output_bytes >= kExposedBytesMin) {
        exposed_output = {arguments.output, arguments.output_bytes};
        network.expose(exposed_output, transport::Memory::kOutput);
    }
    if (!arguments.input || arguments.input_bytes < kExposedBytesMin) return;
    const auto begin = reinterpret_cast<uintptr_t>(arguments.input);
    const auto output = reinterpret_cast<uintptr_t>(exposed_output.data());
    if (begin - output < exposed_output.size()) return;
    // Nobody writes input.
    exposed_input = {const_cast<std::byte*>(arguments.input), arguments.input_bytes};
    network.expose(exposed_input, transport::Memory::kInput);
}

void Executor::State::conceal_arguments() {
    for (std::span<std::byte>* exposed : {&exposed_input, &exposed_output}) {
        if (!exposed->empty()) network.conceal(*exposed);
        *exposed = {};
    }
}

std::byte* Executor::State::at(const Slot& slot, const Block& block) const {
    if (block.bytes == 0) return nullptr;
    switch (block.buffer) {
        case sched::Buffer::kInput:
            // Nobody writes input (check/prove); operations name all blocks alike.
            return const_cast<std::byte*>(arguments.input) + block.offset;
        case sched::Buffer::kOutput:
            return arguments.output + block.offset;
        case sched::Buffer::kScratch:
            TUTTI_ASSERT(block.offset + block.bytes <= extent.scratch_bytes, "within the scratch");
            return slot.scratch + block.offset;
        case sched::Buffer::kNone:
            break;
    }
    return nullptr;
}

// ---- lanes and rounds --------------------------------------------------------------------------

void Executor::State::start_lanes() {
    messages.clear();
    work.clear();
    node_ready.clear();
    node_busy = has_letters = false;
    node_next = 0;
    multicasts.next = multicasts.first = 0;
    multicasts.complete = 0;
    multicasts.ready.clear();
    lanes_left = extent.lanes;
    extent.lanes_in_flight =
        static_cast<uint32_t>(std::min<uint64_t>(extent.lanes_in_flight, extent.lanes));
    const uint64_t stride = aligned(extent.scratch_bytes);
    TUTTI_ASSERT(extent.lanes_in_flight <= slots.size(), "reserved for this extent");
    TUTTI_ASSERT(extent.lanes_in_flight * stride <= scratch_bytes, "reserved for this extent");
    for (uint32_t i = 0; i < extent.lanes_in_flight; ++i) {
        slots[i]->scratch = stride ? scratch.get() + i * stride : nullptr;
        begin_lane(*slots[i], i);
        advance(i);
    }
}

void Executor::State::begin_lane(Slot& slot, uint64_t lane) {
    slot.lane = lane;
    slot.base = 0;
    slot.meet.neighbours = 0;
    load(slot, 0);
    load(slot, 1);
}

void Executor::State::load(Slot& slot, uint64_t round) {
    Window& window = slot.windows[round % 2];
    if (round < extent.rounds) {
        program->read(slot.lane, round, window.round);
    } else {
        window.round.clear();
    }
    window.all = all_of(window.round.size());
    window.begun = 0;
    window.done = 0;
}

// Begins whatever may begin in a slot, round after round and lane after lane.
void Executor::State::advance(uint32_t slot_index) {
    Slot& slot = *slots[slot_index];
    while (true) {
        const auto older_index = static_cast<uint8_t>(slot.base % 2);
        const auto newer_index = static_cast<uint8_t>(1 - older_index);
        const Ref ref{static_cast<uint8_t>(slot_index), older_index, 0};
        Window& older = slot.windows[older_index];
        for (uint64_t rest = older.all & ~older.begun; rest != 0; rest &= rest - 1) {
            begin({ref.slot, older_index, static_cast<uint8_t>(std::countr_zero(rest))});
        }
        if (older.done == older.all) {
            end_letters(slot, older.round);
            ++slot.base;
            if (slot.base < extent.rounds) {
                load(slot, slot.base + 1);
                continue;
            }
            --lanes_left;
            const uint64_t next = slot.lane + extent.lanes_in_flight;
            if (next >= extent.lanes) return check_end();
            begin_lane(slot, next);
            continue;
        }
        Window& newer = slot.windows[newer_index];
        const uint64_t missing = older.all & ~older.done;
        for (uint64_t rest = newer.all & ~newer.begun; rest != 0; rest &= rest - 1) {
            const auto i = static_cast<uint8_t>(std::countr_zero(rest));
            if ((newer.round[i].after & missing) == 0) begin({ref.slot, newer_index, i});
        }
        return;
    }
}

// The next call's numbers follow on those that this one was said to have.
void Executor::State::check_end() const {
    TUTTI_ASSERT(lanes_left > 0 || multicasts.next == extent.multicasts,
                 "a program has as many multicasts as its extent says");
}

void Executor::State::begin(Ref ref) {
    window_of(ref).begun |= sched::after_op(ref.index);
    const OperationKind kind = operation_of(ref).kind;
    if (sched::is_message(kind)) return post(ref);
    if (sched::is_multicast(kind)) return queue_multicast(ref);
    if (kind == OperationKind::kMeetWith) return post_neighbour(ref);
    if (kind == OperationKind::kFeed) return begin_feed(ref);
    if (sched::is_meet(kind)) return begin_meet(ref);
    if (sched::is_node(kind)) {
        node_ready.push_back(ref);
        return;
    }
    task_of(ref).worked_bytes = 0;
    work.push(ref);
}

void Executor::State::set_done(Ref ref) { window_of(ref).done |= sched::after_op(ref.index); }

void Executor::State::complete(Ref ref) {
    set_done(ref);
    advance(ref.slot);
}

// ---- messages ----------------------------------------------------------------------------------

transport::MessageId Executor::State::id_of(const Slot& slot, Ref ref) {
    const Operation& operation = operation_of(ref);
    const bool meets = operation.kind == OperationKind::kMeetWith && slot.meet.is_by_multicast;
    return {call,
            static_cast<uint32_t>(slot.lane),
            meets ? slot.meet.slot : ref.slot,
            operation.message,
            word,
            operation.is_counted};
}

// Of a receive.
const Block& Executor::State::target_of(const Operation& operation) {
    const bool is_left = operation.incoming == sched::Incoming::kLeft;
    if (operation.kind == OperationKind::kRecv) return operation.to;
    return is_left ? operation.left : operation.right;
}

void Executor::State::post(Ref ref) {
    const Slot& slot = slot_of(ref);
    const Operation& operation = operation_of(ref);
    Task& task = task_of(ref);
    task.worked_bytes = 0;
    const transport::MessageId id = id_of(slot, ref);
    if (operation.kind == OperationKind::kSend) {
        network.send(operation.peer, id, at(slot, operation.left), operation.left.bytes,
                     task.ticket);
    } else {
        const Block& block = target_of(operation);
        network.recv(operation.peer, id, at(slot, block), block.bytes, task.ticket);
    }
    if (task.ticket.state != transport::State::kDone) {
        messages.push_back(ref);
        return;
    }
    is_untouched = false;
    if (operation.kind == OperationKind::kRecvReduce) {
        work.push(ref);
    } else {
        set_done(ref);  // The caller, advance(), looks at it next.
    }
}

void Executor::State::arrived(Ref ref) {
    is_untouched = false;
    if (operation_of(ref).kind == OperationKind::kRecvReduce) {
        work.push(ref);
    } else {
        complete(ref);
    }
}

// Of any operation among the messages.
transport::State Executor::State::test_message(Ref ref) {
    const OperationKind kind = operation_of(ref).kind;
    if (kind == OperationKind::kFeed) return test_feed(ref);
    if (kind != OperationKind::kMeetWith) return network.test(task_of(ref).ticket);
    return feeds(ref) ? test_fed(ref) : test_neighbour(ref);
}

// Looks at as many messages as were under way, so that a step ends even if each one that arrives
// begins another.
bool Executor::State::poll_messages() {
    bool has_moved = false;
    has_fed = false;
    if (!messages.empty()) network.poll();
    size_t i = 0;
    for (size_t left = messages.size(); left > 0; --left) {
        const Ref ref = messages[i];
        const transport::State state = test_message(ref);
        if (state == transport::State::kPending) {
            ++i;
            continue;
        }
        if (state == transport::State::kFailed) {
            if (!has_failed) error = network.error();
            has_failed = true;
            return true;
        }
        has_moved = true;
        messages[i] = messages.back();
        messages.pop_back();
        arrived(ref);
    }
    return has_moved || has_fed;
}

// ---- Executor ----------------------------------------------------------------------------------

Executor::Executor(node::Team* node, transport::Transport& network, transport::Multicast* route)
    : state_(std::make_unique<State>(node, network, route)) {}
Executor::~Executor() = default;

void Executor::set_route(transport::Multicast* route) {
    TUTTI_ASSERT(state_->lanes_left == 0, "between calls");
    state_->route = route;
    state_->multicasts.base = 0;
    state_->extent.multicasts = 0;  // of the last call: no numbers of this route
}

void Executor::set_clock(Clock& clock) { state_->clock = &clock; }

Result<Done> Executor::reserve(const sched::Extent& extent, uint64_t scratch_bytes_max) {
    return state_->reserve(extent, scratch_bytes_max);
}

void Executor::start(const sched::Program& program, uint32_t call, const Arguments& arguments,
                     const transport::CallWord& word) {
    State& state = *state_;
    if (state.has_failed) return;
    TUTTI_ASSERT(state.lanes_left == 0, "one call at a time");
    state.program = &program;
    state.multicasts.base += state.extent.multicasts;
    state.extent = program.extent();
    state.is_untouched = true;
    state.call = call;
    state.word = word;
    state.arguments = arguments;
    state.expose_arguments();
    state.start_lanes();
}

Step Executor::step() {
    State& state = *state_;
    if (state.has_failed) return Step::kFailed;
    // Some MPIs give the processor away with each test that finds nothing.
    const bool seeks_only = state.seeks_only();
    bool has_moved = seeks_only && state.step_multicasts();
    if (!state.has_failed) has_moved |= state.poll_messages();
    if (!state.has_failed && !seeks_only) has_moved |= state.step_multicasts();
    if (state.has_failed) return Step::kFailed;
    has_moved |= state.step_node();
    has_moved |= state.step_work();
    if (state.lanes_left == 0) {
        state.conceal_arguments();
        if (state.clock) state.left_ns = state.clock->now_ns();
        return Step::kDone;
    }
    return has_moved ? Step::kAdvanced : Step::kBlocked;
}

// Messages stand in the order of their posting: none has been completed.
transport::State Executor::State::withdraw() {
    TUTTI_ASSERT(is_untouched, "nothing of it is lost");
    while (!messages.empty()) {
        const Ref ref = messages.front();
        const Slot& slot = slot_of(ref);
        const Operation& operation = operation_of(ref);
        if (operation.kind != OperationKind::kRecv) return transport::State::kFailed;
        const transport::State set =
            network.withdraw_receive(operation.peer, id_of(slot, ref), at(slot, operation.to),
                                     operation.to.bytes, task_of(ref).ticket);
        if (set != transport::State::kDone) return set;
        messages.erase(messages.begin());
    }
    if (node_busy) node::retract(*node, node_op);
    node_busy = false;
    lanes_left = 0;
    has_failed = false;
    conceal_arguments();
    network.clear_disagreement();
    return transport::State::kDone;
}

transport::State Executor::withdraw() { return state_->withdraw(); }
bool Executor::is_untouched() const { return state_->is_untouched; }

void Executor::cancel() {
    State& state = *state_;
    for (const Ref ref : state.messages) {
        const OperationKind kind = state.operation_of(ref).kind;
        if (sched::is_meet(kind) && state.feeds(ref)) state.cancel_pieces(ref);
        const bool is_posted =
            kind != OperationKind::kFeed && !state.is_near(ref) && !state.calls_roll(ref);
        if (is_posted) state.network.cancel(state.task_of(ref).ticket);
    }
    state.call_off_roll();
    if (state.route) state.route->call_off();
    state.messages.clear();
    state.conceal_arguments();
    state.conceal_scratch();
    if (!state.has_failed) state.error = "cancelled";
    state.has_failed = true;
}

std::vector<sched::Rank> Executor::waits_for() const {
    State& state = *state_;
    std::vector<sched::Rank> ranks;
    for (const Ref ref : state.messages) {
        if (sched::is_meet(state.operation_of(ref).kind) && state.feeds(ref)) {
            state.add_fed_waits(ref, ranks);
        } else if (state.calls_roll(ref)) {
            state.add_missing(state.slot_of(ref).meet, ranks);
        } else if (!state.has_unanswered(ref)) {
            ranks.push_back(state.operation_of(ref).peer);
        }
    }
    const Multicasts& multicasts = state.multicasts;
    for (uint64_t number = multicasts.first; number < multicasts.next; ++number) {
        const Ref ref = multicasts.posted[number % sched::kMulticastsInFlightMax];
        const Operation& operation = state.operation_of(ref);
        const bool is_awaited = operation.kind == OperationKind::kRecvMulticast;
        if (is_awaited && !multicasts.is_complete(number)) ranks.push_back(operation.peer);
    }
    if (const auto releaser = state.releaser()) ranks.push_back(*releaser);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

bool Executor::waits_for_multicasts() const {
    State& state = *state_;
    if (state.node_busy || !state.work.is_empty()) return false;
    const bool has_posted = state.multicasts.first < state.multicasts.next;
    return (has_posted && state.messages.empty()) || state.seeks_only();
}

bool Executor::waits_for_node() const {
    State& state = *state_;
    const bool has_one = (state.node_busy && state.messages.empty()) || state.waits_for_letters();
    return has_one && state.work.is_empty() && state.multicasts.first == state.multicasts.next;
}

bool Executor::waits_for_messages(bool or_multicasts) const {
    const State& state = *state_;
    const bool is_on_node = state.node_busy || state.has_letters;
    return !state.messages.empty() && !is_on_node && state.work.is_empty() &&
           (or_multicasts || state.multicasts.first == state.extent.multicasts);
}

node::Op* Executor::node_op() {
    return state_->node_busy || state_->has_letters ? &state_->node_op : nullptr;
}
const node::Op* Executor::node_op() const {
    return state_->node_busy || state_->has_letters ? &state_->node_op : nullptr;
}

const Work& Executor::work() const { return state_->totals; }
bool Executor::has_miscounted() const { return state_->has_miscounted; }
const std::string& Executor::error() const { return state_->error; }

}  // namespace tutti::exec
