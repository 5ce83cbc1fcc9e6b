// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/read/ib.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/topo/read/hostlist.h"

namespace tutti::topo {
namespace {

// A switch's own engine for reductions shows as an adapter behind it.
constexpr std::string_view kAggregation = "Mellanox Technologies Aggregation Node";

std::string hex(uint64_t guid) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(16, '0');
    for (size_t i = 16; i-- > 0; guid >>= 4) text[i] = kDigits[guid & 15];
    return text;
}

std::string code_of(IbKind kind, uint64_t guid) {
    constexpr std::array<std::string_view, 3> kLetters = {"H-", "S-", "R-"};
    return std::string(kLetters[static_cast<size_t>(kind)]) + hex(guid);
}

// What a name may hold (TopologyBuilder), from whatever somebody wrote into a device.
std::string tame(std::string_view text) {
    std::string name;
    for (const char letter : text.substr(0, 200)) {
        const bool is_tame = letter >= 0x20 && letter <= 0x7e &&
                             std::string_view("[],").find(letter) == std::string_view::npos;
        name += is_tame ? letter : '_';
    }
    while (name.starts_with(' ')) name.erase(0, 1);
    while (name.ends_with(' ')) name.pop_back();
    return name;
}

// "big1 mlx5_0" -> "big1": drivers write the host's name and the adapter's. More words are a
// maker's text, which many may have.
std::string_view host_of(std::string_view description) {
    const size_t blank = description.find(' ');
    if (blank == std::string_view::npos) return description;
    const std::string_view rest = description.substr(blank + 1);
    return rest.find(' ') == std::string_view::npos ? description.substr(0, blank)
                                                    : std::string_view();
}

auto key_of(const IbNetwork::Port& port) { return std::pair(port.guid, port.number); }

}  // namespace

// InfiniBand Architecture Specification, volume 2: rates of a lane less 8b/10b coding up to QDR and
// 64b/66b from FDR10 on; from HDR on lanes are named by what they carry.
uint64_t ib_lane_bits(std::string_view speed) {
    constexpr auto kSpeeds =
        std::to_array<std::pair<std::string_view, uint64_t>>({{"SDR", 2'000'000'000},
                                                              {"DDR", 4'000'000'000},
                                                              {"QDR", 8'000'000'000},
                                                              {"FDR10", 10'000'000'000},
                                                              {"FDR", 13'636'363'636},
                                                              {"EDR", 25'000'000'000},
                                                              {"HDR", 50'000'000'000},
                                                              {"NDR", 100'000'000'000},
                                                              {"XDR", 200'000'000'000}});
    for (const auto& [name, bits] : kSpeeds) {
        if (speed == name) return bits;
    }
    return 0;
}

Result<Done> IbNetwork::add_node(Node node) {
    const auto number = static_cast<uint32_t>(nodes_.size());
    const auto [place, is_new] = number_of_.emplace(node.guid, number);
    if (!is_new) {
        return topology_error(source_, node.line,
                              code_of(node.kind, node.guid) + " is there already, in line " +
                                  std::to_string(nodes_[place->second].line));
    }
    nodes_.push_back(std::move(node));
    return Done{};
}

void IbNetwork::add_link(const Port& one, const Port& other, uint64_t bits_per_s, uint32_t line) {
    const bool is_first = key_of(one) <= key_of(other);
    wires_.push_back({is_first ? one : other, is_first ? other : one, bits_per_s, line});
}

// The tool tells nodes in the order in which it met them, which says nothing.
void IbNetwork::sort_nodes() {
    std::sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) {
        if (a.description == b.description) return a.guid < b.guid;
        return is_name_before(a.description, b.description);
    });
    for (uint32_t i = 0; i < nodes_.size(); ++i) number_of_[nodes_[i].guid] = i;
    ends_.resize(nodes_.size());
    is_used_.resize(nodes_.size());
}

// Each link once, though both ends tell it; ends that are there; one link a port.
Result<Done> IbNetwork::check_wires() {
    for (const Wire& wire : wires_) {
        for (const Port* port : {&wire.one, &wire.other}) {
            if (number_of_.contains(port->guid)) continue;
            return topology_error(
                source_, wire.line,
                "there is no " + code_of(port->kind, port->guid) + " in this file; is it whole?");
        }
    }
    std::stable_sort(wires_.begin(), wires_.end(), [](const Wire& a, const Wire& b) {
        return std::tuple(key_of(a.one), key_of(a.other)) <
               std::tuple(key_of(b.one), key_of(b.other));
    });
    const auto is_same = [](const Wire& a, const Wire& b) {
        return key_of(a.one) == key_of(b.one) && key_of(a.other) == key_of(b.other);
    };
    wires_.erase(std::unique(wires_.begin(), wires_.end(), is_same), wires_.end());
    struct Use {
        Port port;
        uint32_t line;
    };
    std::vector<Use> uses;
    for (const Wire& wire : wires_) {
        uses.push_back({wire.one, wire.line});
        uses.push_back({wire.other, wire.line});
    }
    std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
        return std::pair(key_of(a.port), a.line) < std::pair(key_of(b.port), b.line);
    });
    const auto twice = std::adjacent_find(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
        return key_of(a.port) == key_of(b.port);
    });
    if (twice == uses.end()) return Done{};
    return topology_error(source_, (twice + 1)->line,
                          "port " + std::to_string(twice->port.number) + " of " +
                              code_of(twice->port.kind, twice->port.guid) +
                              " has another link in line " + std::to_string(twice->line));
}

// Descriptions that several switches have do not name one.
Result<Done> IbNetwork::add_switches(TopologyBuilder& made) {
    std::unordered_map<std::string, uint32_t> named;
    std::unordered_map<uint64_t, uint32_t> systems;
    for (const Node& node : nodes_) {
        if (node.kind != IbKind::kSwitch) continue;
        ++named[tame(node.description)];
        ++systems[node.system_guid];
    }
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        if (node.kind != IbKind::kSwitch) continue;
        std::string name = tame(node.description);
        if (name.empty() || named[name] > 1) {
            name += (name.empty() ? "" : " ") + code_of(node.kind, node.guid);
        }
        const auto added = made.add_switch(name, node.line);
        if (!added) return added.error();
        ends_[i] = {false, added.value()};
        is_used_[i] = true;
        // The chips of one device have one system GUID.
        std::string& chassis = made.at_switch(added.value()).chassis;
        chassis = tame(node.chassis);
        if (chassis.empty() && node.system_guid != 0 && systems[node.system_guid] > 1) {
            chassis = hex(node.system_guid);
        }
    }
    return Done{};
}

Result<Done> IbNetwork::add_hosts(TopologyBuilder& made) {
    std::unordered_map<std::string, uint32_t> seen;  // by description
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        if (node.kind != IbKind::kAdapter || node.description.starts_with(kAggregation)) continue;
        const std::string description = tame(node.description);
        std::string name(host_of(description));
        const auto* end = made.find(name);
        // Hosts that nobody named have one description; a switch may have a host's name.
        if (name.empty() || ++seen[description] > 1 || (end && !end->is_host)) {
            name = (description.empty() ? "" : description + " ") + code_of(node.kind, node.guid);
            end = nullptr;
        }
        if (!end) {
            const auto added = made.add_host(name, node.line);
            if (!added) return added.error();
            end = made.find(name);
        }
        ++made.host(end->number).adapters;
        if (made.host(end->number).adapters > kAdaptersMax) {
            return made.wrong(node.line, printable(name) + " has more than " +
                                             std::to_string(kAdaptersMax) + " adapters");
        }
        ends_[i] = *end;
        is_used_[i] = true;
    }
    return Done{};
}

Result<Done> IbNetwork::add_links(TopologyBuilder& made) {
    for (const Wire& wire : wires_) {
        const uint32_t one = number_of_[wire.one.guid];
        const uint32_t other = number_of_[wire.other.guid];
        if (!is_used_[one] || !is_used_[other]) continue;
        const auto done =
            made.add_link(ends_[one], ends_[other],
                          {.count = 1, .bits_per_s = wire.bits_per_s, .line = wire.line});
        if (!done) return done.error();
    }
    return Done{};
}

Result<Topology> IbNetwork::make() {
    TopologyBuilder made(source_);
    sort_nodes();
    if (const auto done = check_wires(); !done) return done.error();
    if (const auto done = add_switches(made); !done) return done.error();
    if (const auto done = add_hosts(made); !done) return done.error();
    if (const auto done = add_links(made); !done) return done.error();
    return made.finish();
}

}  // namespace tutti::topo
