// SPDX-License-Identifier: BSD-3-Clause
// Those who meet by one word to which all of the team can add (run/adapt/roll_call.h): who comes
// adds to it, and learns by the answer who came before. Whoever is told that it is the last
// releases all by multicast, and all others seek that. Neighbours tell each other nothing, unless
// the group fails before the release: then all meet along the tree, as if there were no word.
//
// Nobody seeks before its own addition is told: else it would not know whether the release is its
// own to send. Who waits for long looks at the word now and then, so that it can say who is late.
#include <algorithm>
#include <bit>

#include "run/exec/state.h"

namespace tutti::exec {
namespace {

// Of each who waits, a request to rank 0's adapter so often.
constexpr uint64_t kLookAgainNs = 500'000'000;

uint64_t mark_of(const transport::CallWord& word) { return word.call ^ std::rotl(word.before, 32); }

}  // namespace

// A rank alone has nobody to tell.
bool Executor::State::may_call_roll(const sched::Round& round) {
    return sched::meets_by_multicast(round) && round[round.size() - 1].is_counted &&
           round.size() > 1 && context.network.adders() > 1 &&
           context.network.adders() <= adapt::RollCall::kMembersMax;
}

// In the place of a part.
void Executor::State::begin_roll_call(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    multicasts.begin(ref);
    meet.answer = Meet::Answer::kAwaited;
    looked_ns = context.clock ? context.clock->now_ns() : 0;
    const uint64_t amount =
        roll_call.arrive(context.network.adders(), operation_of(ref).peer, mark_of(context.word));
    context.network.fetch_add(amount, meet.adding);
}

// True if this rank knows whether it is the last, and waits for no other answer.
bool Executor::State::step_roll_call(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    if (meet.answer == Meet::Answer::kHeard) {
        look_at_roll(meet);
        return meet.answer == Meet::Answer::kHeard;
    }
    const transport::State state = context.network.test(meet.adding);
    if (state == transport::State::kPending) return false;
    if (state == transport::State::kFailed) {
        context.fail(context.network.error());
        return false;
    }
    const bool is_own = meet.answer == Meet::Answer::kAwaited;
    meet.answer = Meet::Answer::kHeard;
    context.is_untouched = false;
    if (!is_own) {
        roll_call.look(meet.adding.number);
        return true;
    }
    const auto found = roll_call.take(meet.adding.number);
    if (found == adapt::RollCall::Found::kDisagree) {
        context.has_miscounted = true;
        context.fail("a rank that was counted runs another call");
        return false;
    }
    if (found == adapt::RollCall::Found::kLast) meet.release = Meet::Release::kOwn;
    return true;
}

void Executor::State::look_at_roll(Meet& meet) {
    if (!context.clock || meet.release != Meet::Release::kAwaited || roll_call.missing() == 0)
        return;
    const uint64_t now_ns = context.clock->now_ns();
    if (now_ns - looked_ns < kLookAgainNs) return;
    looked_ns = now_ns;
    meet.answer = Meet::Answer::kLooking;
    context.network.fetch_add(0, meet.adding);
}

// Ranks that have not come, as far as this one knows; before that only who has the word.
void Executor::State::add_missing(const Meet& meet, std::vector<sched::Rank>& ranks) const {
    if (meet.answer == Meet::Answer::kAwaited) return ranks.push_back(0);
    if (meet.release != Meet::Release::kAwaited) return;
    for (uint64_t rest = roll_call.missing(); rest != 0; rest &= rest - 1) {
        ranks.push_back(static_cast<sched::Rank>(std::countr_zero(rest)));
    }
}

// With the call: the word has the addition all the same.
void Executor::State::call_off_roll() {
    for (const Ref ref : messages) {
        Meet& meet = slot_of(ref).meet;
        if (!calls_roll(ref) || meet.answer == Meet::Answer::kHeard) continue;
        context.network.cancel(meet.adding);
        meet.answer = Meet::Answer::kHeard;
    }
}

// The group has failed, and nobody has the release: all ranks find the same.
void Executor::State::meet_without_roll(Ref ref) {
    Meet& meet = slot_of(ref).meet;
    const sched::Round& round = window_of(ref).round;
    const bool has_parent = round[0].incoming == sched::Incoming::kLeft;
    meet.calls_roll = false;
    meet.release = Meet::Release::kNobodys;
    meet.machine.restart(context.slots.neighbours_of(ref).count, has_parent,
                         adapt::Releases::kAlongTree);
    for (uint32_t i = 0; i < context.slots.neighbours_of(ref).count; ++i) {
        const Ref with{ref.slot, ref.window, static_cast<uint8_t>(i)};
        const sched::Operation& operation = operation_of(with);
        context.network.recv(operation.peer, id_of(with), at(with, operation.to),
                             operation.to.bytes / 2, task_of(with).ticket);
    }
    follow(ref, meet.machine.arrive(), false);
}

}  // namespace tutti::exec
