// SPDX-License-Identifier: BSD-3-Clause
// By which network a team's multicast goes: the members try one after the other, in the order of
// base/multicast_networks.inc, and know alike what became of each.
#include <optional>
#include <string>
#include <utility>

#include "base/multicast_networks.h"
#include "run/bootstrap/make_multicast.h"
#include "run/multicast/network_choice.h"

namespace tutti::bootstrap {

using multicast::MulticastOutcome;
using multicast::NetworkChoice;

Result<MulticastOutcome> make_multicast(engine::Context& context, Circle& all,
                                        const NodeMembers& node, engine::InterNode& inter_node) {
    if (!wants_multicast(context.settings())) return MulticastOutcome{};
    NetworkChoice choice(context.settings().mcast.over);
    while (const auto network = choice.next()) {
        std::optional<Result<MulticastOutcome>> made;
        // The text of what all have found takes memory: a member without goes on all the same.
        const Report memory = guarded([&] {
            made = make_multicast_over(*network, context, all, node, inter_node);
            return Report{};
        });
        if (made && !*made) return std::move(*made);
        // A text so short that it takes no memory.
        choice.take(made ? std::move(made->value()) : MulticastOutcome{nullptr, memory.detail});
        if (!choice.kept() || !choice.next()) continue;
        const sched::Speed& message = choice.kept()->agreed().message;
        if (message.mbit != 0) inter_node.adopt_speed(message);  // not measured once more
    }
    return choice.finish();
}

void tell_obstacle(engine::Context& context, const std::string& team, uint32_t rank,
                   const MulticastOutcome& outcome) {
    const McastSettings& settings = context.settings().mcast;
    bool is_wanted = settings.choice == McastChoice::kOn;
    std::string line = team + " has no multicast: " + outcome.obstacle;
    std::string obstacle = outcome.obstacle;
    if (outcome.route) {
        const size_t first = settings.over.first;
        is_wanted = !settings.over.takes_faster;
        obstacle = outcome.route->agreed().obstacles[first];
        line = team + " has its multicast by ";
        line.append(kMulticastNetworks[outcome.route->network()].title).append(", not by ");
        line.append(kMulticastNetworks[first].title).append(": ") += obstacle;
    }
    if (obstacle.empty() || rank != 0 || !context.process_multicast().is_new(obstacle)) return;
    context.log(is_wanted ? TUTTI_LOG_ERROR : TUTTI_LOG_INFO, line);
}

}  // namespace tutti::bootstrap
