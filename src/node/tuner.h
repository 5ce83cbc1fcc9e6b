// SPDX-License-Identifier: BSD-3-Clause
// Keeps a team's tuning true: before some of its long calls, at numbers that all ranks know, it
// looks whether a barrier still takes as long as when the team was measured, and measures again
// where it does not, since then the ranks are on other processors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "node/meter.h"

namespace tutti::node {

struct Algorithm;

class Tuner {
  public:
    // figures: of the team, or of an earlier one of the same processes.
    Tuner(Clock& clock, const Tuning& untried, const TuningLimits& limits, const Figures& figures)
        : meter_(clock, untried, limits), figures_(figures) {}

    // Before a long call: whether it is time to look. Counts those that all ranks count alike.
    bool is_due(const Call& call) {
        // Ranks may differ in whether these are long (Team::tolerates).
        if (call.collective == TUTTI_GATHER || call.collective == TUTTI_SCATTER) return false;
        if (++calls_ < next_) return false;
        distance_ = std::min(2 * distance_, kDistanceMax);
        next_ = calls_ + distance_;
        return true;
    }
    // named: the algorithm that is to run the call then; nullptr: as the tuning says.
    void begin(const Algorithm* named) {
        named_ = named;
        meter_.begin(figures_);
    }
    Step step(Team& team) {
        const Step step = meter_.step(team);
        if (step != Step::kDone) return step;
        if (meter_.figures() != figures_) ++again_;
        figures_ = meter_.figures();
        return step;
    }
    [[nodiscard]] const Algorithm* named() const { return named_; }
    [[nodiscard]] Op& op() { return meter_.op(); }
    [[nodiscard]] const Figures& figures() const { return figures_; }
    // So often the figures are new since the first ones.
    [[nodiscard]] uint32_t again() const { return again_; }

  private:
    // A look takes as long as some 43 short calls: less than a hundredth of as many long ones.
    static constexpr uint64_t kDistanceMax = 1024;

    Meter meter_;
    Figures figures_;
    uint32_t again_ = 0;
    const Algorithm* named_ = nullptr;
    uint64_t calls_ = 0;
    uint64_t next_ = 64;
    uint64_t distance_ = 64;
};

}  // namespace tutti::node
