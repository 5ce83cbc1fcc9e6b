// SPDX-License-Identifier: BSD-3-Clause
// Which rounds of a lane are followed in time. Of a stretch of rounds that are alike the first few
// are, and the last of these say how long the others take. Inside price/ only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/sched/program.h"
#include "plan/sched/shortened.h"

namespace tutti::price {

class FollowedRounds {
  public:
    // Of a lane whose longest program has so many.
    FollowedRounds(uint64_t rounds, std::span<const sched::Stretch> alike);
    [[nodiscard]] bool has_left_out() const { return !gaps_.empty(); }
    // A program's rounds that are followed; must not outlive it.
    [[nodiscard]] std::unique_ptr<sched::Program> brief(const sched::Program& whole) const;

    // A participant had completed so many of them then.
    void complete(uint64_t rounds, uint64_t at_ns);
    // What the others take.
    [[nodiscard]] uint64_t left_out_ns() const;
    // The load of all rounds, where the followed ones load something so: the others do alike.
    [[nodiscard]] uint64_t whole_ns(uint64_t load_ns) const {
        return load_ns * whole_ / (rounds_ > 0 ? rounds_ : 1);
    }

  private:
    struct Gap {
        uint64_t behind = 0;  // rounds that are followed up to there
        uint64_t rounds = 0;  // that are left out
    };

    const uint64_t whole_;
    uint64_t rounds_;  // that are followed
    std::vector<sched::Stretch> stretches_;
    std::vector<Gap> gaps_;
    std::vector<uint64_t> ends_ns_;  // by rounds: when the last one had completed so many
};

}  // namespace tutti::price
