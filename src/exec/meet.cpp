// SPDX-License-Identifier: BSD-3-Clause
// Those who meet: one receive is posted for each neighbour, and adapt/meeting.h says what is sent
// when. A message holds a header and room for two values. A part that goes up the tree has one, the
// fold of its sender's side; one that goes down two, of who stands before the receiver's side and
// of who stands behind it. A release holds the result.
//
// A kMeetWith's room is for the message that comes and for the one that goes, in this order.
#include <cstring>
#include <utility>

#include "exec/state.h"

namespace tutti::exec {
namespace {

using sched::Operation;
using sched::OperationKind;

struct Header {
    uint32_t kind = 0;    // adapt::Kind
    uint32_t values = 0;  // that follow; one stands where the first of two does
    uint64_t unused = 0;  // so that values are aligned
};
static_assert(sizeof(Header) == sched::meet_message_bytes(0));

Header header_of(const std::byte* message) {
    Header header;
    std::memcpy(&header, message, sizeof header);
    return header;
}

}  // namespace

// What the round that meets has in memory.
class Executor::State::Hall {
  public:
    // Of any operation of it.
    Hall(State& state, Ref ref)
        : state_(state),
          slot_(state.slot_of(ref)),
          round_(state.window_of(ref).round),
          own_(round_[slot_.meet.neighbours]) {}

    [[nodiscard]] size_t bytes() const { return own_.left.bytes; }
    [[nodiscard]] size_t message_bytes() const { return sched::meet_message_bytes(bytes()); }
    [[nodiscard]] bool has_parent() const { return slot_.meet.neighbours > 0 && is_parent(0); }
    [[nodiscard]] std::byte* in(uint32_t neighbour) const {
        return state_.at(slot_, round_[neighbour].to);
    }
    [[nodiscard]] std::byte* out(uint32_t neighbour) const {
        return in(neighbour) + message_bytes();
    }
    // Of a message: `which` of its values.
    [[nodiscard]] const std::byte* value(const std::byte* message, uint32_t which) const {
        return message + sizeof(Header) + which * bytes();
    }
    // What all have but one neighbour's side; how many values that is.
    uint32_t gather(std::optional<uint32_t> but, std::byte* values) const;
    // What the two have who have each other's part, put in parentheses alike by both.
    void join(uint32_t neighbour, std::byte* value) const;
    [[nodiscard]] std::byte* result() const { return state_.at(slot_, own_.to); }
    [[nodiscard]] std::byte* room() const { return state_.at(slot_, own_.right); }

  private:
    // In a stretch of memory, from left to right; of nothing there is none.
    class Fold {
      public:
        Fold(State& state, std::byte* to, size_t bytes) : state_(state), to_(to), bytes_(bytes) {}
        void add(const std::byte* value) {
            const bool is_first = !std::exchange(has_any_, true);
            if (bytes_ == 0) return;
            if (is_first) {
                std::memcpy(to_, value, bytes_);
                return;
            }
            combine(state_.arguments.reducer, state_.user_space.get(), to_, to_, value, bytes_);
            state_.totals.reduced_bytes += bytes_;
        }
        [[nodiscard]] bool has_any() const { return has_any_; }

      private:
        State& state_;
        std::byte* to_;
        size_t bytes_;
        bool has_any_ = false;
    };

    [[nodiscard]] bool is_parent(uint32_t neighbour) const {
        return round_[neighbour].incoming == sched::Incoming::kLeft;
    }
    [[nodiscard]] Fold fold(std::byte* to) const { return {state_, to, bytes()}; }

    State& state_;
    const Slot& slot_;
    const sched::Round& round_;
    const Operation& own_;
};

uint32_t Executor::State::Hall::gather(std::optional<uint32_t> but, std::byte* values) const {
    const bool goes_down = but && !is_parent(*but);
    const bool has_parents = has_parent() && but != 0u;
    Fold before = fold(values);
    Fold behind = fold(values + bytes());
    if (has_parents) before.add(value(in(0), 0));
    before.add(state_.at(slot_, own_.left));
    for (uint32_t child = has_parent() ? 1 : 0; child < slot_.meet.neighbours; ++child) {
        if (child == but) continue;
        (goes_down && child > *but ? behind : before).add(value(in(child), 0));
    }
    if (has_parents && header_of(in(0)).values == 2) {
        (goes_down ? behind : before).add(value(in(0), 1));
    }
    return behind.has_any() ? 2 : 1;
}

void Executor::State::Hall::join(uint32_t neighbour, std::byte* to) const {
    const bool is_up = is_parent(neighbour);
    const std::byte* down = is_up ? in(neighbour) : out(neighbour);
    const std::byte* up = is_up ? out(neighbour) : in(neighbour);
    Fold all = fold(to);
    all.add(value(down, 0));
    all.add(value(up, 0));
    if (header_of(down).values == 2) all.add(value(down, 1));
}

void Executor::State::post_neighbour(Ref ref) {
    const Operation& operation = operation_of(ref);
    Task& task = task_of(ref);
    Meet& meet = slot_of(ref).meet;
    TUTTI_ASSERT(ref.index == meet.neighbours, "neighbours in their order");
    const uint64_t bit = sched::after_op(meet.neighbours++);
    meet.heard &= ~bit;
    meet.told &= ~bit;
    const Slot& slot = slot_of(ref);
    network.recv(operation.peer, id_of(slot, ref), at(slot, operation.to), operation.to.bytes / 2,
                 task.ticket);
    messages.push_back(ref);
}

void Executor::State::begin_meet(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    TUTTI_ASSERT(ref.index == meet.neighbours, "it comes behind its neighbours");
    const bool has_parent = Hall(*this, ref).has_parent();
    meet.machine.restart(meet.neighbours, has_parent, adapt::Releases::kAlongTree);
    follow(ref, meet.machine.arrive(), false);  // The caller, advance(), looks at it next.
}

// Done when each of the two has had the other's message.
transport::State Executor::State::test_neighbour(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    const uint64_t bit = sched::after_op(ref.index);
    if ((meet.heard & bit) == 0) {
        const transport::State state = network.test(task_of(ref).ticket);
        if (state != transport::State::kDone) return state;
        is_untouched = false;
        meet.heard |= bit;
        const Header header = header_of(at(slot_of(ref), operation_of(ref).to));
        const auto kind = static_cast<adapt::Kind>(header.kind);
        const auto orders = meet.machine.take(meet.machine.call(), kind, ref.index);
        if (!orders) {
            error = "a message that nobody who meets sends";
            has_failed = true;
            return transport::State::kFailed;
        }
        if (follow(ref, *orders, kind == adapt::Kind::kRelease)) advance(ref.slot);
    }
    if ((meet.told & bit) == 0) return transport::State::kPending;
    return network.test(meet.sent[ref.index]);
}

bool Executor::State::owes(Ref ref) {
    if (operation_of(ref).kind != OperationKind::kMeetWith) return false;
    const Meet& meet = slot_of(ref).meet;
    return (meet.heard & ~meet.told & sched::after_op(ref.index)) != 0;
}

// True when the kMeet is done. The result first: neighbours are told it.
bool Executor::State::follow(Ref ref, const adapt::Orders& orders, bool is_told) {
    const uint32_t neighbours = slot_of(ref).meet.neighbours;
    if (orders.leaves) settle(Hall(*this, ref), orders.neighbour, is_told);
    if (orders.what == adapt::Orders::What::kSendPart) {
        tell(ref, *orders.neighbour, adapt::Kind::kPart);
    }
    if (orders.what == adapt::Orders::What::kRelease) {
        for (uint32_t other = 0; other < neighbours; ++other) {
            if (other != orders.neighbour) tell(ref, other, adapt::Kind::kRelease);
        }
    }
    if (orders.leaves) set_done({ref.slot, ref.window, static_cast<uint8_t>(neighbours)});
    return orders.leaves;
}

void Executor::State::tell(Ref ref, uint32_t neighbour, adapt::Kind kind) {
    const Hall hall(*this, ref);
    Header header{static_cast<uint32_t>(kind), 1};
    std::byte* message = hall.out(neighbour);
    std::byte* values = message + sizeof header;
    if (kind == adapt::Kind::kPart) {
        header.values = hall.gather(neighbour, values);
    } else if (hall.bytes() > 0) {
        std::memcpy(values, hall.result(), hall.bytes());
    }
    // All of it goes.
    if (header.values == 1) std::memset(values + hall.bytes(), 0, hall.bytes());
    std::memcpy(message, &header, sizeof header);
    Slot& slot = slot_of(ref);
    slot.meet.told |= sched::after_op(neighbour);
    ref.index = static_cast<uint8_t>(neighbour);
    network.send(operation_of(ref).peer, id_of(slot, ref), message, hall.message_bytes(),
                 slot.meet.sent[neighbour]);
}

// The own operand may stand where the result is to be, and is read until that is there.
void Executor::State::settle(const Hall& hall, std::optional<uint32_t> neighbour, bool is_told) {
    if (hall.bytes() == 0) return;
    const std::byte* result = hall.room();
    if (is_told) {
        result = hall.value(hall.in(*neighbour), 0);
    } else if (neighbour) {
        hall.join(*neighbour, hall.room());
    } else {
        hall.gather({}, hall.room());
    }
    std::memcpy(hall.result(), result, hall.bytes());
}

}  // namespace tutti::exec
