// SPDX-License-Identifier: BSD-3-Clause
// Which calls of a team on one node the rules leave to the host MPI. Only made where some rule or
// setting can do that, so that all other teams pay nothing; and calls that no rule can leave pay
// two comparisons.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/context.h"
#include "sched/shape.h"
#include "select/rules.h"
#include "topo/placement.h"

namespace tutti::engine {

class HostChoice {
  public:
    // nullptr where the rules never leave a call of a team of so many ranks on one node to the
    // host.
    static std::unique_ptr<HostChoice> create(const Context& context, uint32_t ranks);

    // False: no rule leaves such a call to the host, whatever else is said of it.
    [[nodiscard]] bool may_leave(tutti_collective collective, uint64_t bytes) const {
        const auto& range = ranges_[collective];
        return range && range->contains(bytes);
    }
    // Remembers what it answered; the same on all ranks. The root does not count.
    bool prefers_host(sched::Shape shape);

  private:
    // Per collective the least range of bytes that holds all that some rule leaves to the host.
    using Ranges = std::array<std::optional<select::Range>, TUTTI_COLLECTIVE_COUNT>;
    struct Answer {
        sched::Shape shape;
        bool is_known = false;
        bool is_host = false;
    };
    static constexpr size_t kAnswers = 64;

    HostChoice(const Context& context, uint32_t ranks, const Ranges& ranges);
    static void add_ranges(const select::Rules& rules, const Context& context, uint32_t ranks,
                           Ranges& ranges);

    const Context& context_;
    topo::Placement placement_;
    Ranges ranges_;
    std::array<Answer, kAnswers> answers_;
};

}  // namespace tutti::engine
