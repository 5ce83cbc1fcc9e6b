// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan of up to 1 KiB in two hops, among many ranks. Letters: p ranks, q the lowest
// power of two that is no less than sqrt p.
//
// Groups are of q consecutive ranks. Each rank but the last of its group writes its vector into its
// slot, and each rank folds those of the lower ranks of its group. The last one, the leader, writes
// the fold of the group into its own slot, unless no group is behind it. Each rank folds the folds
// of the groups before its own, and to their right what it has of its group. So the order of ranks
// is kept. A rank reads q - 1 slots and those of ceil(p / q) - 1 leaders at most, where "small" has
// it read up to p - 1.
//
// Example, p = 6, q = 4: rank 3 writes 0 + 1 + 2 + 3, which 4 and 5 read; 5 reads 4's vector, too.
//
// Op.phase: what comes next, see below. Op.next: the rank or group that is folded next.
#include <bit>

#include "run/node/detail.h"

namespace tutti::node {
namespace {

enum : uint32_t { kWritesOwn, kFoldsGroup, kAddsOwn, kFoldsGroups };

// The own place in the groups.
struct GroupSeat {
    explicit GroupSeat(const Team& team)
        : size(Rank{1} << ((std::bit_width(team.size - 1) + 1) / 2)),
          group(team.rank / size),
          lower(team.rank % size),
          is_last(team.rank + 1 == team.size),
          hands_on(lower + 1 == size && !is_last) {}

    Rank size;
    Rank group;
    Rank lower;     // ranks before this one in its group
    bool is_last;   // of all ranks
    bool hands_on;  // it leads a group, and one is behind it
};

void write_up(const Team& team, const Op& op, const std::byte* vector) {
    write_slot(op, team.slice.up_slot(team.rank, op.slot), vector, op.call.bytes);
}

// Folds the own vector onto those of the group's lower ranks: for others, or for the own result.
void add_own(Team& team, Op& op, const GroupSeat& seat) {
    if (is_exclusive(op) && !seat.hands_on) return;
    std::byte* const lower = result_space(team);
    std::byte* const up_to_own = is_exclusive(op) ? fold_space(team) : lower;
    fold_onto(team, op.call.reducer, up_to_own, lower, op.call.vector(), op.call.bytes);
    if (seat.hands_on) write_up(team, op, up_to_own);
}

// before: the fold of all groups before; of_group: what the rank has of its own one. There may be
// none of either.
void finish_result(Team& team, Op& op, const std::byte* before, const std::byte* of_group) {
    if (before && of_group) {
        fold_onto(team, op.call.reducer, op.call.recv, before, of_group, op.call.bytes);
    } else if (before || of_group) {
        copy_bytes(op.call.recv, before ? before : of_group, op.call.bytes);
    }
}

}  // namespace

Step group_scan(Team& team, Op& op) {
    const GroupSeat seat(team);
    const bool writes_own = !seat.hands_on && !seat.is_last;
    if (op.phase == kWritesOwn) {
        if (writes_own && !may_write(team, op, op.call.bytes)) return Step::kBlocked;
        if (writes_own) write_up(team, op, op.call.vector());
        op.phase = kFoldsGroup;
    }
    std::byte* const lower = result_space(team);
    if (op.phase == kFoldsGroup) {
        const Rank first = team.rank - seat.lower;
        if (!fold_slots(team, op, first, 1, seat.lower, lower)) return Step::kBlocked;
        op.phase = kAddsOwn;
    }
    if (op.phase == kAddsOwn) {
        if (seat.hands_on && !may_write(team, op, op.call.bytes)) return Step::kBlocked;
        if (seat.lower > 0) add_own(team, op, seat);
        op.phase = kFoldsGroups;
    }
    std::byte* const before = fold_space(team);
    const Rank first_leader = seat.size - 1;
    if (!fold_slots(team, op, first_leader, seat.size, seat.group, before)) return Step::kBlocked;
    const std::byte* of_group = seat.lower > 0 ? lower : nullptr;
    if (seat.lower == 0 && !is_exclusive(op)) of_group = op.call.vector();
    finish_result(team, op, seat.group > 0 ? before : nullptr, of_group);
    return seat.is_last ? finish_small_synchronized(team, op) : finish_small(team, op);
}

Cost group_scan_cost(const Team& team, const Op& op) {
    const GroupSeat seat(team);
    const uint64_t bytes = op.call.bytes;
    const uint64_t read = seat.lower + seat.group;
    const uint64_t operands = read + (is_exclusive(op) ? 0 : 1);
    const uint64_t for_others = is_exclusive(op) && seat.hands_on ? 1 : 0;
    Cost cost;
    cost.rounds = team.size > seat.size ? 2 : 1;
    cost.written_bytes = seat.is_last ? 0 : bytes;
    cost.read_bytes = read * bytes;
    cost.folded_bytes = ((operands > 0 ? operands - 1 : 0) + for_others) * bytes;
    return cost;
}

}  // namespace tutti::node
