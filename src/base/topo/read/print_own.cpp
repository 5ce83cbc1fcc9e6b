// SPDX-License-Identifier: BSD-3-Clause
// A topology in our own format.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/config/toml_text.h"
#include "base/topo/read/hostlist.h"
#include "base/topo/read/read.h"

namespace tutti::topo {
namespace {

using config::toml_string;

// The value that occurs most often among what is known.
template <class Value>
uint64_t usual_of(const Topology& topology, const Value& value) {
    std::map<uint64_t, uint64_t> seen;
    for (const Topology::Link& link : topology.links) {
        if (value(link) != 0) ++seen[value(link)];
    }
    const auto most = std::max_element(
        seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    // What every link has can be said once.
    return most != seen.end() && std::all_of(topology.links.begin(), topology.links.end(),
                                             [&](const auto& link) { return value(link) != 0; })
               ? most->first
               : 0;
}

std::string rate_text(uint64_t bits) {
    const bool is_round = bits % 1'000'000 == 0;
    return '"' + std::to_string(is_round ? bits / 1'000'000 : bits) +
           (is_round ? "mbit\"" : "bit\"");
}

std::string time_text(uint64_t ns) { return '"' + std::to_string(ns) + "ns\""; }

// Links of one switch that are alike.
struct Bundle {
    uint32_t from = 0;  // a switch, as in Topology::Link
    uint32_t count = 1;
    uint64_t bits_per_s = 0;
    uint64_t latency_ns = 0;
    bool are_hosts = false;
    auto operator<=>(const Bundle&) const = default;
};

using Bundles = std::map<Bundle, std::vector<std::string>>;

// The one of two switches that names the other: that with fewer hosts, which is above.
Bundles bundles_of(const Topology& topology) {
    std::vector<uint32_t> hosts_on(topology.vertices());
    for (const Topology::Link& link : topology.links) {
        const auto [low, high] = std::minmax({link.one, link.other});
        if (topology.is_host(low)) ++hosts_on[high];
    }
    Bundles bundles;
    for (const Topology::Link& link : topology.links) {
        auto [to, from] = std::minmax({link.one, link.other});
        const bool is_host = topology.is_host(to);
        if (!is_host && std::pair(hosts_on[to], to) < std::pair(hosts_on[from], from)) {
            std::swap(to, from);
        }
        bundles[{from, link.count, link.bits_per_s, link.latency_ns, is_host}].push_back(
            topology.name_of(to));
    }
    return bundles;
}

// All hosts in their order, those together that have as many adapters.
void print_hosts(const Topology& topology, std::string& text) {
    std::vector<uint64_t> links(topology.hosts.size());
    for (const Topology::Link& link : topology.links) {
        const uint32_t host = std::min(link.one, link.other);
        if (topology.is_host(host)) links[host] += link.count;
    }
    // 0: as many as links, which need not be said.
    const auto adapters_of = [&](size_t host) {
        const uint32_t adapters = topology.hosts[host].adapters;
        return adapters == links[host] ? 0 : adapters;
    };
    for (size_t first = 0; first < topology.hosts.size();) {
        const uint32_t adapters = adapters_of(first);
        std::vector<std::string> names;
        size_t end = first;
        for (; end < topology.hosts.size() && adapters_of(end) == adapters; ++end) {
            names.push_back(topology.hosts[end].name);
        }
        text += "\n[[host]]\nname = " + toml_string(fold_hostlist(names)) + "\n";
        if (adapters != 0) text += "adapters = " + std::to_string(adapters) + "\n";
        first = end;
    }
}

}  // namespace

std::string print_own(const Topology& topology) {
    const uint64_t rate = usual_of(topology, [](const auto& link) { return link.bits_per_s; });
    const uint64_t latency = usual_of(topology, [](const auto& link) { return link.latency_ns; });
    std::string text =
        "# Written by tutti fabric; docs/formats/topology.md says what stands here.\n";
    if (rate != 0) text += "rate = " + rate_text(rate) + "\n";
    if (latency != 0) text += "latency = " + time_text(latency) + "\n";
    print_hosts(topology, text);
    const Bundles bundles = bundles_of(topology);
    const auto hosts = static_cast<uint32_t>(topology.hosts.size());
    auto next = bundles.begin();
    for (uint32_t at = 0; at < topology.switches.size(); ++at) {
        const Topology::Switch& one = topology.switches[at];
        text += "\n[[switch]]\nname = " + toml_string(one.name) + "\n";
        if (!one.rack.empty()) text += "rack = " + toml_string(one.rack) + "\n";
        if (!one.chassis.empty()) text += "chassis = " + toml_string(one.chassis) + "\n";
        std::string links;
        for (; next != bundles.end() && next->first.from == hosts + at; ++next) {
            const auto& [bundle, names] = *next;
            const std::string list = toml_string(fold_hostlist(names)) + "\n";
            if (bundle.count == 1 && bundle.bits_per_s == rate && bundle.latency_ns == latency) {
                text += (bundle.are_hosts ? "hosts = " : "switches = ") + list;
                continue;
            }
            links += "\n[[link]]\nfrom = " + toml_string(one.name) + "\nto = " + list;
            if (bundle.count > 1) links += "count = " + std::to_string(bundle.count) + "\n";
            if (bundle.bits_per_s != rate) links += "rate = " + rate_text(bundle.bits_per_s) + "\n";
            if (bundle.latency_ns != latency) {
                links += "latency = " + time_text(bundle.latency_ns) + "\n";
            }
        }
        text += links;
    }
    return text;
}

}  // namespace tutti::topo
