// SPDX-License-Identifier: BSD-3-Clause
// Which calls of a team on one node the rules leave to the host MPI. Only made where some rule or
// setting can do that, so that all other teams pay nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/context.h"
#include "sched/shape.h"
#include "topo/placement.h"

namespace tutti::engine {

class HostChoice {
  public:
    // nullptr where the rules never leave a call of a team of so many ranks on one node to the
    // host.
    static std::unique_ptr<HostChoice> create(const Context& context, uint32_t ranks);
    HostChoice(const Context& context, uint32_t ranks);

    // Remembers what it answered; the same on all ranks.
    bool prefers_host(const sched::Shape& shape);

  private:
    struct Answer {
        sched::Shape shape;
        bool is_known = false;
        bool is_host = false;
    };
    static constexpr size_t kAnswers = 64;

    const Context& context_;
    topo::Placement placement_;
    std::array<Answer, kAnswers> answers_;
};

}  // namespace tutti::engine
