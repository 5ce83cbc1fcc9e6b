// SPDX-License-Identifier: BSD-3-Clause
// How fast messages between hosts are, for a team that has made calls already, so that algorithms
// can be chosen by price (plan/select/measured.h). All members are in one and the same call, which
// they have counted to alike, and meet in a barrier of messages; then
//
//   1  all: has everybody the memory, and what is known of these hosts from an earlier team?
//      That is all where everybody knows.
//      One rank of each host measures with one of its neighbour's, two by two.
//   2  all: the slowest pair's counts, and is kept for teams of these hosts or of some of them
#include "run/bootstrap/measure_messages.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "plan/select/measured.h"
#include "run/bootstrap/message_meter.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/context.h"
#include "run/engine/inter_node.h"

namespace tutti::bootstrap {
namespace {

struct SpeedCard {
    Obstacle obstacle = Obstacle::kNone;
    sched::Speed known;  // 0: it is not
};

struct SpeedFinding {
    uint32_t is_cut = 0;  // a message failed: nothing more comes by messages
    sched::Speed speed;   // 0 where it was not measured
};

class MessageTrial {
  public:
    MessageTrial(engine::Team& team, const std::vector<uint64_t>& hosts)
        : context_(team.context()),
          members_(team.members()),
          inter_node_(*team.inter_node()),
          hosts_(hosts),
          all_(members_.rank, members_.size, members_.allgather, members_.allgather_user) {}

    // The same on all members. An error of kind kBootstrap: they cannot talk to each other any
    // more.
    Result<sched::Speed> find_out();

  private:
    Report prepare(sched::Speed& known);
    Result<sched::Speed> measure();

    engine::Context& context_;
    const engine::Members& members_;
    engine::InterNode& inter_node_;
    const std::vector<uint64_t>& hosts_;
    Circle all_;
    std::optional<MessageMeter> meter_;
};

// Neighbours by number, all pairs at once: a network that carries this team's calls carries that.
// Of an odd number the last host is not measured.
Report MessageTrial::prepare(sched::Speed& known) {
    known = context_.findings().speed_of(hosts_);
    const topo::Placement& placement = inter_node_.placement();
    const uint32_t node = placement.node_of(members_.rank);
    const uint32_t partner = node ^ 1u;
    const bool measures = placement.members(node)[0] == members_.rank;
    if (measures && partner < placement.nodes()) {
        meter_.emplace(inter_node_, context_.clock(), members_.rank, placement.members(partner)[0]);
    }
    return {};
}

Result<sched::Speed> MessageTrial::measure() {
    SpeedFinding mine;
    if (meter_ && !meter_->measure(mine.speed)) {
        context_.remnants().keep(meter_->let_go());
        mine.is_cut = 1;
    }
    const auto findings = all_.exchange(mine);
    if (!findings) return findings.error();
    sched::Speed speed;
    for (const SpeedFinding& one : findings.value()) {
        if (one.is_cut != 0) return cut_off(inter_node_.first().transport());
        speed = slower(speed, one.speed);
    }
    return speed;
}

Result<sched::Speed> MessageTrial::find_out() {
    SpeedCard mine;
    mine.obstacle = guarded([&] { return prepare(mine.known); }).obstacle;
    const auto cards = all_.exchange(mine);
    if (!cards) return cards.error();
    bool is_known = true;
    sched::Speed known;
    for (const SpeedCard& card : cards.value()) {
        if (card.obstacle != Obstacle::kNone) return Error{ErrorCode::kMemory, "out of memory"};
        is_known &= card.known.mbit != 0;
        known = slower(known, card.known);
    }
    if (is_known) return known;
    auto found = measure();
    if (found) {
        // Without it, a later team measures again.
        static_cast<void>(guarded([&] {
            context_.findings().keep_speed(hosts_, found.value());
            return Report{};
        }));
    }
    return found;
}

}  // namespace

// Pretended hosts are one, except for tests. Who is to be told of ranks that call other things, or
// come late, is told so in every call.
bool may_measure(const Settings& settings, const select::Rules& rules) {
    if (settings.watch.watches_calls() || !select::admits_measured(settings, rules)) return false;
    return settings.rules.price == PriceChoice::kOn || settings.hosts == 0;
}

SpeedDuty::SpeedDuty(engine::Team& team, std::vector<uint64_t> nodes)
    : team_(team), hosts_(std::move(nodes)) {
    std::ranges::sort(hosts_);
    hosts_.erase(std::unique(hosts_.begin(), hosts_.end()), hosts_.end());
}

bool SpeedDuty::is_due() {
    const auto held = team_.inter_node()->hold();
    return team_.inter_node()->first().planner().is_speed_due();
}

tutti_status SpeedDuty::run() {
    has_run_ = true;
    const tutti_status met = team_.own_calls().meet();
    if (met != TUTTI_OK) return met;
    engine::InterNode& inter_node = *team_.inter_node();
    MessageTrial trial(team_, hosts_);
    const auto found = trial.find_out();
    inter_node.first().messages().forget_told();  // notes may have been lost meanwhile
    inter_node.adopt_speed(found ? found.value() : sched::Speed{});
    if (found || found.error().code != ErrorCode::kBootstrap) return TUTTI_OK;
    team_.give_up(TUTTI_ERR_NETWORK, found.error().message.c_str());
    return team_.members().broken;
}

}  // namespace tutti::bootstrap
