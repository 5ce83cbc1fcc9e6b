// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/fabric.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::topo {
namespace {

// Switches from this one to the root, or kSwitchLevelsMax + 1 if the root is not found.
uint32_t depth(const Fabric& fabric, uint32_t at) {
    uint32_t levels = 0;
    while (at != kNoSwitch && levels <= kSwitchLevelsMax) {
        at = at < fabric.switches() ? fabric.parent_of_switch[at] : 0;
        ++levels;
    }
    return levels;
}

}  // namespace

Fabric Fabric::one_switch(uint32_t hosts) { return leaves({&hosts, 1}); }

Fabric Fabric::leaves(std::span<const uint32_t> hosts_of_leaf) {
    Fabric fabric;
    const auto count = static_cast<uint32_t>(hosts_of_leaf.size());
    for (uint32_t leaf = 0; leaf < count; ++leaf) {
        fabric.parent_of_switch.push_back(count > 1 ? count : kNoSwitch);
        fabric.switch_of_host.insert(fabric.switch_of_host.end(), hosts_of_leaf[leaf], leaf);
    }
    if (count > 1) fabric.parent_of_switch.push_back(kNoSwitch);
    return fabric;
}

void Fabric::set_host_links(std::vector<Trunk> links) {
    TUTTI_ASSERT(links.size() == hosts(), "one by host");
    host_links_ = std::move(links);
}

void Fabric::set_switch_links(std::vector<Trunk> links) {
    TUTTI_ASSERT(links.size() == switches(), "one by switch");
    switch_links_ = std::move(links);
    links_before_.assign(1, 0);
    for (uint32_t at = 0; at < switches(); ++at) {
        if (parent_of_switch[at] == kNoSwitch) switch_links_[at].links = 1;
        links_before_.push_back(links_before_.back() + switch_links_[at].links);
    }
}

uint32_t Fabric::switch_below(uint32_t link) const {
    const uint32_t number = link / 2 - hosts();
    if (links_before_.empty()) return number;
    const auto next = std::upper_bound(links_before_.begin(), links_before_.end(), number);
    return static_cast<uint32_t>(next - links_before_.begin()) - 1;
}

// nullptr where it is like all others.
const Trunk* Fabric::own_link(uint32_t link) const {
    if (is_host_link(link)) return host_links_.empty() ? nullptr : &host_links_[link / 2];
    return switch_links_.empty() ? nullptr : &switch_links_[switch_below(link)];
}

uint64_t Fabric::link_bits_per_s(uint32_t link) const {
    const Trunk* own = own_link(link);
    if (own && own->bits_per_s != 0) return own->bits_per_s;
    return is_host_link(link) ? host_bits_per_s : trunk_bits_per_s;
}

uint64_t Fabric::link_latency_ns(uint32_t link) const {
    const Trunk* own = own_link(link);
    if (own && own->latency_ns != 0) return own->latency_ns;
    if (trunk_latency_ns != 0 && !is_host_link(link)) return trunk_latency_ns;
    return link % 2 == 0 ? latency_ns / 2 : latency_ns - latency_ns / 2;
}

bool Fabric::has_one_latency() const {
    const uint64_t first = link_latency_ns(0);
    const auto is_other = [&](uint32_t link) { return link_latency_ns(link) != first; };
    for (uint32_t host = 0; host < hosts(); ++host) {
        if (is_other(2 * host)) return false;
    }
    for (uint32_t at = 0; at < switches(); ++at) {
        if (parent_of_switch[at] != kNoSwitch && is_other(first_link(at))) return false;
    }
    return true;
}

std::vector<uint32_t> Fabric::hosts_of_switch() const {
    std::vector<uint32_t> hosts(switches());
    for (const uint32_t at : switch_of_host) ++hosts[at];
    return hosts;
}

bool Fabric::is_valid() const {
    const auto roots = std::count(parent_of_switch.begin(), parent_of_switch.end(), kNoSwitch);
    if (hosts() == 0 || roots != 1) return false;
    if (host_bits_per_s == 0 || trunk_bits_per_s == 0 || latency_ns < 2) return false;
    for (uint32_t at = 0; at < switches(); ++at) {
        const uint32_t parent = parent_of_switch[at];
        if (parent != kNoSwitch && parent >= switches()) return false;
        if (depth(*this, at) > kSwitchLevelsMax) return false;
    }
    // Whoever changes hosts or switches after giving them links says these anew.
    if (!host_links_.empty() && host_links_.size() != hosts()) return false;
    if (!number_of_host.empty() && number_of_host.size() != hosts()) return false;
    if (!switch_links_.empty() && switch_links_.size() != switches()) return false;
    const auto has_links = [](const Trunk& one) { return one.links > 0; };
    if (!std::all_of(switch_links_.begin(), switch_links_.end(), has_links)) return false;
    return std::all_of(switch_of_host.begin(), switch_of_host.end(),
                       [this](uint32_t at) { return at < switches(); });
}

LinkRoute link_route(const Fabric& fabric, uint32_t from_host, uint32_t to_host) {
    TUTTI_ASSERT(from_host != to_host, "a route between two hosts");
    const auto switch_link = [&](uint32_t at) {
        return fabric.first_link(at) + 2 * (fabric.number_of(to_host) % fabric.links_up(at));
    };
    LinkRoute route;
    route.add(2 * from_host);
    uint32_t up = fabric.switch_of_host[from_host];
    uint32_t down = fabric.switch_of_host[to_host];
    uint32_t up_levels = depth(fabric, up);
    uint32_t down_levels = depth(fabric, down);
    std::array<uint32_t, kSwitchLevelsMax> descent{};
    uint32_t descents = 0;
    while (up != down) {
        const bool climbs = up_levels >= down_levels;
        if (up_levels <= down_levels) {
            descent[descents++] = switch_link(down) + 1;
            down = fabric.parent_of_switch[down];
            --down_levels;
        }
        if (climbs) {
            route.add(switch_link(up));
            up = fabric.parent_of_switch[up];
            --up_levels;
        }
    }
    while (descents > 0) route.add(descent[--descents]);
    route.add(2 * to_host + 1);
    return route;
}

uint64_t route_latency_ns(const Fabric& fabric, const LinkRoute& route) {
    uint64_t sum = 0;
    for (uint32_t hop = 0; hop < route.hops(); ++hop) {
        sum += fabric.link_latency_ns(route[hop]);
    }
    return sum;
}

}  // namespace tutti::topo
