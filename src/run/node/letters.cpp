// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/letters.h"

#include "run/node/detail.h"

namespace tutti::node {
namespace {

constexpr uint64_t kLetters = 2;  // of a rank in a call

Slot slot_of(const Team& team, const Op& op, Rank writer, Letter letter) {
    return letter == Letter::kFirst ? team.slice.up_slot(writer, op.slot)
                                    : team.slice.down_slot(writer, op.slot);
}

}  // namespace

// Not to spare lines, where nobody looks for letters.
bool may_write_letters(Team& team, Op& op) { return may_write(team, op, kInlineBytesMax); }

void write_letter(Team& team, Op& op, Letter letter, const std::byte* data, size_t bytes) {
    TUTTI_ASSERT(bytes <= team.slice.geometry.inline_max, "a letter fits into a slot");
    TUTTI_ASSERT(op.phase < kLetters, "a rank writes each letter once");
    write_slot(op, slot_of(team, op, team.rank, letter), data, bytes);
    ++op.phase;
}

const std::byte* look_at_letter(const Team& team, const Op& op, Rank from, Letter letter) {
    TUTTI_ASSERT(from != team.rank, "a letter of another rank");
    std::byte* slot = slot_of(team, op, from, letter).lines;
    return line_flag(slot).load(std::memory_order_acquire) == op.flag ? slot : nullptr;
}

bool take_letter(const Team& team, const Op& op, Rank from, Letter letter, std::byte* out,
                 size_t bytes) {
    uint64_t line = 0;
    return take_slot(out, slot_of(team, op, from, letter), op.flag, bytes, line);
}

void end_letters(Team& team, const Op& op) { finish_small_synchronized(team, op); }

}  // namespace tutti::node
