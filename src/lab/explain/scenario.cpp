// SPDX-License-Identifier: BSD-3-Clause
#include "lab/explain/scenario.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/text.h"

namespace tutti::explain {

namespace {

std::string network_text(const McastOver& over) {
    if (over == McastOver{}) return {};
    std::string text = " by " + std::string(kMulticastNetworks[over.first].title);
    if (!over.takes_faster) return text;
    for (size_t i = over.first + 1; i < kMulticastNetworks.size(); ++i) {
        text += " or " + std::string(kMulticastNetworks[i].title);
    }
    return text + ", what is predicted faster";
}

// Where it is not as it is unless asked otherwise.
std::string multicast_text(const McastSettings& settings) {
    std::string text = network_text(settings.over);
    if (settings.secret) return text + ", encrypted";
    if (settings.code == McastCode::kHeader) text += ", codes over headers";
    if (settings.code == McastCode::kNone) text += ", no codes";
    return text;
}

}  // namespace

sched::Shape Scenario::shape(uint64_t bytes) const {
    sched::Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    shape.root = root;
    shape.bytes = bytes;
    shape.is_commutative = is_commutative;
    shape.is_computed_once = settings.results.heterogeneous && collective == TUTTI_ALLREDUCE;
    shape.networks = networks();
    shape.has_multicast = has_multicast && hosts > 1;
    if (is_reduction(collective)) {
        shape.element_bytes = 8;
        while (bytes % shape.element_bytes != 0) shape.element_bytes /= 2;
    }
    if (pattern != check::LengthPattern::kEqual) {
        auto& lengths = lengths_of_bytes[bytes];
        lengths = check::lengths_of(pattern, ranks, bytes, shape.element_bytes);
        shape.lengths = lengths.view();
    }
    return shape;
}

NetworkSet Scenario::networks() const {
    NetworkSet found;
    for (size_t i = 0; i < kNetworks.size() && hosts > 1; ++i) {
        if (settings.networks[i] == NetworkChoice::kOn) found.add(i);
    }
    return found;
}

topo::Placement Scenario::placement() const {
    topo::Placement placement = host_of_rank.empty() ? topo::Placement::blocks(ranks, hosts)
                                                     : topo::Placement(host_of_rank);
    if (tree) placement.set_switches(*tree);
    return placement;
}

std::string Scenario::text(uint64_t bytes) const {
    std::string text(collective_name(collective));
    if (collective != TUTTI_BARRIER) text += " of " + format_bytes(bytes);
    if (has_blocks(collective)) text += " a rank";
    if (pattern != check::LengthPattern::kEqual) {
        text += fmt::format(" at most, lengths {}",
                            check::kLengthPatternNames[static_cast<size_t>(pattern)]);
    }
    text += fmt::format(", {} rank{} on {} host{}", ranks, ranks == 1 ? "" : "s", hosts,
                        hosts == 1 ? "" : "s");
    // One a host by turns is one a host in blocks.
    const bool is_block = placed == "round-robin" && hosts == ranks;
    if (!placed.empty() && hosts > 1 && !is_block) text += ", " + placed;
    if (has_root(collective)) text += fmt::format(", root {}", root);
    if (!is_commutative) text += ", not commutative";
    for (size_t i = 0; i < kNetworks.size(); ++i) {
        if (networks().has(i)) text += fmt::format(", with {}", kNetworks[i].title);
    }
    if (has_multicast) text += ", with multicast";
    if (has_multicast) text += multicast_text(settings.mcast);
    return text;
}

Result<select::Choice> Scenario::choose(const sched::Shape& shape, const topo::Placement& placement,
                                        const select::NodeCall* on_node, select::Prices* prices,
                                        select::Prices* measured) const {
    return select::choose({.rules = rules,
                           .settings = settings,
                           .shape = shape,
                           .placement = placement,
                           .host_mpi = host_mpi,
                           .forced = rules.forced(shape.collective),
                           .is_by_variable = forced_by.empty(),
                           .forced_by = forced_by,
                           .no_multicast = "see --multicast",
                           .prices = prices,
                           .measured = measured,
                           .on_node = on_node});
}

Result<Done> Scenario::force(const std::string& algorithm, std::string_view by) {
    const auto wrong = [&](const std::string& what) {
        return Error{ErrorCode::kArgument, std::string(by) + ": " + what};
    };
    auto forced = select::parse_forced(collective, algorithm);
    if (!forced) return wrong(forced.error().message);
    const std::string& name = forced.value().algorithm;
    if (hosts == 1 && name != select::kHostMpi && name != select::kNodeLevel) {
        return wrong("on one host no message is sent; see --hosts");
    }
    rules.force(collective, std::move(forced.value()));
    forced_by = by;
    return Done{};
}

std::string tuning_text(const algo::Algorithm& algorithm, const algo::Tuning& tuning,
                        uint64_t bytes) {
    std::vector<std::string> parts;
    const uint64_t segment =
        tuning.segment_bytes != 0 ? tuning.segment_bytes : algorithm.segment_bytes;
    if (segment != 0 && segment < bytes) parts.push_back("segments of " + format_bytes(segment));
    if (tuning.lanes_in_flight != 0) {
        parts.push_back(fmt::format("{} lanes in flight", tuning.lanes_in_flight));
    }
    if (tuning.leaders != 0) parts.push_back(fmt::format("{} leaders a host", tuning.leaders));
    if (tuning.fan_in != 0) parts.push_back(fmt::format("fan-in {}", tuning.fan_in));
    if (tuning.flat) parts.emplace_back("flat");
    if (tuning.order == algo::Order::kRanks) parts.emplace_back("in the order of ranks");
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace tutti::explain
