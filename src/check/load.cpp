// SPDX-License-Identifier: BSD-3-Clause
#include "check/load.h"

#include <algorithm>
#include <vector>

#include "check/count.h"
#include "topo/multicast_tree.h"

namespace tutti::check {
namespace {

std::vector<uint32_t> hosts_of(const topo::Placement& placement) {
    std::vector<uint32_t> hosts(placement.nodes());
    for (uint32_t host = 0; host < hosts.size(); ++host) hosts[host] = host;
    return hosts;
}

void add_multicast(const topo::MulticastTree& tree, uint32_t link, std::vector<uint64_t>& load) {
    ++load[link];
    tree.for_each_next(link, [&](uint32_t next) { add_multicast(tree, next, load); });
}

}  // namespace

LinkLoad link_load(const topo::Fabric& fabric, const topo::Placement& placement,
                   std::span<const std::unique_ptr<sched::Program>> programs) {
    const topo::MulticastTree tree(fabric, hosts_of(placement));
    LinkLoad result;
    size_t number = 0;
    for (const std::vector<Passage>& step : steps(placement, programs)) {
        std::vector<uint64_t> load(fabric.links());
        for (const Passage& passage : step) {
            const uint32_t from = placement.node_of(passage.sender);
            if (passage.is_multicast) {
                if (placement.nodes() == 1) continue;
                add_multicast(tree, topo::MulticastTree::first_link(from), load);
                continue;
            }
            const uint32_t to = placement.node_of(passage.receiver);
            if (from == to) continue;
            const topo::LinkRoute route = topo::link_route(fabric, from, to);
            for (uint32_t hop = 0; hop < route.hops(); ++hop) ++load[route[hop]];
        }
        for (uint32_t link = 0; link < load.size(); ++link) {
            result.extra += std::max<uint64_t>(load[link], 1) - 1;
            if (load[link] <= result.messages) continue;
            result.messages = load[link];
            result.step = number;
            result.link = link;
        }
        ++number;
    }
    return result;
}

std::string link_text(const topo::Fabric& fabric, uint32_t link) {
    const bool is_up = link % 2 == 0;
    if (link < 2 * fabric.hosts()) {
        return (is_up ? "from host " : "to host ") + std::to_string(link / 2);
    }
    return (is_up ? "up from switch " : "down to switch ") +
           std::to_string(link / 2 - fabric.hosts());
}

}  // namespace tutti::check
