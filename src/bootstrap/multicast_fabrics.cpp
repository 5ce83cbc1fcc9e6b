// SPDX-License-Identifier: BSD-3-Clause
// Which fabric carries a team's multicast: all members try verbs, if that is wanted, know alike
// what became of it, and try UDP only where it came to nothing.
#include <optional>
#include <string>
#include <utility>

#include "bootstrap/make_multicast.h"

namespace tutti::bootstrap {

using multicast::MulticastOutcome;
using transport::fabrics::Fabric;

Result<MulticastOutcome> make_multicast(engine::Context& context, Circle& all,
                                        const NodeMembers& node, engine::InterNode& inter_node) {
    if (!wants_multicast(context.settings())) return MulticastOutcome{};
    Report no_verbs;
    if (context.settings().mcast.over != McastOver::kUdp) {
        std::optional<Result<MulticastOutcome>> made;
        // The text of what all have found takes memory: a member without goes on all the same.
        no_verbs = guarded([&] {
            made = make_multicast_over(Fabric::kVerbs, context, all, node, inter_node);
            return *made ? report_of(Obstacle::kNetwork, made->value().obstacle) : Report{};
        });
        if (made && (!*made || made->value().route)) return std::move(*made);
    }
    auto made = make_multicast_over(Fabric::kUdp, context, all, node, inter_node);
    if (!made || no_verbs.obstacle == Obstacle::kNone) return made;
    MulticastOutcome& outcome = made.value();
    const std::string reason = no_verbs.detail;
    if (outcome.route) {
        outcome.route->facts().no_verbs = reason;
    } else {
        outcome.obstacle = "by verbs: " + reason + "; by UDP: " + outcome.obstacle;
    }
    return made;
}

void tell_obstacle(engine::Context& context, const std::string& team, uint32_t rank,
                   const MulticastOutcome& outcome) {
    const McastSettings& settings = context.settings().mcast;
    bool is_wanted = settings.choice == McastChoice::kOn;
    std::string line = team + " has no multicast: " + outcome.obstacle;
    std::string obstacle = outcome.obstacle;
    if (outcome.route) {
        is_wanted = settings.over == McastOver::kVerbs;
        obstacle = outcome.route->facts().no_verbs;
        line = team + " has its multicast by UDP, not by verbs: " + obstacle;
    }
    if (obstacle.empty() || rank != 0 || !context.process_multicast().is_new(obstacle)) return;
    context.log(is_wanted ? TUTTI_LOG_ERROR : TUTTI_LOG_INFO, line);
}

}  // namespace tutti::bootstrap
