// SPDX-License-Identifier: BSD-3-Clause
// Measures messages between hosts, for a team that has made calls already.
#pragma once

#include <cstdint>
#include <vector>

#include "base/settings.h"
#include "plan/select/rules.h"
#include "run/engine/agenda.h"
#include "run/engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// Whether a team across hosts is to measure under these settings, when its calls come often.
bool may_measure(const Settings& settings, const select::Rules& rules);

// Of a team across hosts. Where it cannot be measured, that is no error, and it is not tried again.
class SpeedDuty final : public engine::Duty {
  public:
    // team outlives this; nodes: by rank, the host's identity.
    SpeedDuty(engine::Team& team, std::vector<uint64_t> nodes);
    [[nodiscard]] bool is_due() override;
    tutti_status run() override;
    [[nodiscard]] bool is_over() const override { return has_run_; }

  private:
    engine::Team& team_;
    std::vector<uint64_t> hosts_;  // ascending
    bool has_run_ = false;
};

}  // namespace tutti::bootstrap
