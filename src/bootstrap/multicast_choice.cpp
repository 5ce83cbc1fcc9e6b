// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/multicast_choice.h"

#include "algo/registry.h"
#include "select/rules.h"

namespace tutti::bootstrap {

// Pretended hosts have no need of it, except for tests.
bool wants_multicast(const Settings& settings) {
    return settings.mcast.choice == McastChoice::kOn ||
           (settings.mcast.choice == McastChoice::kAuto && settings.hosts == 0);
}

bool may_wait_for_multicast(const Settings& settings) {
    if (settings.mcast.choice != McastChoice::kAuto) return false;
    // Who is to be told of ranks that call other things, or come late, is told so in every call.
    if (settings.watches_calls()) return false;
    for (size_t i = 0; i < settings.forced.size(); ++i) {
        if (settings.forced[i].empty()) continue;
        const auto collective = static_cast<tutti_collective>(i);
        const auto forced = select::parse_forced(collective, settings.forced[i]);
        const auto* algorithm = forced ? algo::find(collective, forced.value().algorithm) : nullptr;
        if (algorithm && algorithm->has_multicast) return false;
    }
    return true;
}

}  // namespace tutti::bootstrap
