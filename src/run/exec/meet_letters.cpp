// SPDX-License-Identifier: BSD-3-Clause
// Those who meet on the same node: their messages are letters in the node's memory
// (run/node/letters.h). In a meeting each tells one neighbour its part at most, and the others, but
// for one at most, the result: these are a rank's two letters. The last word of their header says
// whom the first one is for, and whom the second one is not for, by index on the node.
//
// A letter is written in a step, never when the call begins: whoever steps this rank wakes those
// who sleep for it.
#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "run/exec/state.h"
#include "run/node/letters.h"

namespace tutti::exec {

using node::Letter;
using sched::Operation;
static_assert(sched::kLetterBytesMax <= node::kInlineBytesMax);
static_assert(sizeof(MeetHeader) <= node::kLinePayloadBytes);

// With the first operation of the round: then all members of the node have neighbours there.
void Executor::State::begin_letters(Slot& slot, const sched::Round& round) {
    Meet& meet = slot.meet;
    meet.has_letters = std::ranges::any_of(round, sched::is_near);
    meet.has_told_all = false;
    meet.untold.reset();
    if (!meet.has_letters) return;
    node.begin_letters(round[round.size() - 1].left.bytes);
}

// A round is over: perhaps the one that met.
void Executor::State::end_letters(Slot& slot, const sched::Round& round) {
    if (!slot.meet.has_letters || round.size() == 0) return;
    if (!sched::is_meet(round[round.size() - 1].kind)) return;
    slot.meet.has_letters = false;
    node.end_letters();
}

// Of a neighbour's message.
transport::State Executor::State::test_heard(Ref ref) {
    if (!is_near(ref)) return context.network.test(task_of(ref).ticket);
    return take_letter(ref) ? transport::State::kDone : transport::State::kPending;
}

// Of the message to it.
transport::State Executor::State::test_sent(Ref ref) {
    transport::Ticket& ticket = context.slots.neighbours_of(ref).sent[ref.index];
    if (ticket.state != transport::State::kPending) return ticket.state;
    if (!is_near(ref)) return context.network.test(ticket);
    if (write_letter(ref)) ticket.state = transport::State::kDone;
    return ticket.state;
}

bool Executor::State::take_letter(Ref ref) {
    const Operation& operation = operation_of(ref);
    const auto from = static_cast<node::Rank>(operation.order - 1);
    // The first before the second: whoever has written a part for this rank tells it nothing else.
    for (const Letter letter : {Letter::kFirst, Letter::kSecond}) {
        const std::byte* there = node::look_at_letter(node.team(), node.op(), from, letter);
        if (there == nullptr) continue;
        MeetHeader header;
        std::memcpy(&header, there, sizeof header);
        if ((header.whom == node.team().rank) != (letter == Letter::kFirst)) continue;
        const size_t bytes = operation.to.bytes / 2;
        if (!node::take_letter(node.team(), node.op(), from, letter, at(ref, operation.to),
                               bytes)) {
            return false;
        }
        context.totals.copied_bytes += bytes;
        return true;
    }
    return false;
}

// What tell() has put together for this neighbour; what is for several is written once.
bool Executor::State::write_letter(Ref ref) {
    const Operation& operation = operation_of(ref);
    Slot& slot = slot_of(ref);
    const size_t bytes = operation.to.bytes / 2;
    std::byte* message = at(ref, operation.to) + bytes;
    MeetHeader header;
    std::memcpy(&header, message, sizeof header);
    const bool is_part = header.kind == static_cast<uint32_t>(adapt::Kind::kPart);
    if (!is_part && slot.meet.has_told_all) return true;
    if (!node::may_write_letters(node.team(), node.op())) return false;
    header.whom = kNobody;
    if (is_part) {
        header.whom = static_cast<uint32_t>(operation.order - 1);
    } else if (const auto but = slot.meet.untold) {
        const Operation& other = window_of(ref).round[*but];
        if (sched::is_near(other)) header.whom = static_cast<uint32_t>(other.order - 1);
    }
    std::memcpy(message, &header, sizeof header);
    node::write_letter(node.team(), node.op(), is_part ? Letter::kFirst : Letter::kSecond, message,
                       bytes);
    if (!is_part) slot.meet.has_told_all = true;
    context.totals.copied_bytes += bytes;
    return true;
}

// All that this rank waits for, others of its node will do.
bool Executor::State::waits_for_letters() {
    return node.has_letters() && (multicasts.ready() == 0 || holds_back()) &&
           !messages.is_empty() && std::ranges::all_of(messages, [&](Ref ref) {
               return is_near(ref) || has_unanswered(ref);
           });
}

}  // namespace tutti::exec
