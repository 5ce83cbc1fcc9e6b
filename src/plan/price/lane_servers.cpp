// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/lane_servers.h"

#include <algorithm>

#include "base/amounts.h"

namespace tutti::price {

using sched::Rank;

Server Server::with(const Server& other) const {
    Server both;
    both.begun_ns_ = std::min(begun_ns_, other.begun_ns_);
    both.busy_until_ns_ = std::max(busy_until_ns_, other.busy_until_ns_);
    both.load_ns_ = load_ns_ + other.load_ns_;
    return both;
}

LaneServers::LaneServers(const Network& network, const NodeParameters& node, const Lanes& lanes)
    : network_(network),
      node_(node),
      lanes_(lanes),
      links_(network),
      posters_(lanes.participants),
      movers_(lanes.participants) {}

uint64_t LaneServers::fold(Rank rank, uint64_t ready_ns, uint64_t bytes) {
    return move(rank, ready_ns, bytes_ns(bytes, node_.reduce_bytes_per_s));
}

uint64_t LaneServers::copy(Rank rank, uint64_t ready_ns, uint64_t bytes) {
    return move(rank, ready_ns, bytes_ns(bytes, node_.copy_bytes_per_s));
}

LaneServers::Passed LaneServers::pass(Rank from, Rank to, uint64_t bytes, uint64_t at_ns) {
    const uint32_t from_host = lanes_.host_of[from];
    const uint32_t to_host = lanes_.host_of[to];
    if (from_host == to_host) {
        const uint64_t copied_ns = at_ns + bytes_ns(bytes, node_.copy_bytes_per_s);
        return {copied_ns, copied_ns + node_.flag_ns};
    }
    const topo::LinkRoute route = topo::link_route(network_.fabric, from_host, to_host);
    uint64_t head_ns = at_ns;
    uint64_t tail_ns = at_ns;
    uint64_t left_ns = at_ns;
    for (uint32_t hop = 0; hop < route.hops(); ++hop) {
        const Links::Passage passage =
            links_.pass(route[hop], head_ns, tail_ns, bytes, bytes > network_.eager_bytes_max);
        if (hop == 0) left_ns = passage.end_ns;
        const uint64_t latency_ns = network_.fabric.link_latency_ns(route[hop]);
        head_ns = passage.begin_ns + latency_ns;
        tail_ns = passage.end_ns + latency_ns;
    }
    return {left_ns, tail_ns};
}

uint64_t LaneServers::way_ns(Rank from, Rank to) const {
    const uint32_t from_host = lanes_.host_of[from];
    const uint32_t to_host = lanes_.host_of[to];
    if (from_host == to_host) return node_.flag_ns;
    const auto route = topo::link_route(network_.fabric, from_host, to_host);
    return topo::route_latency_ns(network_.fabric, route);
}

// The links on the ways from a host to all others.
const std::vector<uint32_t>& LaneServers::links_from(uint32_t host) {
    std::vector<uint32_t>& links = links_from_[host];
    if (!links.empty()) return links;
    for (const uint32_t other : lanes_.host_of) {
        if (other == host) continue;
        const topo::LinkRoute route = topo::link_route(network_.fabric, host, other);
        for (uint32_t hop = 0; hop < route.hops(); ++hop) links.push_back(route[hop]);
    }
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
    return links;
}

uint64_t LaneServers::pass_multicast(Rank from, uint64_t bytes, uint64_t at_ns) {
    const uint64_t ns = network_.multicast_ns(bytes);
    const uint64_t sent_ns = multicast_.serve(at_ns, ns);
    // Links that messages take, too.
    uint64_t passed_ns = sent_ns;
    for (const uint32_t link : links_from(lanes_.host_of[from])) {
        const uint64_t there = network_.multicast_bytes_on(link, bytes);
        passed_ns =
            std::max(passed_ns, links_.pass(link, sent_ns - ns, sent_ns, there, false).end_ns);
    }
    return passed_ns + network_.multicast.latency_ns;
}

uint64_t LaneServers::pass_short_multicast(uint64_t bytes, uint64_t at_ns) {
    return multicast_.serve(at_ns, network_.multicast_ns(bytes)) + network_.multicast.latency_ns;
}

}  // namespace tutti::price
