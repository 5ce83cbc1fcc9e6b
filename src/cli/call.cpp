// SPDX-License-Identifier: BSD-3-Clause
#include "cli/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "algo/plan.h"
#include "base/text.h"
#include "cli/options.h"

namespace tutti::cli {
namespace {

constexpr auto kCallOptions = std::to_array<OptionDoc>({
    {"--bytes", "N", "Bytes of the vector (bcast, reduce, allreduce) or of one rank's block"},
    {"--ranks", "N", "Ranks of the team"},
    {"--hosts", "N", "Hosts that they are on (default: one a rank)"},
    {"--placement", "WORD", "block: neighbours share a host (default); round-robin: they do not"},
    {"--root", "R", "Root of bcast, reduce, gather and scatter (default: 0)"},
    {"--algorithm", "NAME",
     "This algorithm, not the one chosen: ring:segment=64K, node:small on one host"},
    {"--mpi", "NAME", "The host MPI, for rules that name it: openmpi, mpich, impi"},
    {"--rules", "FILE", "Rules that are tried before the built-in ones"},
    {"--non-commutative", "", "The operator does not commute"},
});

Result<tutti_collective> read_collective(std::string_view command, const Words& words) {
    if (words.others().empty()) {
        return wrong(fmt::format("{}: which collective? One of {}", command,
                                 fmt::join(kCollectiveNames, ", ")));
    }
    if (words.others().size() > 1) {
        return wrong(fmt::format("{}: unexpected word {}", command, printable(words.others()[1])));
    }
    const auto collective = find_collective(words.others()[0]);
    if (!collective) return unknown_word("collective", words.others()[0], kCollectiveNames);
    return *collective;
}

Result<Done> read_team(std::string_view command, const Words& words, Call& call) {
    if (!words.has("--ranks")) return wrong(fmt::format("{}: --ranks is missing", command));
    const auto ranks = words.count("--ranks", 0, 1, kRanksMax);
    if (!ranks) return ranks.error();
    call.ranks = static_cast<uint32_t>(ranks.value());
    const auto hosts = words.count("--hosts", call.ranks, 1, call.ranks);
    if (!hosts) return hosts.error();
    call.hosts = static_cast<uint32_t>(hosts.value());
    const auto root = words.count("--root", 0, 0, call.ranks - 1);
    if (!root) return root.error();
    call.root = static_cast<uint32_t>(root.value());
    if (words.has("--root") && !has_root(call.collective)) {
        return wrong(fmt::format("--root: {} has none", collective_name(call.collective)));
    }
    if (const std::string* word = words.find("--placement")) {
        if (*word != "block" && *word != "round-robin") {
            return wrong_value("--placement", *word, "block or round-robin");
        }
        call.is_round_robin = *word == "round-robin";
    }
    call.is_commutative = !words.has("--non-commutative");
    if (!call.is_commutative && !is_reduction(call.collective)) {
        return wrong(
            fmt::format("--non-commutative: {} has no operator", collective_name(call.collective)));
    }
    return Done{};
}

Result<Done> read_settings(const Words& words, std::span<const std::string> environment,
                           Call& call) {
    auto settings = parse_settings(environment);
    if (!settings) return settings.error();
    call.settings = std::move(settings.value());
    if (const auto checked = check_settings(call.settings); !checked) return checked.error();
    if (const std::string* file = words.find("--rules")) {
        call.settings.rules_file = *file;
        call.settings.rules_text.clear();
    }
    if (const std::string* mpi = words.find("--mpi")) {
        const auto& known = select::kHostMpiNames;
        if (std::find(known.begin(), known.end(), *mpi) == known.end()) {
            return wrong_value("--mpi", *mpi, "openmpi, mpich or impi");
        }
        call.host_mpi = *mpi;
    }
    auto rules = select::load_rules(call.settings);
    if (!rules) return rules.error();
    call.rules = std::move(rules.value());
    return Done{};
}

}  // namespace

std::span<const OptionDoc> call_options() { return kCallOptions; }

sched::Shape Call::shape(uint64_t bytes) const {
    sched::Shape shape;
    shape.collective = collective;
    shape.ranks = ranks;
    shape.root = root;
    shape.bytes = bytes;
    shape.is_commutative = is_commutative;
    shape.has_multicast = has_multicast && hosts > 1;
    if (is_reduction(collective)) {
        shape.element_bytes = 8;
        while (bytes % shape.element_bytes != 0) shape.element_bytes /= 2;
    }
    return shape;
}

topo::Placement Call::placement() const {
    return is_round_robin ? topo::Placement::round_robin(ranks, hosts)
                          : topo::Placement::blocks(ranks, hosts);
}

std::string Call::text(uint64_t bytes) const {
    std::string text(collective_name(collective));
    if (collective != TUTTI_BARRIER) text += " of " + format_bytes(bytes);
    if (has_blocks(collective)) text += " a rank";
    text += fmt::format(", {} rank{} on {} host{}", ranks, ranks == 1 ? "" : "s", hosts,
                        hosts == 1 ? "" : "s");
    if (is_round_robin && hosts > 1 && hosts < ranks) text += ", round-robin";
    if (has_root(collective)) text += fmt::format(", root {}", root);
    if (!is_commutative) text += ", not commutative";
    if (has_multicast) text += ", with multicast";
    return text;
}

Result<select::Choice> Call::choose(const sched::Shape& shape, const topo::Placement& placement,
                                    const select::NodeCall* on_node) const {
    return select::choose(rules, settings, shape, placement, host_mpi, "see --multicast", forced_by,
                          on_node);
}

Result<Done> Call::force(const std::string& algorithm) {
    const auto forced = select::parse_forced(collective, algorithm);
    if (!forced) return wrong("--algorithm: " + forced.error().message);
    const std::string& name = forced.value().algorithm;
    if (hosts == 1 && name != select::kHostMpi && name != select::kNodeLevel) {
        return wrong("--algorithm: on one host no message is sent; see --hosts");
    }
    settings.forced[collective] = algorithm;
    forced_by = "--algorithm";
    return Done{};
}

Result<Call> read_call(std::string_view command, const Words& words,
                       std::span<const std::string> environment) {
    Call call;
    const auto collective = read_collective(command, words);
    if (!collective) return collective.error();
    call.collective = collective.value();
    if (const auto done = read_team(command, words, call); !done) return done.error();
    if (const auto done = read_settings(words, environment, call); !done) return done.error();
    return call;
}

Result<std::vector<uint64_t>> read_bytes(std::string_view command, const Words& words,
                                         const Call& call) {
    const std::string* list = words.find("--bytes");
    if (call.collective == TUTTI_BARRIER) {
        if (list) return wrong("--bytes: barrier has none");
        return std::vector<uint64_t>{0};
    }
    if (!list) return wrong(fmt::format("{}: --bytes is missing", command));
    std::vector<uint64_t> sizes;
    for (const std::string_view text : split(*list, ',')) {
        const auto bytes = parse_bytes(text);
        if (!bytes || *bytes > kCallBytesMax) {
            return wrong_value("--bytes", text, "bytes up to 64G, such as 64K");
        }
        sizes.push_back(*bytes);
    }
    return sizes;
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
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace tutti::cli
