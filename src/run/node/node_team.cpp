// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/node_team.h"

#include <algorithm>

#include "run/node/detail.h"
#include "run/node/offer.h"

namespace tutti::node {

void prepare(Team& team) {
    TUTTI_ASSERT(team.rank < team.size, "rank within the team");
    TUTTI_ASSERT(team.slice.geometry.ranks == team.size, "geometry of this team");
    team.local.scratch = std::make_unique<std::byte[]>(kScratchBytes);
    team.local.operands.assign(team.size, nullptr);
    team.single_copy.by_ring.assign(team.size, 0);
    if (team.slice.geometry.is_lean) {
        TUTTI_ASSERT(team.lean.pool != nullptr, "a lean team has a pool");
        team.lean.part = &team.lean.pool->join(team.slice, team.rank);
    }
    if (!team.copying.ahead) team.copying.ahead = find_copy_ahead(best_isa(IsaChoice::kAuto));
    if (!team.local.fold_buffer) team.local.fold_buffer = std::make_shared<FoldBuffer>();
    if (!team.layout.distance.empty()) {
        uint32_t most = 0;
        for (const Rank child : team.layout.children[team.rank]) {
            most = std::max(most, team.layout.distance[child]);
        }
        team.children_distance = std::min(most, kDistancesMax - 1);
    }
    choose_small(team);
    team.own_notes = team.slice.notes(team.rank);
}

void retract(Team& team, const Op& op) {
    team.bases.call = op.number - 1;
    if (op.events_used == 0) return;
    team.bases.events = op.events;
    team.bases.chunks = op.chunks;
}

void announce(Team& team, const Op& op) {
    team.slice.done(team.rank).calls_entered.store(op.number, std::memory_order_relaxed);
}

std::vector<Rank> not_arrived(const Team& team, const Op& op) {
    std::vector<Rank> missing;
    for (Rank rank = 0; rank < team.size; ++rank) {
        if (rank == team.rank) continue;
        const DoneWords& words = team.slice.done(rank);
        const uint64_t entered = std::max(words.calls_entered.load(std::memory_order_relaxed),
                                          words.calls_done.load(std::memory_order_relaxed));
        // A rank that has written its slot has entered, whether it announced itself or not.
        // A scatter's root may write there.
        const bool has_slot =
            op.call.collective != TUTTI_SCATTER && op.call.collective != TUTTI_SCATTERV &&
            is_same_number(line_flag(begin_of(team.slice.up_slot(rank, op.slot), op.flag))
                               .load(std::memory_order_relaxed),
                           op.flag);
        const bool has_chunk = op.events_used > 0 && has_published(team, rank, op.events + 1);
        const bool has_offer = look_at_offer(team, op, rank) != Offered::kNotYet;
        if (entered < op.number && !has_slot && !has_chunk && !has_offer) missing.push_back(rank);
    }
    return missing;
}

}  // namespace tutti::node
