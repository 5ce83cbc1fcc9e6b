// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/shares.h"

#include <map>

namespace tutti::survey {

std::vector<double> fair_shares(const topo::Fabric& fabric, std::span<const Transfer> transfers) {
    struct Load {
        double left = 0;  // bytes per nanosecond
        uint32_t transfers = 0;
    };
    std::map<uint32_t, Load> loads;  // by link
    std::vector<topo::LinkRoute> routes;
    for (const Transfer& transfer : transfers) {
        routes.push_back(link_route(fabric, transfer.from, transfer.to));
        for (uint32_t hop = 0; hop < routes.back().hops(); ++hop) {
            const uint32_t link = routes.back()[hop];
            Load& load = loads[link];
            load.left = static_cast<double>(fabric.link_bits_per_s(link)) / 8e9;
            ++load.transfers;
        }
    }
    std::vector<double> shares(transfers.size(), kNoSpeed);
    const auto share_of = [](const Load& load) { return load.left / load.transfers; };
    for (size_t fixed = 0; fixed < transfers.size();) {
        const std::pair<const uint32_t, Load>* tightest = nullptr;
        for (const auto& entry : loads) {
            if (entry.second.transfers == 0) continue;
            if (!tightest || share_of(entry.second) < share_of(tightest->second)) tightest = &entry;
        }
        const uint32_t link = tightest->first;
        const double share = share_of(tightest->second);
        for (size_t i = 0; i < transfers.size(); ++i) {
            bool passes = false;
            for (uint32_t hop = 0; hop < routes[i].hops(); ++hop) passes |= routes[i][hop] == link;
            if (!passes || shares[i] >= 0) continue;
            shares[i] = share;
            ++fixed;
            for (uint32_t hop = 0; hop < routes[i].hops(); ++hop) {
                Load& load = loads[routes[i][hop]];
                load.left -= share;
                --load.transfers;
            }
        }
    }
    return shares;
}

}  // namespace tutti::survey
