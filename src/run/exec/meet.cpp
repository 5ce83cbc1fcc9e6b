// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/meet.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tutti::exec {
namespace {

// Messages are matched by call, so a machine has one only, which is over when it has left.
constexpr uint64_t kOwnCall = 0;
// Who comes last has everything at hand, but some MPIs look at their sockets with one test in
// eight, and take more than one look to find a message. It may be who has not called for so long.
constexpr uint64_t kAwayNs = 1'000'000;
constexpr int kLooksMax = 24;
// Looks that take longer give the processor to others, who are not all waiting then.
constexpr uint64_t kLookingNs = 80'000;

}  // namespace

void Meetings::reserve(uint64_t lanes) {
    if (meets_.size() < lanes) meets_.resize(lanes);
}

void Meetings::end_call() {
    TUTTI_ASSERT(!roll_.awaits_any(), "a rank is released behind the answer");
    TUTTI_ASSERT(!letters_.are_open(), "letters end with their round");
    if (call_.clock) left_ns_ = call_.clock->now_ns();
}

// ---- what begins -------------------------------------------------------------------------------

// With the first operation of the round. A released rank goes on. What it sends in the next
// meeting comes to neighbours that have not yet looked for their release, whose receives of this
// one stand posted, perhaps in vain: so meetings have slots in turn. Nobody is two meetings ahead.
void Meetings::begin_meeting(Ref ref) {
    Meet& meet = meet_of(ref);
    const sched::Round& round = call_.slots.round_of(ref);
    meet.is_by_multicast = sched::meets_by_multicast(round);
    if (meet.is_by_multicast) {
        TUTTI_ASSERT(call_.slots.lanes_in_flight() == 1, "these meetings have slots of their own");
        const uint64_t turn = by_multicast_++ % transport::kMeetSlots;
        meet.slot = transport::kMeetSlot + static_cast<uint32_t>(turn);
    }
    meet.calls_roll = roll_.may_call(round);
    meet.release = Release::kAwaited;
    meet.crossed.reset();
    meet.idle = 0;
    letters_.begin(ref);
}

void Meetings::begin_neighbour(Ref with) {
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    if (neighbours.count == 0) begin_meeting(with);
    neighbours.begin(with.index);
    if (!is_near(with) && !meet_of(with).calls_roll) post_receive(with);
}

void Meetings::post_receive(Ref with) {
    const sched::Operation& operation = call_.slots.operation_of(with);
    call_.network.recv(operation.peer, id_of(with), call_.at(with, operation.to),
                       operation.to.bytes / 2, call_.slots.ticket_of(with));
}

void Meetings::begin(Ref ref) {
    const uint32_t neighbours = call_.slots.neighbours_of(ref).count;
    TUTTI_ASSERT(ref.index == neighbours, "it comes behind its neighbours");
    if (neighbours == 0) begin_meeting(ref);
    Meet& meet = meet_of(ref);
    if (meet.is_by_multicast) multicasts_.begin(ref);
    if (meet.calls_roll) return roll_.begin(call_.slots.operation_of(ref).peer);
    meet.machine.restart(
        neighbours, MeetMemory(call_, ref).has_parent(),
        meet.is_by_multicast ? adapt::Releases::kByMulticast : adapt::Releases::kAlongTree);
    look_for_parts(ref);
    follow(ref, meet.machine.arrive(), false);
}

// What is here already counts first: who has heard from all sends no part, but releases. A test
// that finds nothing may cost the processor, so there are so many at most. True if all have been
// heard.
bool Meetings::hears_all(Ref ref, uint32_t vain_tests) {
    const Neighbours& neighbours = call_.slots.neighbours_of(ref);
    bool has_all = true;
    for (uint32_t i = 0; i < neighbours.count; ++i) {
        const Ref one = ref.with(i);
        if ((neighbours.heard & one.bit()) != 0) continue;
        const bool is_known =
            is_near(one) || call_.slots.ticket_of(one).state == transport::State::kDone;
        const bool may_look = is_known || vain_tests > 0;
        if (may_look && test_heard(one) == transport::State::kDone) {
            take_message(one);
            continue;
        }
        has_all = false;
        if (may_look && !is_known) --vain_tests;
    }
    return has_all;
}

// Before the own part goes.
void Meetings::look_for_parts(Ref ref) {
    Clock* const clock = call_.clock;
    call_.network.poll();
    const uint64_t begin_ns = clock ? clock->now_ns() : 0;
    const bool was_away = clock && begin_ns - left_ns_ >= kAwayNs;
    uint32_t vain_tests = was_away ? 1 : 0;
    if (!clock) vain_tests = call_.slots.neighbours_of(ref).count;
    for (int look = 1; !hears_all(ref, vain_tests) && !call_.has_failed; ++look) {
        if (!was_away || look == kLooksMax || clock->now_ns() - begin_ns > kLookingNs) return;
        call_.network.poll();
    }
}

// ---- messages along the tree -------------------------------------------------------------------

// Of a neighbour's message.
transport::State Meetings::test_heard(Ref with) {
    if (!is_near(with)) return call_.network.test(call_.slots.ticket_of(with));
    return letters_.take(with) ? transport::State::kDone : transport::State::kPending;
}

// Of the message to it.
transport::State Meetings::test_sent(Ref with) {
    transport::Ticket& ticket = call_.slots.neighbours_of(with).sent[with.index];
    if (ticket.state != transport::State::kPending) return ticket.state;
    if (!is_near(with)) return call_.network.test(ticket);
    if (letters_.write(with)) ticket.state = transport::State::kDone;
    return ticket.state;
}

transport::State Meetings::hear(Ref with) {
    const Meet& meet = meet_of(with);
    const Neighbours& neighbours = call_.slots.neighbours_of(with);
    if (meet.calls_roll) return transport::State::kDone;
    const bool is_told = (neighbours.told & with.bit()) != 0;
    if (is_told && test_sent(with) == transport::State::kFailed) return transport::State::kFailed;
    if ((meet.idle & ~neighbours.heard & with.bit()) != 0) {
        const transport::State set = set_idle(with);
        if (set != transport::State::kDone) return set;
    }
    if ((neighbours.heard & with.bit()) == 0) {
        const transport::State state = test_heard(with);
        if (state != transport::State::kDone) return state;
        take_message(with);
    }
    return transport::State::kDone;
}

transport::State Meetings::test_told(Ref with) {
    const Meet& meet = meet_of(with);
    const bool is_told = (call_.slots.neighbours_of(with).told & with.bit()) != 0;
    if (is_told && !meet.calls_roll) return test_sent(with);
    const bool is_set = meet.calls_roll || meet.is_by_multicast;
    return is_set && is_over(with) ? transport::State::kDone : transport::State::kPending;
}

// What was posted for it is for a later call.
transport::State Meetings::set_idle(Ref with) {
    const sched::Operation& operation = call_.slots.operation_of(with);
    if (!is_near(with)) {
        const transport::State set = call_.network.withdraw_receive(
            operation.peer, id_of(with), call_.at(with, operation.to), operation.to.bytes / 2,
            call_.slots.ticket_of(with));
        if (set != transport::State::kDone) return set;
    }
    call_.slots.neighbours_of(with).heard |= with.bit();
    return transport::State::kDone;
}

// A neighbour's message has come. The kMeet may be done by it.
void Meetings::take_message(Ref with) {
    Meet& meet = meet_of(with);
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    TUTTI_ASSERT((neighbours.heard & with.bit()) == 0, "one message comes over each edge");
    neighbours.heard |= with.bit();
    call_.is_untouched = false;
    const std::byte* message = call_.at(with, call_.slots.operation_of(with).to);
    const auto kind = static_cast<adapt::Kind>(header_of(message).kind);
    // Its sender has found before this rank that nobody multicasts.
    const bool is_early =
        meet.is_by_multicast && kind == adapt::Kind::kRelease && meet.release == Release::kAwaited;
    if (is_early) meet.machine.fall_back();
    const auto orders = meet.machine.take(kOwnCall, kind, with.index);
    if (orders) return follow(with, *orders, kind == adapt::Kind::kRelease);
    call_.fail("a message that nobody who meets sends");
}

// Sets the kMeet done when it is. The result first: neighbours are told it. is_told: by a release
// along the tree.
void Meetings::follow(Ref ref, const adapt::Orders& orders, bool is_told) {
    const uint32_t neighbours = call_.slots.neighbours_of(ref).count;
    if (orders.leaves) {
        const MeetMemory memory(call_, ref);
        if (is_told) {
            memory.take_released(*orders.neighbour);
        } else if (orders.neighbour) {
            memory.join(*orders.neighbour);
        } else {
            memory.fold_all();
        }
    }
    if (orders.what == adapt::Orders::What::kSendPart) {
        tell(ref.with(*orders.neighbour), adapt::Kind::kPart);
    }
    if (orders.what == adapt::Orders::What::kRelease) {
        letters_.leave_out(ref, orders.neighbour);
        for (uint32_t other = 0; other < neighbours; ++other) {
            if (other != orders.neighbour) tell(ref.with(other), adapt::Kind::kRelease);
        }
    }
    if (!orders.leaves) return;
    Meet& meet = meet_of(ref);
    if (meet.is_by_multicast && meet.release != Release::kNobodys) {
        // Its number is not over.
        meet.crossed = is_told ? std::nullopt : orders.neighbour;
        // Alone it tells nobody, and the number is over all the same.
        const bool offers = orders.what == adapt::Orders::What::kMulticast || neighbours == 0;
        meet.release = offers ? Release::kOwn : Release::kSettled;
        return;
    }
    meet.release = Release::kOver;
    call_.slots.set_done(ref.with(neighbours));
}

void Meetings::tell(Ref with, adapt::Kind kind) {
    Neighbours& neighbours = call_.slots.neighbours_of(with);
    TUTTI_ASSERT((neighbours.told & with.bit()) == 0, "one message goes over each edge");
    const MeetMemory memory(call_, with);
    memory.write_message(with.index, kind);
    neighbours.told |= with.bit();
    transport::Ticket& ticket = neighbours.sent[with.index];
    if (is_near(with)) {
        // The next step writes it, and there is to be one.
        ticket.state = transport::State::kPending;
        call_.has_progressed = true;
        return;
    }
    call_.network.send(memory.rank_of(with.index), id_of(with), memory.out(with.index),
                       memory.message_bytes(), ticket);
}

// ---- a release by multicast --------------------------------------------------------------------

bool Meetings::step_release(Ref ref) {
    Meet& meet = meet_of(ref);
    TUTTI_ASSERT(meet.is_by_multicast && !is_over(ref), "a number is sought until it is over");
    if (meet.calls_roll) {
        const auto known = roll_.step(meet.release == Release::kAwaited);
        if (known == MeetRollCall::Known::kNotYet) return false;
        if (known == MeetRollCall::Known::kLast) meet.release = Release::kOwn;
    }
    const MeetMemory memory(call_, ref);
    const size_t bytes = sched::meet_multicast_bytes(memory.bytes());
    const bool is_own = meet.release == Release::kOwn;
    auto sought = transport::Multicast::Sought::kNotYet;
    if (is_own) {
        memory.write_multicast(meet.crossed);
        sought = multicasts_.offer(memory.message(), bytes);
    } else {
        sought = multicasts_.seek(memory.message(), bytes);
    }
    switch (sought) {
        case transport::Multicast::Sought::kNotYet:
            return false;
        case transport::Multicast::Sought::kDone:
            if (!is_own) take_release(ref);
            meet.release = Release::kOver;
            return true;
        case transport::Multicast::Sought::kNobody:
            release_along_tree(ref);
            return true;
        case transport::Multicast::Sought::kFailed:
            break;
    }
    call_.fail(multicasts_.error());
    return false;
}

// The buffer has it.
void Meetings::take_release(Ref ref) {
    Meet& meet = meet_of(ref);
    if (meet.release == Release::kSettled || meet.calls_roll) return;
    const auto sent_to = meet.machine.saturation(kOwnCall).sent_to();
    const auto orders = meet.machine.take_multicast(kOwnCall);
    if (!orders || !sent_to) return call_.fail("a release before all have come");
    const MeetMemory memory(call_, ref);
    memory.take_multicast();
    // Its part is on its way where parts crossed.
    if (header_of(memory.message()).crossed != memory.own_rank()) {
        meet.idle |= sched::after_op(*sent_to) & ~call_.slots.neighbours_of(ref).heard;
    }
}

// The rank that has everything releases all neighbours but the one that has it, too.
void Meetings::release_along_tree(Ref ref) {
    Meet& meet = meet_of(ref);
    if (meet.calls_roll) return meet_without_roll(ref);
    const Release before = std::exchange(meet.release, Release::kNobodys);
    meet.machine.fall_back();
    if (before == Release::kAwaited) return;
    letters_.leave_out(ref, meet.crossed);
    const Neighbours& neighbours = call_.slots.neighbours_of(ref);
    for (uint32_t other = 0; other < neighbours.count; ++other) {
        const bool is_told = (neighbours.told & sched::after_op(other)) != 0;
        if (other != meet.crossed && !is_told) tell(ref.with(other), adapt::Kind::kRelease);
    }
    meet.release = Release::kOver;
}

// The group has failed, and nobody has the release: all ranks find the same.
void Meetings::meet_without_roll(Ref ref) {
    Meet& meet = meet_of(ref);
    const MeetMemory memory(call_, ref);
    meet.calls_roll = false;
    meet.release = Release::kNobodys;
    meet.machine.restart(memory.neighbours(), memory.has_parent(), adapt::Releases::kAlongTree);
    for (uint32_t i = 0; i < memory.neighbours(); ++i) post_receive(ref.with(i));
    follow(ref, meet.machine.arrive(), false);
}

// ---- questions ---------------------------------------------------------------------------------

// The part has gone up, and whatever comes from there, this rank has nothing to send: of two whose
// parts cross the parent multicasts. Not so where it has gone down.
bool Meetings::only_seeks() const {
    const std::optional<Ref> ref = multicasts_.meeting_in_turn();
    if (!ref) return false;
    const Meet& meet = meet_of(*ref);
    const Neighbours& neighbours = call_.slots.neighbours_of(*ref);
    for (uint64_t rest = neighbours.told; rest != 0; rest &= rest - 1) {
        const transport::Ticket& sent = neighbours.sent[std::countr_zero(rest)];
        if (sent.state != transport::State::kDone) return false;
    }
    if (meet.calls_roll) return !roll_.awaits_any();
    if (meet.release != Release::kAwaited) return meet.release != Release::kNobodys;
    return meet.machine.saturation(kOwnCall).sent_to() == 0u &&
           MeetMemory(call_, *ref).has_parent();
}

// No multicast but a release is to come, and nobody has this rank's part, without which nobody can
// release it.
bool Meetings::holds_back() const {
    const std::optional<Ref> ref = multicasts_.meeting_in_turn();
    if (!ref || multicasts_.ready() > 1) return false;
    const Meet& meet = meet_of(*ref);
    if (meet.calls_roll) return roll_.awaits_own();
    return meet.release == Release::kAwaited && !meet.machine.saturation(kOwnCall).sent_to();
}

bool Meetings::waits_for_node(const PostedMessages& messages) const {
    if (!letters_.are_open() || messages.is_empty()) return false;
    if (multicasts_.ready() > 0 && !holds_back()) return false;
    return std::ranges::all_of(messages, [&](Ref ref) {
        if (!sched::is_neighbour(call_.slots.operation_of(ref))) return false;
        return is_near(ref) || is_unanswered(ref);
    });
}

void Meetings::add_waits(Ref with, std::vector<sched::Rank>& ranks) const {
    const Meet& meet = meet_of(with);
    if (meet.calls_roll) return roll_.add_missing(meet.release != Release::kAwaited, ranks);
    if (!is_unanswered(with)) ranks.push_back(call_.slots.operation_of(with).peer);
}

// The neighbour that this rank has heard and that is to release it. Others are awaited by messages.
void Meetings::add_releaser(std::vector<sched::Rank>& ranks) const {
    const std::optional<Ref> ref = multicasts_.meeting_in_turn();
    if (!ref) return;
    const Meet& meet = meet_of(*ref);
    if (meet.release != Release::kSettled || !meet.crossed) return;
    ranks.push_back(MeetMemory(call_, *ref).rank_of(*meet.crossed));
}

void Meetings::cancel(Ref with) {
    const bool is_posted = !is_near(with) && !meet_of(with).calls_roll;
    if (is_posted) call_.network.cancel(call_.slots.ticket_of(with));
}

}  // namespace tutti::exec
