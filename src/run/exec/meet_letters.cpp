// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/meet_letters.h"

#include <algorithm>
#include <cstring>

#include "run/node/letters.h"

namespace tutti::exec {

using node::Letter;
static_assert(sched::kLetterBytesMax <= node::kInlineBytesMax);
static_assert(sizeof(MeetHeader) <= node::kLinePayloadBytes);

void MeetLetters::begin(Ref ref) {
    const sched::Round& round = call_.slots.round_of(ref);
    if (!std::ranges::any_of(round, sched::is_near)) return;
    slot_ = ref.slot;
    has_told_all_ = false;
    untold_.reset();
    node_.begin_letters(round[round.size() - 1].left.bytes);
}

void MeetLetters::end_if_met(const sched::Round& round) {
    if (round.size() > 0 && sched::is_meet(round[round.size() - 1].kind)) node_.end_letters();
}

bool MeetLetters::take(Ref with) {
    TUTTI_ASSERT(are_open() && with.slot == slot_, "letters are taken in their meeting");
    const sched::Operation& operation = call_.slots.operation_of(with);
    const auto from = static_cast<node::Rank>(operation.order - 1);
    const node::Team& team = node_.team();
    // The first before the second: whoever has written a part for this rank tells it nothing else.
    for (const Letter letter : {Letter::kFirst, Letter::kSecond}) {
        const std::byte* there = node::look_at_letter(team, node_.op(), from, letter);
        if (there == nullptr) continue;
        if ((header_of(there).whom == team.rank) != (letter == Letter::kFirst)) continue;
        const size_t bytes = operation.to.bytes / 2;
        std::byte* to = call_.at(with, operation.to);
        if (!node::take_letter(team, node_.op(), from, letter, to, bytes)) return false;
        call_.totals.copied_bytes += bytes;
        return true;
    }
    return false;
}

bool MeetLetters::write(Ref with) {
    TUTTI_ASSERT(are_open() && with.slot == slot_, "letters are written in their meeting");
    const sched::Operation& operation = call_.slots.operation_of(with);
    const size_t bytes = operation.to.bytes / 2;
    std::byte* message = call_.at(with, operation.to) + bytes;
    MeetHeader header = header_of(message);
    const bool is_part = header.kind == static_cast<uint32_t>(adapt::Kind::kPart);
    if (!is_part && has_told_all_) return true;
    if (!node::may_write_letters(node_.team(), node_.op())) return false;
    header.whom = kNobody;
    if (is_part) {
        header.whom = static_cast<uint32_t>(operation.order - 1);
    } else if (untold_) {
        const sched::Operation& other = call_.slots.round_of(with)[*untold_];
        if (sched::is_near(other)) header.whom = static_cast<uint32_t>(other.order - 1);
    }
    std::memcpy(message, &header, sizeof header);
    const Letter letter = is_part ? Letter::kFirst : Letter::kSecond;
    node::write_letter(node_.team(), node_.op(), letter, message, bytes);
    if (!is_part) has_told_all_ = true;
    call_.totals.copied_bytes += bytes;
    return true;
}

}  // namespace tutti::exec
