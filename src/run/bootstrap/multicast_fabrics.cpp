// SPDX-License-Identifier: BSD-3-Clause
// Which fabric carries a team's multicast: all members try verbs, if that is wanted, and know alike
// what became of it. They try UDP where it came to nothing, and under TUTTI_MCAST_OVER=auto where
// it did not, too: then they keep the one that is predicted to be faster.
#include <optional>
#include <string>
#include <utility>

#include "run/bootstrap/make_multicast.h"
#include "run/multicast/fabric_choice.h"

namespace tutti::bootstrap {

using multicast::AgreedMulticast;
using multicast::MulticastOutcome;
using multicast::Predicted;
using transport::fabrics::Fabric;

namespace {

using Made = std::optional<Result<MulticastOutcome>>;

// By UDP, where verbs are there. What both measured all members know alike, and so they all keep
// the same; what is not kept has been used by nobody, and goes at once.
Result<MulticastOutcome> keep_faster(engine::Context& context, Circle& all, const NodeMembers& node,
                                     engine::InterNode& inter_node, MulticastOutcome by_verbs) {
    AgreedMulticast& verbs = by_verbs.route->agreed();
    if (verbs.message.mbit != 0) inter_node.adopt_speed(verbs.message);  // not once more
    Made made;
    const Report memory = guarded([&] {
        made = make_multicast_over(Fabric::kUdp, context, all, node, inter_node);
        return Report{};
    });
    if (!made) {
        verbs.no_udp = memory.detail;  // so short that it takes none
        return by_verbs;
    }
    if (!*made) return std::move(*made);
    if (!made->value().route) {
        verbs.no_udp = std::move(made->value().obstacle);
        return by_verbs;
    }
    AgreedMulticast& udp = made->value().route->agreed();
    const Predicted udp_takes = multicast::predict(udp);
    const Predicted verbs_take = multicast::predict(verbs);
    const bool takes_udp = multicast::is_udp_faster(verbs_take, udp_takes);
    (takes_udp ? udp : verbs).predicted = {udp_takes, verbs_take};  // by Fabric
    if (takes_udp) return std::move(*made);
    return by_verbs;
}

}  // namespace

Result<MulticastOutcome> make_multicast(engine::Context& context, Circle& all,
                                        const NodeMembers& node, engine::InterNode& inter_node) {
    if (!wants_multicast(context.settings())) return MulticastOutcome{};
    const McastOver over = context.settings().mcast.over;
    Report no_verbs;
    if (over != McastOver::kUdp) {
        Made made;
        // The text of what all have found takes memory: a member without goes on all the same.
        no_verbs = guarded([&] {
            made = make_multicast_over(Fabric::kVerbs, context, all, node, inter_node);
            return *made ? report_of(Obstacle::kNetwork, made->value().obstacle) : Report{};
        });
        if (made && !*made) return std::move(*made);
        if (made && made->value().route) {
            if (over == McastOver::kVerbs) return std::move(*made);
            return keep_faster(context, all, node, inter_node, std::move(made->value()));
        }
    }
    auto made = make_multicast_over(Fabric::kUdp, context, all, node, inter_node);
    if (!made || no_verbs.obstacle == Obstacle::kNone) return made;
    MulticastOutcome& outcome = made.value();
    const std::string reason = no_verbs.detail;
    if (outcome.route) {
        outcome.route->agreed().no_verbs = reason;
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
        obstacle = outcome.route->agreed().no_verbs;
        line = team + " has its multicast by UDP, not by verbs: " + obstacle;
    }
    if (obstacle.empty() || rank != 0 || !context.process_multicast().is_new(obstacle)) return;
    context.log(is_wanted ? TUTTI_LOG_ERROR : TUTTI_LOG_INFO, line);
}

}  // namespace tutti::bootstrap
