// SPDX-License-Identifier: BSD-3-Clause
// Each slot holds two rounds of its lane. All operations of the older one may begin; those of the
// newer one by their masks. When the older one is complete, the next round takes its place: so the
// rule about rounds up to k - 2 needs no further look.
//
// Message order: by the time an operation of the newer round begins, all of the older one have
// begun, and of messages between the same two ranks in one round all begin at once, in the order of
// their index (sched/check demands equal masks). That is what a transport that keeps order per pair
// and slot needs.
#include "exec/executor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

namespace tutti::exec {
namespace {

using sched::Block;
using sched::Kind;
using sched::Operation;
using transport::kSlotsMax;
static_assert(sched::kLanesInFlightMax == kSlotsMax);
static_assert(sched::kBlockBytesMax == transport::kMessageBytesMax);

// Local work (copies, folds) of one step: 10 to 100 us, so that a waiting neighbour's message or
// the node's next chunk does not lie about for long.
constexpr size_t kStepBytes = 256 * 1024;
// A user's operator leaves its result where its right operand stood. Where it is wanted in place of
// the left one, it passes through a space of so many bytes.
constexpr size_t kUserBytes = 64 * 1024;
static_assert(kUserBytes >= TUTTI_ELEMENT_BYTES_MAX);

constexpr uint64_t kScratchAlign = 64;
constexpr uint64_t aligned(uint64_t bytes) {
    return (bytes + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
}

// Transports keep the address of the ticket, so a task stays where it is.
struct Task {
    transport::Ticket ticket;
    uint64_t worked_bytes = 0;  // of a copy or fold
};

// One round under way; bit i of the sets is operation i.
struct Window {
    sched::Round round;
    uint64_t all = 0;
    uint64_t begun = 0;
    uint64_t done = 0;
    std::array<Task, sched::kRoundOpsMax> tasks;
};

struct Slot {
    uint64_t lane = 0;
    uint64_t base = 0;  // the older round; round k is in windows[k % 2]
    std::byte* scratch = nullptr;
    std::array<Window, 2> windows;
};

// An operation under way.
struct Ref {
    uint8_t slot = 0;
    uint8_t window = 0;
    uint8_t index = 0;
};

constexpr uint64_t all_of(uint32_t count) {
    return count == sched::kRoundOpsMax ? ~uint64_t{0} : sched::after_op(count) - 1;
}

// First in, first out, in memory made beforehand.
class Queue {
  public:
    void reserve(size_t capacity) { refs_.resize(capacity); }
    void clear() { head_ = tail_ = 0; }
    [[nodiscard]] bool is_empty() const { return head_ == tail_; }
    [[nodiscard]] Ref front() const { return refs_[head_ % refs_.size()]; }
    void push(Ref ref) { refs_[tail_++ % refs_.size()] = ref; }
    void pop() { ++head_; }

  private:
    std::vector<Ref> refs_;
    uint64_t head_ = 0;
    uint64_t tail_ = 0;
};

struct ScratchFree {
    void operator()(std::byte* memory) const {
        ::operator delete[](memory, std::align_val_t{kScratchAlign});
    }
};
using Scratch = std::unique_ptr<std::byte[], ScratchFree>;

}  // namespace

struct Executor::State {
    State(node::Team* node_team, transport::Transport& transport)
        : node(node_team), network(transport) {}

    node::Team* node;
    transport::Transport& network;

    // Reserved.
    std::vector<std::unique_ptr<Slot>> slots;
    Scratch scratch;
    uint64_t scratch_bytes = 0;
    std::unique_ptr<std::byte[]> user_space;

    // The call.
    const sched::Program* program = nullptr;
    sched::Extent extent;
    uint32_t call = 0;
    Arguments arguments;
    uint64_t lanes_left = 0;
    bool has_failed = false;
    std::string error;
    Work totals;

    // Operations under way, each in exactly one place.
    std::vector<Ref> messages;    // posted; in no order
    Queue work;                   // copies and folds
    std::vector<Ref> node_ready;  // node operations that wait for their turn
    bool node_busy = false;
    Ref node_ref;
    node::Op node_op;
    uint64_t node_next = 0;

    Result<Done> reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max);
    void start_lanes();
    void begin_lane(Slot& slot, uint64_t lane);
    void load(Slot& slot, uint64_t round);
    void advance(uint32_t slot);
    void begin(Ref ref);
    void post(Ref ref);
    void arrived(Ref ref);
    void set_done(Ref ref);
    void complete(Ref ref);
    bool poll_messages();
    bool step_work();
    uint64_t work_piece(Ref ref, uint64_t bytes_max);
    void fold(std::byte* to, const std::byte* left, const std::byte* right, size_t bytes);
    void count_node(const node::Call& next);
    bool start_node();
    bool step_node();
    [[nodiscard]] node::Call node_call(const Slot& slot, const Operation& operation) const;
    [[nodiscard]] std::byte* at(const Slot& slot, const Block& block) const;

    [[nodiscard]] Slot& slot_of(Ref ref) { return *slots[ref.slot]; }
    [[nodiscard]] Window& window_of(Ref ref) { return slots[ref.slot]->windows[ref.window]; }
    [[nodiscard]] const Operation& operation_of(Ref ref) { return window_of(ref).round[ref.index]; }
    [[nodiscard]] Task& task_of(Ref ref) { return window_of(ref).tasks[ref.index]; }
};

// ---- memory ------------------------------------------------------------------------------------

Result<Done> Executor::State::reserve(const sched::Extent& wanted, uint64_t scratch_bytes_max) {
    // After a failure the network may still write where it was told to: nothing is moved then.
    if (has_failed) return Error{ErrorCode::kSystem, error};
    TUTTI_ASSERT(lanes_left == 0, "memory is not moved under a call");
    TUTTI_ASSERT(wanted.lanes_in_flight <= kSlotsMax, "a transport has kSlotsMax slots");
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
        scratch.reset(memory);
        scratch_bytes = bytes;
    }
    while (slots.size() < lanes) slots.push_back(std::make_unique<Slot>());
    const size_t operations = slots.size() * 2 * sched::kRoundOpsMax;
    messages.reserve(operations);
    work.reserve(operations);
    node_ready.reserve(operations);
    if (!user_space) user_space = std::make_unique<std::byte[]>(kUserBytes);
    return Done{};
}

std::byte* Executor::State::at(const Slot& slot, const Block& block) const {
    if (block.bytes == 0) return nullptr;
    switch (block.buffer) {
        case sched::Buffer::kInput:
            // Nobody writes input (sched/check); operations name all blocks alike.
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
    node_busy = false;
    node_next = 0;
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
            ++slot.base;
            if (slot.base < extent.rounds) {
                load(slot, slot.base + 1);
                continue;
            }
            --lanes_left;
            const uint64_t next = slot.lane + extent.lanes_in_flight;
            if (next >= extent.lanes) return;
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

void Executor::State::begin(Ref ref) {
    window_of(ref).begun |= sched::after_op(ref.index);
    const Kind kind = operation_of(ref).kind;
    if (sched::is_message(kind)) return post(ref);
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

void Executor::State::post(Ref ref) {
    const Slot& slot = slot_of(ref);
    const Operation& operation = operation_of(ref);
    Task& task = task_of(ref);
    task.worked_bytes = 0;
    const transport::MessageId id{call, static_cast<uint32_t>(slot.lane), ref.slot,
                                  operation.message};
    if (operation.kind == Kind::kSend) {
        network.send(operation.peer, id, at(slot, operation.left), operation.left.bytes,
                     task.ticket);
    } else {
        const bool is_left = operation.incoming == sched::Incoming::kLeft;
        const Block& block = operation.kind == Kind::kRecv ? operation.to
                             : is_left                     ? operation.left
                                                           : operation.right;
        network.recv(operation.peer, id, at(slot, block), block.bytes, task.ticket);
    }
    if (task.ticket.state != transport::State::kDone) {
        messages.push_back(ref);
    } else if (operation.kind == Kind::kRecvReduce) {
        work.push(ref);
    } else {
        set_done(ref);  // The caller, advance(), looks at it next.
    }
}

void Executor::State::arrived(Ref ref) {
    if (operation_of(ref).kind == Kind::kRecvReduce) {
        work.push(ref);
    } else {
        complete(ref);
    }
}

// Looks at as many messages as were under way, so that a step ends even if each one that arrives
// begins another.
bool Executor::State::poll_messages() {
    bool has_moved = false;
    size_t i = 0;
    for (size_t left = messages.size(); left > 0; --left) {
        const Ref ref = messages[i];
        const transport::State state = network.test(task_of(ref).ticket);
        if (state == transport::State::kPending) {
            ++i;
            continue;
        }
        if (state == transport::State::kFailed) {
            has_failed = true;
            error = network.error();
            return true;
        }
        has_moved = true;
        messages[i] = messages.back();
        messages.pop_back();
        arrived(ref);
    }
    return has_moved;
}

// ---- copies and folds --------------------------------------------------------------------------

void Executor::State::fold(std::byte* to, const std::byte* left, const std::byte* right,
                           size_t bytes) {
    const node::Reducer& reducer = arguments.reducer;
    const size_t count = bytes / reducer.element_bytes;
    if (reducer.kernel) return reducer.kernel(to, left, right, count);
    if (to == left) {
        std::memcpy(user_space.get(), right, bytes);
        reducer.user_fn(reducer.user, left, user_space.get(), count);
        std::memcpy(to, user_space.get(), bytes);
        return;
    }
    if (to != right) std::memcpy(to, right, bytes);
    reducer.user_fn(reducer.user, left, to, count);
}

// Does the next piece and gives its bytes.
uint64_t Executor::State::work_piece(Ref ref, uint64_t bytes_max) {
    const Slot& slot = slot_of(ref);
    const Operation& operation = operation_of(ref);
    uint64_t& from = task_of(ref).worked_bytes;
    uint64_t bytes = operation.to.bytes - from;
    if (bytes == 0) return 0;
    std::byte* to = at(slot, operation.to) + from;
    const std::byte* left = at(slot, operation.left) + from;
    if (operation.kind == Kind::kCopy) {
        if (to == left) {
            from = operation.to.bytes;
            return 0;
        }
        bytes = std::min(bytes, bytes_max);
        std::memcpy(to, left, bytes);
        totals.copied_bytes += bytes;
    } else {
        const node::Reducer& reducer = arguments.reducer;
        // A user's operator may cost much to call, so it gets the whole vector where it can.
        const bool is_user = reducer.kernel == nullptr;
        const uint64_t limit = is_user ? (to == left ? kUserBytes : bytes) : bytes_max;
        const uint64_t element = reducer.element_bytes;
        bytes = std::min(bytes, std::max(limit / element, uint64_t{1}) * element);
        fold(to, left, at(slot, operation.right) + from, bytes);
        totals.reduced_bytes += bytes;
    }
    from += bytes;
    return bytes;
}

bool Executor::State::step_work() {
    if (work.is_empty()) return false;
    uint64_t left = kStepBytes;
    while (left > 0 && !work.is_empty()) {
        const Ref ref = work.front();
        const uint64_t bytes = work_piece(ref, left);
        left -= std::min(left, bytes);
        if (task_of(ref).worked_bytes < operation_of(ref).to.bytes) continue;
        work.pop();
        complete(ref);
    }
    return true;
}

// ---- the node ----------------------------------------------------------------------------------

node::Call Executor::State::node_call(const Slot& slot, const Operation& operation) const {
    node::Call result;
    result.root = operation.peer;
    result.recv = at(slot, operation.to);
    result.send = at(slot, operation.left);
    const bool is_root = node->rank == operation.peer;
    switch (operation.kind) {
        case Kind::kNodeBcast:
            result.collective = TUTTI_BCAST;
            result.bytes = operation.to.bytes;
            break;
        case Kind::kNodeReduce:
            result.collective = TUTTI_REDUCE;
            result.bytes = operation.left.bytes;
            result.reducer = arguments.reducer;
            if (is_root && result.send == result.recv) result.send = nullptr;
            break;
        case Kind::kNodeGather:
            result.collective = TUTTI_GATHER;
            result.bytes = operation.left.bytes;
            if (is_root && result.send == result.recv + node->rank * result.bytes) {
                result.send = nullptr;
            }
            break;
        case Kind::kNodeScatter:
            result.collective = TUTTI_SCATTER;
            result.bytes = operation.to.bytes;
            if (is_root && result.recv == result.send + node->rank * result.bytes) {
                result.recv = nullptr;
            }
            break;
        default:
            result.collective = TUTTI_BARRIER;
            break;
    }
    return result;
}

// The root of a gather or scatter moves everybody's block.
void Executor::State::count_node(const node::Call& next) {
    const bool moves_all = (next.collective == TUTTI_GATHER || next.collective == TUTTI_SCATTER) &&
                           next.root == node->rank;
    ++totals.node_operations;
    totals.copied_bytes += moves_all ? node->size * next.bytes : next.bytes;
    if (next.collective == TUTTI_REDUCE) totals.reduced_bytes += next.bytes;
}

// Starts the next node operation in order, if it is ready. Empty ones are over at once, on all
// members alike.
bool Executor::State::start_node() {
    for (size_t i = 0; i < node_ready.size(); ++i) {
        const Ref ref = node_ready[i];
        const Operation& operation = operation_of(ref);
        if (operation.order != node_next) continue;
        TUTTI_ASSERT(node != nullptr, "node operations need the node's team");
        node_ready[i] = node_ready.back();
        node_ready.pop_back();
        ++node_next;
        const node::Call next = node_call(slot_of(ref), operation);
        if (next.is_empty()) {
            complete(ref);
            return start_node();
        }
        count_node(next);
        node_busy = true;
        node_ref = ref;
        node::start(*node, node_op, next);
        return true;
    }
    return false;
}

bool Executor::State::step_node() {
    bool has_moved = false;
    while (node_busy || start_node()) {
        const node::Step step = node::step(*node, node_op);
        if (step == node::Step::kBlocked) return has_moved;
        has_moved = true;
        if (step == node::Step::kAdvanced) return true;
        node_busy = false;
        complete(node_ref);
    }
    return has_moved;
}

// ---- Executor ----------------------------------------------------------------------------------

Executor::Executor(node::Team* node, transport::Transport& network)
    : state_(std::make_unique<State>(node, network)) {}
Executor::~Executor() = default;

Result<Done> Executor::reserve(const sched::Extent& extent, uint64_t scratch_bytes_max) {
    return state_->reserve(extent, scratch_bytes_max);
}

void Executor::start(const sched::Program& program, uint32_t call, const Arguments& arguments) {
    State& state = *state_;
    if (state.has_failed) return;
    TUTTI_ASSERT(state.lanes_left == 0, "one call at a time");
    state.program = &program;
    state.extent = program.extent();
    state.call = call;
    state.arguments = arguments;
    state.start_lanes();
}

Step Executor::step() {
    State& state = *state_;
    if (state.has_failed) return Step::kFailed;
    bool has_moved = state.poll_messages();
    if (state.has_failed) return Step::kFailed;
    has_moved |= state.step_node();
    has_moved |= state.step_work();
    if (state.lanes_left == 0) return Step::kDone;
    return has_moved ? Step::kAdvanced : Step::kBlocked;
}

std::vector<sched::Rank> Executor::waits_for() const {
    std::vector<sched::Rank> ranks;
    for (const Ref ref : state_->messages) ranks.push_back(state_->operation_of(ref).peer);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

const node::Op* Executor::node_op() const { return state_->node_busy ? &state_->node_op : nullptr; }

const Work& Executor::work() const { return state_->totals; }
const std::string& Executor::error() const { return state_->error; }

}  // namespace tutti::exec
