// SPDX-License-Identifier: BSD-3-Clause
// The state of a rank that the other ranks of its node can see, and its own position. If a step of
// the rank changes none of it, that step lets no other rank progress. So others are woken on a
// change. The simulated clusters wake them on nothing else, which proves it.
#pragma once

#include <cstdint>

#include "run/node/node_team.h"

namespace tutti::node {

class ProgressSnapshot {
  public:
    // op: the node's operation that is under way, or nullptr.
    ProgressSnapshot(const Team& team, const Op* op) {
        const DoneWords& done = team.slice.done(team.rank);
        published_ = team.slice.ready(team.rank).published.load(std::memory_order_relaxed);
        calls_done_ = done.calls_done.load(std::memory_order_relaxed);
        consumed_ = done.chunks_consumed.load(std::memory_order_relaxed);
        number_ = team.bases.call;
        if (!op) return;
        is_busy_ = true;
        phase_ = op->phase;
        next_ = op->next;
        posted_ = op->posted;
        taken_ = op->taken;
        line_ = op->line;
        ringed_ = op->events_used > 0 ? op->ringed : 0;
    }
    bool operator==(const ProgressSnapshot&) const = default;

  private:
    uint64_t published_ = 0;
    uint64_t calls_done_ = 0;
    uint64_t consumed_ = 0;
    uint64_t number_ = 0;
    bool is_busy_ = false;
    uint32_t phase_ = 0;
    Rank next_ = 0;
    uint64_t posted_ = 0;
    uint64_t taken_ = 0;
    uint64_t line_ = 0;
    Rank ringed_ = 0;
};

}  // namespace tutti::node
