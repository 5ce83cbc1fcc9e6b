// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/make_multicast.h"

#include <optional>
#include <utility>

#include "base/multicast_networks.h"
#include "run/bootstrap/message_meter.h"
#include "run/multicast/network_choice.h"

namespace tutti::bootstrap {

using multicast::MulticastOutcome;

namespace {

// The speed of the team's own messages.
class TeamSpeed final : public multicast::MessageSpeed {
  public:
    TeamSpeed(engine::Context& context, engine::InterNode& inter_node, uint32_t rank)
        : context_(context), inter_node_(inter_node), rank_(rank) {}
    [[nodiscard]] sched::Speed known() const override {
        return inter_node_.first().planner().message_speed();
    }
    void prepare(uint32_t partner) override {
        meter_.emplace(inter_node_, context_.clock(), rank_, partner);
    }
    Result<Done> measure(sched::Speed& speed) override {
        if (meter_->measure(speed)) return Done{};
        context_.remnants().keep(meter_->let_go());
        return cut_off(inter_node_.first().transport());
    }

  private:
    engine::Context& context_;
    engine::InterNode& inter_node_;
    const uint32_t rank_;
    std::optional<MessageMeter> meter_;
};

}  // namespace

Result<MulticastOutcome> make_multicast(engine::Context& context, Circle& all,
                                        const multicast::HostMembers& host,
                                        engine::InterNode& inter_node) {
    if (!wants_multicast(context.settings())) return MulticastOutcome{};
    TeamSpeed speed(context, inter_node, all.rank);
    const multicast::MakingParams params{context,
                                         context.process(),
                                         context.params().job_rank,
                                         inter_node.multicast(),
                                         inter_node.first().transport(),
                                         speed};
    multicast::NetworkChoice choice(context.settings().mcast.over);
    while (const auto network = choice.next()) {
        context.remnants().tidy();  // rings of teams that were freed
        std::optional<Result<MulticastOutcome>> made;
        // The text of what all have found takes memory: a member without goes on all the same.
        const Report memory = guarded([&] {
            made = multicast::make_over(*network, params, all, host);
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
