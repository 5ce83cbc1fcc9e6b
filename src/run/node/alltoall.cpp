// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of short blocks: every rank writes its blocks for the others into one slot, in rank
// order without its own, and each reader takes the lines that hold its block.
//
// Messages a rank: one line written for every 56 bytes of the others' blocks; of each other rank's
// slot the lines that hold n bytes, one or two for short ones. Longer blocks go through chunks
// (gather.cpp), or are read in place (single.cpp).
//
// Op.phase: 0 own slot not yet written, 1 collecting. Op.next: the rank whose block comes next,
// counted from the own rank, so that not all read the same slot at once.
#include "run/node/detail.h"

namespace tutti::node {
namespace {

size_t dealt_bytes(const Team& team, const Op& op) { return (team.size - 1) * op.call.bytes; }

// The blocks for the others as one piece. They lie so already on the first and the last rank.
const std::byte* dealt(const Team& team, const Op& op) {
    const size_t bytes = op.call.bytes;
    if (team.rank == 0) return op.call.send + bytes;
    if (team.rank + 1 == team.size) return op.call.send;
    std::byte* const space = payload_space(team);
    const size_t before = team.rank * bytes;
    std::memcpy(space, op.call.send, before);
    std::memcpy(space + before, op.call.send + before + bytes, dealt_bytes(team, op) - before);
    return space;
}

// The part of a line's payload that belongs to a block which begins at `offset` of the slot.
void copy_part(std::byte* out, const std::byte* line, size_t line_offset, size_t offset,
               size_t bytes) {
    const size_t from = std::max(offset, line_offset);
    const size_t to = std::min(offset + bytes, line_offset + kLinePayloadBytes);
    copy_bytes(out + (from - offset), line + (from - line_offset), to - from);
}

// The own block from the slot of `rank`, as far as its lines are there. Op.line: lines taken.
bool take_block(const Team& team, Op& op, Rank rank) {
    const size_t bytes = op.call.bytes;
    const Slot slot = team.slice.up_slot(rank, op.slot);
    const size_t offset = cell_index(rank, team.rank) * bytes;
    std::byte* const out = op.call.recv + rank * bytes;
    if (dealt_bytes(team, op) <= kLinePayloadBytes) {
        const std::byte* line =
            take_payload(nullptr, slot, op.flag, dealt_bytes(team, op), op.line);
        if (!line) return awaits(op, rank);
        copy_bytes(out, line + offset, bytes);
        return true;
    }
    const size_t first = offset / kLinePayloadBytes;
    const size_t last = (offset + bytes - 1) / kLinePayloadBytes;
    for (; first + op.line <= last; ++op.line) {
        std::byte* const line = slot.lines + (first + op.line) * kLineBytes;
        if (line_flag(line).load(std::memory_order_acquire) != op.flag) return awaits(op, rank);
        copy_part(out, line, (first + op.line) * kLinePayloadBytes, offset, bytes);
    }
    op.line = 0;
    return true;
}

}  // namespace

Step small_alltoall(Team& team, Op& op) {
    const size_t bytes = op.call.bytes;
    if (op.phase == 0) {
        if (!may_write(team, op, dealt_bytes(team, op))) return Step::kBlocked;
        write_slot(op, team.slice.up_slot(team.rank, op.slot), dealt(team, op),
                   dealt_bytes(team, op));
        copy_bytes(op.call.recv + team.rank * bytes, op.call.send + team.rank * bytes, bytes);
        op.phase = 1;
        op.next = 1;
    }
    for (; op.next < team.size; ++op.next) {
        if (!take_block(team, op, (team.rank + op.next) % team.size)) return Step::kBlocked;
    }
    return finish_small_synchronized(team, op);
}

}  // namespace tutti::node
