// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/multicast_choice.h"

#include "plan/algo/registry.h"

namespace tutti::bootstrap {

// Pretended hosts have no need of it, except for tests.
bool wants_multicast(const Settings& settings) {
    return settings.mcast.choice == McastChoice::kOn ||
           (settings.mcast.choice == McastChoice::kAuto && settings.hosts == 0);
}

bool may_wait_for_multicast(const Settings& settings, const select::Rules& rules) {
    if (settings.mcast.choice != McastChoice::kAuto) return false;
    // Who is to be told of ranks that call other things, or come late, is told so in every call.
    if (settings.watch.watches_calls()) return false;
    for (int i = 0; i < TUTTI_COLLECTIVE_COUNT; ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        const select::Forced* forced = rules.forced(collective);
        const auto* algorithm = forced ? algo::find(collective, forced->algorithm) : nullptr;
        if (algorithm && algorithm->has_multicast) return false;
    }
    return true;
}

}  // namespace tutti::bootstrap
