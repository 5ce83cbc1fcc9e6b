// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/verbs_links.h"

#include <algorithm>

namespace tutti::bootstrap {

bool are_apart(const engine::Context& context, std::span<const uint64_t> peers) {
    std::vector<uint64_t> all(peers.begin(), peers.end());
    all.push_back(context.member());
    std::ranges::sort(all);
    return std::ranges::adjacent_find(all) == all.end();
}

FoundLinks find_links(engine::Context& context, std::span<const uint64_t> peers) {
    FoundLinks found;
    if (peers.empty()) found.offer.id = LinksOffer::kAny;
    if (peers.empty() || !are_apart(context, peers)) return found;
    for (const auto& links : context.links()) {
        auto link_of = links->to(peers);
        if (!link_of) continue;
        return {{links->id, links->links->free_teams()}, links, std::move(*link_of)};
    }
    return found;
}

std::optional<uint32_t> choose_number(std::span<const LinksOffer> offers) {
    uint64_t id = LinksOffer::kAny;
    transport::verbs::Links::Teams free;
    free.set();
    for (const LinksOffer& one : offers) {
        if (one.id == LinksOffer::kAny) continue;
        if (one.id == LinksOffer::kNone || (id != LinksOffer::kAny && one.id != id)) {
            return std::nullopt;
        }
        id = one.id;
        free &= one.free;
    }
    if (id == LinksOffer::kAny || free.none()) return std::nullopt;
    uint32_t number = 0;
    while (!free[number]) ++number;
    return number;
}

}  // namespace tutti::bootstrap
