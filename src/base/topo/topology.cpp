// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/topology.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tutti::topo {
namespace {

uint32_t code_of(TopologyBuilder::End end) { return 2 * end.number + (end.is_host ? 1 : 0); }

uint64_t pair_code(TopologyBuilder::End one, TopologyBuilder::End other) {
    const auto [low, high] = std::minmax({code_of(one), code_of(other)});
    return uint64_t{low} << 32 | high;
}

// Sets of vertices that hang together.
class Pieces {
  public:
    explicit Pieces(uint32_t vertices) : above_(vertices) {
        for (uint32_t v = 0; v < vertices; ++v) above_[v] = v;
    }
    uint32_t find(uint32_t v) {
        while (above_[v] != v) v = above_[v] = above_[above_[v]];
        return v;
    }
    void join(uint32_t one, uint32_t other) { above_[find(one)] = find(other); }

  private:
    std::vector<uint32_t> above_;
};

// Where nobody said how many: one a link.
void count_adapters(Topology& made) {
    std::vector<uint64_t> links(made.hosts.size());
    for (const Topology::Link& link : made.links) {
        const uint32_t host = std::min(link.one, link.other);
        if (made.is_host(host)) links[host] += link.count;
    }
    for (size_t host = 0; host < links.size(); ++host) {
        uint32_t& adapters = made.hosts[host].adapters;
        const auto counted = std::clamp<uint64_t>(links[host], 1, kAdaptersMax);
        if (adapters == 0) adapters = static_cast<uint32_t>(counted);
    }
}

}  // namespace

Error topology_error(const std::string& source, uint32_t line, const std::string& what) {
    return {ErrorCode::kArgument,
            printable(source) + ":" + std::to_string(std::max(line, 1u)) + ": " + what};
}

size_t TopologyBuilder::WireHash::operator()(const WireKey& key) const {
    // Odd factors spread what differs in few bits (Knuth, The Art of Computer Programming 3, 6.4).
    constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
    uint64_t code = key.ends * kFactor;
    code = (code ^ code >> 32 ^ key.bits_per_s) * kFactor;
    code = (code ^ code >> 32 ^ key.latency_ns) * kFactor;
    return code ^ code >> 32;
}

TopologyBuilder::TopologyBuilder(std::string source) : source_(std::move(source)) {}

Error TopologyBuilder::wrong(uint32_t line, const std::string& what) const {
    return topology_error(source_, line, what);
}

const std::string& TopologyBuilder::name_of(End end) const {
    return end.is_host ? hosts_[end.number].name : switches_[end.number].name;
}

const TopologyBuilder::End* TopologyBuilder::find(std::string_view name) const {
    const auto found = ends_.find(std::string(name));
    return found == ends_.end() ? nullptr : &found->second;
}

Result<Done> TopologyBuilder::add_name(std::string_view name, uint32_t line, End end) {
    if (name.empty()) return wrong(line, "a name is missing");
    if (name.size() > kNameBytesMax) {
        return wrong(line, "a name of more than " + std::to_string(kNameBytesMax) + " bytes");
    }
    const auto is_letter = [](char letter) { return letter >= 0x20 && letter <= 0x7e; };
    if (!std::all_of(name.begin(), name.end(), is_letter)) {
        return wrong(line, "a name with a letter that is not ASCII: " + printable(name));
    }
    // Lists of hosts have them between names.
    if (name.find_first_of("[],") != std::string_view::npos || name.front() == ' ' ||
        name.back() == ' ') {
        return wrong(line, "not a name: " + printable(name));
    }
    const auto [place, is_new] = ends_.emplace(name, end);
    if (is_new) return Done{};
    const End& old = place->second;
    const uint32_t first = old.is_host ? hosts_[old.number].line : switches_[old.number].line;
    return wrong(line, printable(name) + " is there already, a " +
                           (old.is_host ? "host" : "switch") +
                           (first > 0 ? " of line " + std::to_string(first) : ""));
}

Result<uint32_t> TopologyBuilder::add_host(std::string_view name, uint32_t line) {
    const auto number = static_cast<uint32_t>(hosts_.size());
    if (number == kHostsMax) {
        return wrong(line, "more than " + std::to_string(kHostsMax) + " hosts");
    }
    if (const auto done = add_name(name, line, {true, number}); !done) return done.error();
    hosts_.push_back({std::string(name), 0, line});
    return number;
}

Result<uint32_t> TopologyBuilder::add_switch(std::string_view name, uint32_t line) {
    const auto number = static_cast<uint32_t>(switches_.size());
    if (number == kSwitchesMax) {
        return wrong(line, "more than " + std::to_string(kSwitchesMax) + " switches");
    }
    if (const auto done = add_name(name, line, {false, number}); !done) return done.error();
    switches_.push_back({std::string(name), "", "", line});
    return number;
}

Result<Done> TopologyBuilder::add_link(End one, End other, Topology::Link link) {
    const auto both = [&] { return printable(name_of(one)) + " and " + printable(name_of(other)); };
    if (one.is_host && other.is_host) {
        return wrong(link.line, both() + " are hosts; a link has a switch at one end at least");
    }
    if (one.number == other.number && one.is_host == other.is_host) {
        return wrong(link.line, "a link of " + printable(name_of(one)) + " with itself");
    }
    const auto number = static_cast<uint32_t>(wires_.size());
    const auto [place, is_new] =
        wire_of_.try_emplace({pair_code(one, other), link.bits_per_s, link.latency_ns}, number);
    const uint32_t before = is_new ? 0 : wires_[place->second].link.count;
    if (link.count > kParallelMax - before) {
        return wrong(link.line, "more than " + std::to_string(kParallelMax) +
                                    " parallel links between " + both());
    }
    if (!is_new) {
        wires_[place->second].link.count += link.count;
        return Done{};
    }
    if (number == kLinksMax) {
        return wrong(link.line, "more than " + std::to_string(kLinksMax) + " links");
    }
    wires_.push_back({one, other, link});
    return Done{};
}

Result<Topology> TopologyBuilder::finish() {
    if (hosts_.empty()) return wrong(1, "there is no host in this file");
    Topology made;
    made.source = std::move(source_);
    made.hosts = std::move(hosts_);
    made.switches = std::move(switches_);
    const auto vertex = [&](End end) {
        return end.number + (end.is_host ? 0 : static_cast<uint32_t>(made.hosts.size()));
    };
    Pieces pieces(made.vertices());
    made.links.reserve(wires_.size());
    for (Wire& wire : wires_) {
        wire.link.one = vertex(wire.one);
        wire.link.other = vertex(wire.other);
        pieces.join(wire.link.one, wire.link.other);
        made.links.push_back(wire.link);
    }
    count_adapters(made);
    for (uint32_t v = 1; v < made.vertices(); ++v) {
        if (pieces.find(v) == pieces.find(0)) continue;
        return topology_error(
            made.source, made.line_of(v),
            std::string(made.is_host(v) ? "host " : "switch ") + printable(made.name_of(v)) +
                " is not connected with host " + printable(made.name_of(0)) +
                (made.line_of(0) > 0 ? " of line " + std::to_string(made.line_of(0)) : ""));
    }
    return made;
}

}  // namespace tutti::topo
