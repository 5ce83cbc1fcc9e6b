// SPDX-License-Identifier: BSD-3-Clause
// Which lines of a team's slice each rank reads or writes in the areas of others.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "sim/line_trap.h"

namespace tutti::test {

class LineTrace {
  public:
    // memory: page-aligned; it stays as it is otherwise.
    explicit LineTrace(std::span<std::byte> memory)
        : trap_(memory, [this](size_t line, bool) { touched_.emplace(rank_, line); }) {}

    // Runs `step`; lines that it touches outside `own` are added to those of `rank`.
    void watch(node::Rank rank, std::span<std::byte> own, const std::function<void()>& step) {
        rank_ = rank;
        trap_.close();
        trap_.open(own);
        step();
        trap_.open();
    }

    // (rank, line from the beginning of the memory), each once.
    using Touched = std::set<std::pair<node::Rank, size_t>>;
    [[nodiscard]] const Touched& touched() const { return touched_; }

  private:
    Touched touched_;
    node::Rank rank_ = 0;
    LineTrap trap_;
};

}  // namespace tutti::test
