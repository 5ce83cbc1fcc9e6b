// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/shared_links.h"

#include <algorithm>

namespace tutti::networks::rdma {

bool are_apart(uint64_t own, std::span<const uint64_t> peers) {
    std::vector<uint64_t> all(peers.begin(), peers.end());
    all.push_back(own);
    std::ranges::sort(all);
    return std::ranges::adjacent_find(all) == all.end();
}

Candidates find_links(RdmaNetwork& network, std::span<const uint64_t> peers, bool sleeps) {
    Candidates found;
    found.offers.needs_none = peers.empty() ? 1 : 0;
    if (peers.empty() || !are_apart(network.process().member(), peers)) return found;
    const auto all = network.links();
    size_t count = 0;
    for (auto at = all.rbegin(); at != all.rend() && count < LinksOffers::kOffersMax; ++at) {
        const transport::verbs::Links& links = *(*at)->links;
        auto link_of = (*at)->to(peers);
        if (!link_of || links.teams().free().none() || (sleeps && !links.may_sleep())) continue;
        found.offers.of[count] = {(*at)->id, links.teams().free()};
        found.found[count++] = {*at, std::move(*link_of)};
    }
    return found;
}

std::optional<Choice> choose_links(std::span<const LinksOffers> members) {
    const auto first = std::ranges::find(members, uint64_t{0}, &LinksOffers::needs_none);
    if (first == members.end()) return std::nullopt;
    for (auto at = first->of.rbegin(); at != first->of.rend(); ++at) {
        const LinksOffer& offer = *at;
        if (offer.id == 0) continue;
        transport::verbs::LinkTeams::Numbers free = offer.free;
        for (const LinksOffers& member : members) {
            if (member.needs_none != 0) continue;
            const auto same = std::ranges::find(member.of, offer.id, &LinksOffer::id);
            free &= same != member.of.end() ? same->free : transport::verbs::LinkTeams::Numbers{};
        }
        for (uint32_t number = 0; number < free.size(); ++number) {
            if (free[number]) return Choice{offer.id, number};
        }
    }
    return std::nullopt;
}

}  // namespace tutti::networks::rdma
