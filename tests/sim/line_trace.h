// SPDX-License-Identifier: BSD-3-Clause
// Which lines of a team's slice each rank reads or writes in the areas of others: exact, from the
// real code, by page protection and single steps of the processor.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "node/slice.h"

namespace tutti::test {

class LineTrace {
  public:
    // Where it cannot be done, why; else nullptr.
    static const char* obstacle();

    // memory: page-aligned; it stays as it is otherwise.
    explicit LineTrace(std::span<std::byte> memory);
    LineTrace(const LineTrace&) = delete;
    LineTrace& operator=(const LineTrace&) = delete;
    ~LineTrace();

    // Runs `step`; lines that it touches outside `own` are added to those of `rank`.
    void watch(node::Rank rank, std::span<std::byte> own, const std::function<void()>& step);

    // (rank, line from the beginning of the memory), each once.
    using Touched = std::set<std::pair<node::Rank, size_t>>;
    [[nodiscard]] const Touched& touched() const { return touched_; }

  private:
    std::span<std::byte> memory_;
    Touched touched_;
};

}  // namespace tutti::test
