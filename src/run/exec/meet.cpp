// SPDX-License-Identifier: BSD-3-Clause
// Those who meet: one receive is posted for each neighbour, and run/adapt/meeting.h says what is
// sent when. A message holds a header and room for two values. A part that goes up the tree has
// one, the fold of its sender's side; one that goes down two, of who stands before the receiver's
// side and of who stands behind it. A release holds the result.
//
// A kMeetWith's buffer is for the message that comes and for the one that goes, in this order.
//
// A release by multicast has a number, which each rank takes in its turn: who has everything offers
// it, all others seek it (run/transport/multicast.h). Then nothing comes any more from the one
// neighbour that a rank has not heard, unless their parts crossed, which the multicast says: the
// receive is withdrawn. Where the group has failed before, nobody has the number, as all ranks
// find, and the release comes along the tree; those whom it reaches before they have found that
// know it by that.
#include <bit>
#include <cstring>
#include <utility>

#include "run/exec/state.h"

namespace tutti::exec {
namespace {

using sched::Operation;

// Messages are matched by call, so a machine has one only, which is over when it has left.
constexpr uint64_t kOwnCall = 0;
// Who comes last has everything at hand, but some MPIs look at their sockets with one test in
// eight, and take more than one look to find a message. It may be who has not called for so long.
constexpr uint64_t kAwayNs = 1'000'000;
constexpr int kLooksMax = 24;
// Looks that take longer give the processor to others, who are not all waiting then.
constexpr uint64_t kLookingNs = 80'000;

using Header = MeetHeader;
static_assert(sizeof(Header) == sched::meet_message_bytes(0));
static_assert(sizeof(Header) == sched::meet_multicast_bytes(0));

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
          ref_(ref),
          slot_(state.slot_of(ref)),
          round_(state.window_of(ref).round),
          own_(round_[slot_.neighbours.count]) {}

    [[nodiscard]] size_t bytes() const { return own_.left.bytes; }
    [[nodiscard]] size_t message_bytes() const { return sched::meet_message_bytes(bytes()); }
    [[nodiscard]] bool has_parent() const { return slot_.neighbours.count > 0 && is_parent(0); }
    [[nodiscard]] std::byte* in(uint32_t neighbour) const {
        return state_.at(ref_, round_[neighbour].to);
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
    [[nodiscard]] std::byte* result() const { return state_.at(ref_, own_.to); }
    // For a message: its beginning, and the value in it.
    [[nodiscard]] std::byte* message_buffer() const { return state_.at(ref_, own_.right); }
    [[nodiscard]] std::byte* message_value() const { return message_buffer() + sizeof(Header); }
    [[nodiscard]] sched::Rank own_rank() const { return own_.peer; }
    [[nodiscard]] sched::Rank rank_of(uint32_t neighbour) const { return round_[neighbour].peer; }

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
            state_.context.buffers.fold(to_, to_, value, bytes_);
            state_.context.totals.reduced_bytes += bytes_;
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
    Ref ref_;
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
    before.add(state_.at(ref_, own_.left));
    for (uint32_t child = has_parent() ? 1 : 0; child < slot_.neighbours.count; ++child) {
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
    Neighbours& neighbours = context.slots.neighbours_of(ref);
    if (neighbours.count == 0) begin_meeting(ref);
    neighbours.begin(ref.index);
    if (is_near(ref) || slot_of(ref).meet.calls_roll) return;
    context.network.recv(operation.peer, id_of(ref), at(ref, operation.to), operation.to.bytes / 2,
                         task_of(ref).ticket);
}

// What is here already counts first: who has heard from all sends no part, but releases. A test
// that finds nothing may cost the processor, so there are so many at most. True if all have been
// heard.
bool Executor::State::hears_all(Ref ref, uint32_t vain_tests) {
    bool has_all = true;
    for (uint8_t i = 0; i < context.slots.neighbours_of(ref).count; ++i) {
        if ((context.slots.neighbours_of(ref).heard & sched::after_op(i)) != 0) continue;
        const Ref one{ref.slot, ref.window, i};
        const bool is_known = is_near(one) || task_of(one).ticket.state == transport::State::kDone;
        const bool may_look = is_known || vain_tests > 0;
        if (may_look && test_heard(one) == transport::State::kDone) {
            hear(one);
            continue;
        }
        has_all = false;
        if (may_look && !is_known) --vain_tests;
    }
    return has_all;
}

// Before the own part goes.
void Executor::State::look_for_parts(Ref ref) {
    context.network.poll();
    const uint64_t begin_ns = context.clock ? context.clock->now_ns() : 0;
    const bool was_away = context.clock && begin_ns - left_ns >= kAwayNs;
    uint32_t vain_tests = was_away ? 1 : 0;
    if (!context.clock) vain_tests = context.slots.neighbours_of(ref).count;
    for (int look = 1; !hears_all(ref, vain_tests) && !context.has_failed; ++look) {
        if (!was_away || look == kLooksMax || context.clock->now_ns() - begin_ns > kLookingNs)
            return;
        context.network.poll();
    }
}

// With the first operation of the round. Who is released goes on, and what it sends in the next
// meeting comes to neighbours that have not yet looked for their release, whose receives of this
// one stand posted, perhaps in vain: so meetings have slots in turn. Nobody is two meetings ahead.
void Executor::State::begin_meeting(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    const sched::Round& round = window_of(ref).round;
    meet.is_by_multicast = sched::meets_by_multicast(round);
    if (meet.is_by_multicast) {
        meet.slot =
            transport::kMeetSlot + static_cast<uint32_t>(meetings++ % transport::kMeetSlots);
    }
    meet.calls_roll = may_call_roll(round);
    meet.release = Meet::Release::kAwaited;
    meet.crossed.reset();
    meet.idle = 0;
    begin_letters(slot_of(ref), round);
}

void Executor::State::begin_meet(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    TUTTI_ASSERT(ref.index == context.slots.neighbours_of(ref).count,
                 "it comes behind its neighbours");
    if (context.slots.neighbours_of(ref).count == 0) begin_meeting(ref);
    if (meet.calls_roll) return begin_roll_call(ref);
    const bool has_parent = Hall(*this, ref).has_parent();
    meet.machine.restart(
        context.slots.neighbours_of(ref).count, has_parent,
        meet.is_by_multicast ? adapt::Releases::kByMulticast : adapt::Releases::kAlongTree);
    if (meet.is_by_multicast) multicasts.begin(ref);
    look_for_parts(ref);
    follow(ref, meet.machine.arrive(), false);  // The caller, advance(), looks at it next.
}

// Whether its message is here. The kMeet may be done by it.
transport::State Executor::State::hear_neighbour(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    Neighbours& neighbours = context.slots.neighbours_of(ref);
    if (meet.calls_roll) return transport::State::kDone;
    if ((neighbours.told & ref.bit()) != 0) {
        if (test_sent(ref) == transport::State::kFailed) return transport::State::kFailed;
    }
    if ((meet.idle & ~neighbours.heard & ref.bit()) != 0) {
        const transport::State set = set_idle(ref);
        if (set != transport::State::kDone) return set;
    }
    if ((neighbours.heard & ref.bit()) == 0) {
        const transport::State state = test_heard(ref);
        if (state != transport::State::kDone) return state;
        hear(ref);
    }
    return transport::State::kDone;
}

// Behind that: whether it has had this rank's.
transport::State Executor::State::test_told(Ref ref) {
    const Meet& meet = slot_of(ref).meet;
    const bool is_told = (context.slots.neighbours_of(ref).told & ref.bit()) != 0;
    if (is_told && !meet.calls_roll) return test_sent(ref);
    const bool is_over =
        (meet.calls_roll || meet.is_by_multicast) && meet.release == Meet::Release::kOver;
    return is_over ? transport::State::kDone : transport::State::kPending;
}

bool Executor::State::has_unanswered(Ref ref) {
    if (!sched::is_neighbour(operation_of(ref))) return false;
    return (context.slots.neighbours_of(ref).heard & ~context.slots.neighbours_of(ref).told &
            sched::after_op(ref.index)) != 0;
}

// Its message has come. True when the kMeet is done by it.
bool Executor::State::hear(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    context.is_untouched = false;
    context.slots.neighbours_of(ref).heard |= sched::after_op(ref.index);
    const Header header = header_of(at(ref, operation_of(ref).to));
    const auto kind = static_cast<adapt::Kind>(header.kind);
    // Its sender has found before this rank that nobody multicasts.
    const bool is_early = meet.is_by_multicast && kind == adapt::Kind::kRelease &&
                          meet.release == Meet::Release::kAwaited;
    if (is_early) meet.machine.fall_back();
    const auto orders = meet.machine.take(kOwnCall, kind, ref.index);
    if (orders) return follow(ref, *orders, kind == adapt::Kind::kRelease);
    context.fail("a message that nobody who meets sends");
    return false;
}

// True when the kMeet is done. The result first: neighbours are told it.
bool Executor::State::follow(Ref ref, const adapt::Orders& orders, bool is_told) {
    const uint32_t neighbours = context.slots.neighbours_of(ref).count;
    if (orders.leaves) settle(Hall(*this, ref), orders.neighbour, is_told);
    if (orders.what == adapt::Orders::What::kSendPart) {
        tell(ref, *orders.neighbour, adapt::Kind::kPart);
    }
    if (orders.what == adapt::Orders::What::kRelease) {
        slot_of(ref).meet.untold = orders.neighbour;
        for (uint32_t other = 0; other < neighbours; ++other) {
            if (other != orders.neighbour) tell(ref, other, adapt::Kind::kRelease);
        }
    }
    if (!orders.leaves) return false;
    Meet& meet = slot_of(ref).meet;
    if (meet.is_by_multicast && meet.release != Meet::Release::kNobodys) {
        // Its number is not over.
        meet.crossed = is_told ? std::nullopt : orders.neighbour;
        // Alone it tells nobody, and the number is over all the same.
        const bool offers = orders.what == adapt::Orders::What::kMulticast || neighbours == 0;
        meet.release = offers ? Meet::Release::kOwn : Meet::Release::kSettled;
        return false;
    }
    meet.release = Meet::Release::kOver;
    set_done({ref.slot, ref.window, static_cast<uint8_t>(neighbours)});
    return true;
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
    slot.neighbours.told |= sched::after_op(neighbour);
    ref.index = static_cast<uint8_t>(neighbour);
    if (is_near(ref)) {
        // The next step writes it, and there is to be one.
        slot.neighbours.sent[neighbour].state = transport::State::kPending;
        context.has_stirred = true;
        return;
    }
    context.network.send(operation_of(ref).peer, id_of(ref), message, hall.message_bytes(),
                         slot.neighbours.sent[neighbour]);
}

// The own operand may stand where the result is to be, and is read until that is there.
void Executor::State::settle(const Hall& hall, std::optional<uint32_t> neighbour, bool is_told) {
    if (hall.bytes() == 0) return;
    const std::byte* result = hall.message_value();
    if (is_told) {
        result = hall.value(hall.in(*neighbour), 0);
    } else if (neighbour) {
        hall.join(*neighbour, hall.message_value());
    } else {
        hall.gather({}, hall.message_value());
    }
    std::memcpy(hall.result(), result, hall.bytes());
}

// ---- a release by multicast --------------------------------------------------------------------

// In its turn. True if its number is over.
bool Executor::State::step_release(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    if (meet.calls_roll && !step_roll_call(ref)) return false;
    const Hall hall(*this, ref);
    const size_t bytes = sched::meet_multicast_bytes(hall.bytes());
    const bool is_own = meet.release == Meet::Release::kOwn;
    auto sought = transport::Multicast::Sought::kNotYet;
    if (is_own) {
        const Header header{static_cast<uint32_t>(adapt::Kind::kRelease), 1,
                            meet.crossed ? hall.rank_of(*meet.crossed) : kNobody, 0};
        std::memcpy(hall.message_buffer(), &header, sizeof header);
        if (hall.bytes() > 0) std::memcpy(hall.message_value(), hall.result(), hall.bytes());
        sought = multicasts.offer(hall.message_buffer(), bytes);
    } else {
        sought = multicasts.seek(hall.message_buffer(), bytes);
    }
    switch (sought) {
        case transport::Multicast::Sought::kNotYet:
            return false;
        case transport::Multicast::Sought::kDone:
            if (!is_own) take_release(ref);
            meet.release = Meet::Release::kOver;
            return true;
        case transport::Multicast::Sought::kNobody:
            release_along_tree(ref);
            return true;
        case transport::Multicast::Sought::kFailed:
            break;
    }
    context.fail(multicasts.error());
    return false;
}

// Whom this rank has heard, and who is to release it all the same. Of others it waits for messages.
std::optional<sched::Rank> Executor::State::releaser() {
    const std::optional<Ref> ref = multicasts.meeting_in_turn();
    if (!ref) return {};
    const Meet& meet = slot_of(*ref).meet;
    if (meet.release != Meet::Release::kSettled || !meet.crossed) return {};
    return Hall(*this, *ref).rank_of(*meet.crossed);
}

// The part has gone up, and whatever comes from there, this rank has nothing to send: of two whose
// parts cross the parent multicasts. Not so where it has gone down.
bool Executor::State::seeks_only() {
    const std::optional<Ref> ref = multicasts.meeting_in_turn();
    if (!ref) return false;
    const Meet& meet = slot_of(*ref).meet;
    for (uint64_t rest = context.slots.neighbours_of(*ref).told; rest != 0; rest &= rest - 1) {
        if (context.slots.neighbours_of(*ref).sent[std::countr_zero(rest)].state !=
            transport::State::kDone)
            return false;
    }
    if (meet.calls_roll) return meet.answer == Meet::Answer::kHeard;
    if (meet.release != Meet::Release::kAwaited) return meet.release != Meet::Release::kNobodys;
    return meet.machine.saturation(kOwnCall).sent_to() == 0u && Hall(*this, *ref).has_parent();
}

// No multicast but a release is to come, and nobody has this rank's part, without which nobody can
// release it.
bool Executor::State::holds_back() {
    const std::optional<Ref> ref = multicasts.meeting_in_turn();
    if (!ref || multicasts.ready() > 1) return false;
    const Meet& meet = slot_of(*ref).meet;
    if (meet.calls_roll) return meet.answer == Meet::Answer::kAwaited;
    return meet.release == Meet::Release::kAwaited && !meet.machine.saturation(kOwnCall).sent_to();
}

// The buffer has it.
void Executor::State::take_release(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    const Hall hall(*this, ref);
    if (meet.release == Meet::Release::kSettled || meet.calls_roll) return;
    const auto sent_to = meet.machine.saturation(kOwnCall).sent_to();
    const auto orders = meet.machine.take_multicast(kOwnCall);
    if (!orders || !sent_to) {
        context.fail("a release before all have come");
        return;
    }
    if (hall.bytes() > 0) std::memcpy(hall.result(), hall.message_value(), hall.bytes());
    // Its part is on its way where parts crossed.
    if (header_of(hall.message_buffer()).crossed != hall.own_rank()) {
        meet.idle |= sched::after_op(*sent_to) & ~context.slots.neighbours_of(ref).heard;
    }
}

// Who has everything releases all but the one that has it, too.
void Executor::State::release_along_tree(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    if (meet.calls_roll) return meet_without_roll(ref);
    const Meet::Release before = std::exchange(meet.release, Meet::Release::kNobodys);
    meet.machine.fall_back();
    if (before == Meet::Release::kAwaited) return;
    meet.untold = meet.crossed;
    for (uint32_t other = 0; other < context.slots.neighbours_of(ref).count; ++other) {
        const bool is_told = (context.slots.neighbours_of(ref).told & sched::after_op(other)) != 0;
        if (other != meet.crossed && !is_told) tell(ref, other, adapt::Kind::kRelease);
    }
    meet.release = Meet::Release::kOver;
}

// What was posted for it is for a later call.
transport::State Executor::State::set_idle(Ref ref) {
    const Operation& operation = operation_of(ref);
    if (!is_near(ref)) {
        const transport::State set =
            context.network.withdraw_receive(operation.peer, id_of(ref), at(ref, operation.to),
                                             operation.to.bytes / 2, task_of(ref).ticket);
        if (set != transport::State::kDone) return set;
    }
    context.slots.neighbours_of(ref).heard |= sched::after_op(ref.index);
    return transport::State::kDone;
}

}  // namespace tutti::exec
