// SPDX-License-Identifier: BSD-3-Clause
// A Program that is a list of operations: read from text, or made by hand in a test.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/sched/program.h"

namespace tutti::sched {

class ListProgram final : public Program {
  public:
    ListProgram(std::string name, Extent extent) : name_(std::move(name)), extent_(extent) {}

    // Lanes ascend, and the rounds of a lane; at most kRoundOpsMax operations a round.
    void add(uint64_t lane, uint64_t round, const Operation& operation) {
        if (rounds_.empty() || rounds_.back().lane != lane || rounds_.back().round != round) {
            rounds_.push_back({lane, round, operations_.size()});
        }
        operations_.push_back(operation);
    }

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] Extent extent() const override { return extent_; }
    void read(uint64_t lane, uint64_t round, Round& out) const override {
        out.clear();
        const auto found = std::ranges::lower_bound(
            rounds_, std::pair(lane, round), {},
            [](const OneRound& one) { return std::pair(one.lane, one.round); });
        if (found == rounds_.end() || found->lane != lane || found->round != round) return;
        const size_t end =
            std::next(found) == rounds_.end() ? operations_.size() : std::next(found)->first;
        for (size_t i = found->first; i < end; ++i) out.add(operations_[i]);
    }

  private:
    struct OneRound {
        uint64_t lane;
        uint64_t round;
        size_t first;  // of its operations
    };
    std::string name_;
    Extent extent_;
    std::vector<OneRound> rounds_;  // those that are not empty
    std::vector<Operation> operations_;
};

}  // namespace tutti::sched
