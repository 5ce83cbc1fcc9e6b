// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/plan_inner.h"

#include <algorithm>
#include <utility>

#include "plan/sched/operation_kinds.h"

namespace tutti::algo {
namespace {

using sched::Block;
using sched::Buffer;
using sched::Operation;
using sched::Round;

uint64_t mask_of_writers(const Round& round) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < round.size(); ++i) {
        const sched::OperationRow& row = sched::row_of(round[i]);
        const bool only_feeds = sched::is_feed(round[i]) && round[i].to.bytes == 0;
        // What stands behind a multicast waits for it at its sender, too.
        const bool writes =
            (row.to == sched::Use::kWritten && !only_feeds) || row.among == sched::Among::kTeam;
        if (writes) mask |= sched::after_op(i);
    }
    return mask;
}

// Beside the last sends if the last round only sends, else behind it: a round that feeds holds
// nothing else.
void place_closing(Inner& inner) {
    const uint64_t rounds = inner.extent.rounds;
    if (rounds == 0) return;
    Round round;
    inner.program->read(0, rounds - 1, round);
    const uint64_t writers = mask_of_writers(round);
    const bool feeds = sched::feeds(round);
    if (writers != 0 || feeds || round.size() == sched::kRoundOpsMax) {
        inner.closing_round = rounds;
        inner.closing_after = writers;
        return;
    }
    inner.closing_round = rounds - 1;
    if (rounds == 1) return;
    inner.program->read(0, rounds - 2, round);
    inner.closing_after = mask_of_writers(round);
}

uint64_t first_telling_round(const Inner& inner) {
    const auto tells = [&](uint64_t k) {
        Round round;
        inner.program->read(0, k, round);
        return std::ranges::any_of(
            round, [](const Operation& operation) { return sched::is_multicast(operation.kind); });
    };
    uint64_t low = 0;
    uint64_t high = inner.extent.rounds;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (tells(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

}  // namespace

Inner::Inner(std::unique_ptr<Program> made, bool is_told)
    : program(std::move(made)), extent(program->extent()) {
    TUTTI_ASSERT(extent.lanes == 1, "algorithms have one lane");
    place_closing(*this);
    if (is_told) telling_round = first_telling_round(*this);
}

void read_inner(const Inner& inner, uint64_t round, const Layout& layout, const InnerPlace& place,
                Round& out) {
    inner.program->read(0, round, out);
    const auto move = [&](Block& block) {
        Mapped to{Buffer::kScratch, place.scratch_offset};
        if (block.buffer == Buffer::kNone) return;
        if (block.buffer == Buffer::kInput) to = place.input;
        if (block.buffer == Buffer::kOutput) to = place.output;
        block.buffer = to.buffer;
        block.offset += to.offset;
    };
    for (Operation& operation : out) {
        // The algorithm has no round before its first, so its mask there says nothing. What lands
        // in scratch of its own, or beside what the opening makes, may be received from the start.
        const bool may_land = sched::is_recv(operation) && operation.after == sched::kAfterNone &&
                              (operation.to.buffer == Buffer::kScratch || place.lands_apart);
        if (round == 0 && place.follows_opening && !may_land) operation.after = sched::kAfterAll;
        const sched::OperationRow& kind = sched::row_of(operation);
        if (kind.order == sched::Order::kOfMulticasts) operation.order += place.multicasts_before;
        if (kind.has_participant) operation.peer = layout.rank_of(operation.peer, place.lane);
        move(operation.to);
        move(operation.left);
        move(operation.right);
        // Where input and output coincide, copying one to the other is nothing to do.
        if (sched::is_copy(operation) && operation.to == operation.left) {
            operation.to = operation.left = Block{};
        }
    }
}

}  // namespace tutti::algo
