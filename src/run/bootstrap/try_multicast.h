// SPDX-License-Identifier: BSD-3-Clause
// Tries multicast for a team that has made calls already.
#pragma once

#include "run/engine/agenda.h"
#include "run/engine/team.h"
#include "tutti/tutti.h"

namespace tutti::bootstrap {

// Of a team across hosts. Where there is no multicast, that is no error.
class MulticastDuty final : public engine::Duty {
  public:
    // team outlives this.
    explicit MulticastDuty(engine::Team& team) : team_(team) {}
    [[nodiscard]] bool is_due() override;
    tutti_status run() override;
    [[nodiscard]] bool brings_ways() const override;

  private:
    engine::Team& team_;
};

}  // namespace tutti::bootstrap
