// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/team_networks.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::networks {

static_assert(kNetworks.size() < transport::Routes::kWaysMax, "each network is a way of a team");

TeamNetworks::TeamNetworks(const std::vector<transport::Transport*>& plain, const Networks& all,
                           const Settings& settings, const topo::Placement& placement,
                           uint32_t rank) {
    const FaultPlan& faults = settings.faults;
    for (transport::Transport* const one : plain) {
        routes_.emplace_back(*one);
        if (faults.reorder == 0) continue;
        faulty_.emplace_back(routes_.back(),
                             transport::Faults{faults.seed + rank, faults.reorder, 0});
    }
    for (size_t i = 0; i < all.size(); ++i) {
        if (!settings.wants_network(i)) continue;
        parts_.push_back({i, all[i].get(), all[i]->make_team(placement, rank), false, {}});
    }
    if (parts_.empty()) return;
    for (transport::Routes& routes : routes_) routes.reserve(placement.ranks());
}

transport::Transport& TeamNetworks::transport(uint32_t track) {
    if (!faulty_.empty()) return faulty_[track];
    return routes_[track];
}

void TeamNetworks::use(Part& part) {
    TUTTI_ASSERT(part.team && !part.is_used, "a network is used once it is made");
    part.is_used = true;
    for (uint32_t track = 0; track < routes_.size(); ++track) {
        transport::Transport* const messages = part.team->messages(track);
        if (!messages) return;
        transport::Routes& routes = routes_[track];
        const uint8_t way = routes.add(*messages);
        for (const transport::Rank peer : part.team->peers()) {
            if (routes.is_plain(peer)) routes.use(peer, way);
        }
        if (messages->adders() != 0 && routes.adders() == 0) routes.use_adders(way);
    }
}

// What this end has sent so far nobody waits for.
void TeamNetworks::drop(Part& part, std::string obstacle) {
    TUTTI_ASSERT(!part.is_used, "what is used stays until the team's end");
    part.team.reset();
    part.obstacle = std::move(obstacle);
}

NetworkSet TeamNetworks::in_use() const {
    NetworkSet found;
    for (const Part& part : parts_) {
        if (part.is_used) found.add(part.number);
    }
    return found;
}

template <class Do>
void TeamNetworks::for_each_used(Do what) {
    for (Part& part : parts_) {
        if (part.is_used && part.team->messages(0)) what(*part.team);
    }
}

bool TeamNetworks::has_messages() const {
    return std::ranges::any_of(
        parts_, [](const Part& part) { return part.is_used && part.team->messages(0); });
}

bool TeamNetworks::close() {
    bool are_closed = true;
    for_each_used([&](TeamNetwork& one) { are_closed &= one.close(); });
    return are_closed;
}

void TeamNetworks::give_up() {
    for_each_used([](TeamNetwork& one) { one.give_up(); });
}

bool TeamNetworks::has_settled(bool is_sound) {
    bool have_settled = true;
    for_each_used([&](TeamNetwork& one) { have_settled &= one.has_settled(is_sound); });
    return have_settled;
}

void TeamNetworks::tell(std::vector<FactRow>& rows, const Whose& whose) const {
    for (const Part& part : parts_) {
        if (part.is_used) {
            rows.push_back(part.team->facts(whose));
        } else if (!part.obstacle.empty()) {
            rows.push_back(part.network->facts_without(whose, part.obstacle));
        }
    }
}

}  // namespace tutti::networks
