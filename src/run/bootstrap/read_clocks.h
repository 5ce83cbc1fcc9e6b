// SPDX-License-Identifier: BSD-3-Clause
// Reads the clock of the first member, for a team across hosts that has made calls already.
#pragma once

#include "run/engine/agenda.h"
#include "run/engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// Each host reads the clock of another one, by the best of some messages there and back
// (run/adapt/clock_offset.h), in as many steps as the hosts' number has bits; together they lead to
// the first. Where there is no memory for it, the team does without figures.
class ClockDuty final : public engine::Duty {
  public:
    // team: whose calls are sampled; outlives this.
    explicit ClockDuty(engine::Team& team) : team_(team) {}
    [[nodiscard]] bool is_due() override;
    tutti_status run() override;

  private:
    engine::Team& team_;
};

}  // namespace tutti::bootstrap
