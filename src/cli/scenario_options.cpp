// SPDX-License-Identifier: BSD-3-Clause
#include "cli/scenario_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cli/options.h"
#include "cli/parameter_options.h"
#include "plan/select/by_price.h"
#include "plan/select/measured.h"
#include "run/site/site.h"

namespace tutti::cli {

using explain::Scenario;

namespace {

constexpr auto kScenarioOptions = std::to_array<OptionDoc>({
    {"--bytes", "N",
     "Bytes of the vector (bcast, reduce, allreduce, scan, exscan) or of one rank's block"},
    {"--lengths", "WORD",
     "Of allgatherv and reduce_scatter: equal (default), ragged or one (long block); --bytes is "
     "the "
     "longest"},
    {"--ranks", "N", "Number of ranks of the team"},
    {"--hosts", "N|LIST", "Number of hosts (default: one for each rank), or their names: n[0-7]"},
    {"--placement", "WORD",
     "block: neighbours share a host (default); round-robin: they do not; random:SEED; or the host "
     "of each rank"},
    kFabricFileOption,
    {"--root", "R", "Root of bcast, reduce, gather and scatter (default: 0)"},
    {"--algorithm", "NAME",
     "Run this algorithm instead of the chosen one: ring:segment=64K, node:small on one host"},
    {"--mpi", "NAME", "Your MPI, for rules that name it: openmpi, mpich, impi"},
    {"--rules", "FILE", "A file of rules, tried before the built-in ones"},
    {"--tuned", "FILE", "A file that tutti tune wrote, for whatever cluster; tried after --rules"},
    {"--non-commutative", "", "The operator does not commute"},
});

Result<tutti_collective> read_collective(std::string_view command,
                                         const CommandLine& command_line) {
    if (command_line.others().empty()) {
        return wrong(fmt::format("{}: which collective? One of {}", command,
                                 fmt::join(kCollectiveNames, ", ")));
    }
    if (command_line.others().size() > 1) {
        return wrong(
            fmt::format("{}: unexpected word {}", command, printable(command_line.others()[1])));
    }
    const auto collective = find_collective(command_line.others()[0]);
    if (!collective) return unknown_collective(command_line.others()[0]);
    return *collective;
}

Result<Done> read_hosts(const CommandLine& command_line, ReadScenario& read) {
    Scenario& scenario = read.scenario;
    auto cluster = read_cluster(command_line);
    if (!cluster) return cluster.error();
    auto job = read_job_hosts(command_line, scenario.ranks, std::move(cluster.value()));
    if (!job) return job.error();
    read.job = std::move(job.value());
    scenario.hosts = read.job.hosts;
    scenario.host_of_rank = read.job.host_of_rank;
    scenario.placed = read.job.placed;
    scenario.tree = read.job.tree();
    return Done{};
}

Result<Done> read_lengths(const CommandLine& command_line, Scenario& scenario) {
    const std::string* word = command_line.find("--lengths");
    if (!word) return Done{};
    if (!check::has_patterns(scenario.collective)) {
        return wrong(fmt::format("--lengths: {} has none that all ranks know",
                                 collective_name(scenario.collective)));
    }
    const auto found = std::ranges::find(check::kLengthPatternNames, *word);
    if (found == check::kLengthPatternNames.end()) {
        return wrong_value("--lengths", *word, "equal, ragged or one");
    }
    scenario.pattern =
        check::kLengthPatterns[static_cast<size_t>(found - check::kLengthPatternNames.begin())];
    return Done{};
}

Result<Done> read_team(std::string_view command, const CommandLine& command_line,
                       ReadScenario& read) {
    Scenario& scenario = read.scenario;
    if (!command_line.has("--ranks")) return wrong(fmt::format("{}: --ranks is missing", command));
    const auto ranks = command_line.count("--ranks", 0, 1, kRanksMax);
    if (!ranks) return ranks.error();
    scenario.ranks = static_cast<uint32_t>(ranks.value());
    if (const auto done = read_hosts(command_line, read); !done) return done.error();
    const auto root = command_line.count("--root", 0, 0, scenario.ranks - 1);
    if (!root) return root.error();
    scenario.root = static_cast<uint32_t>(root.value());
    if (command_line.has("--root") && !has_root(scenario.collective)) {
        return wrong(fmt::format("--root: {} has none", collective_name(scenario.collective)));
    }
    scenario.is_commutative = !command_line.has("--non-commutative");
    if (!scenario.is_commutative && !is_reduction(scenario.collective)) {
        return wrong(fmt::format("--non-commutative: {} has no operator",
                                 collective_name(scenario.collective)));
    }
    return read_lengths(command_line, scenario);
}

Result<Done> read_settings(const CommandLine& command_line,
                           std::span<const std::string> environment, Scenario& scenario) {
    auto settings = parse_settings(environment);
    if (!settings) return settings.error();
    scenario.settings = std::move(settings.value());
    if (const auto checked = check_settings(scenario.settings); !checked) return checked.error();
    if (const std::string* file = command_line.find("--rules")) {
        scenario.settings.rules.file = *file;
        scenario.settings.rules.text.clear();
    }
    if (const std::string* file = command_line.find("--tuned")) {
        scenario.settings.rules.tuned_file = *file;
        scenario.settings.rules.tuned_name.clear();
        scenario.settings.rules.tuned_text.clear();
    }
    if (const std::string* mpi = command_line.find("--mpi")) {
        const auto& known = select::kHostMpiNames;
        if (std::find(known.begin(), known.end(), *mpi) == known.end()) {
            return wrong_value("--mpi", *mpi, "openmpi, mpich or impi");
        }
        scenario.host_mpi = *mpi;
    }
    auto rules = select::load_rules(scenario.settings);
    if (!rules) return rules.error();
    scenario.rules = std::move(rules.value());
    return Done{};
}

}  // namespace

std::vector<std::string> settings_in_force() {
    site::Merged merged = site::merge(site::read_site(), "", tutti_entries(environ));
    if (!merged.left_out.empty()) fmt::print(stderr, "tutti: {}\n", merged.left_out);
    return std::move(merged.entries);
}

std::span<const OptionDoc> scenario_options() { return kScenarioOptions; }

Result<ReadScenario> read_scenario(std::string_view command, const CommandLine& command_line,
                                   std::span<const std::string> environment) {
    ReadScenario read;
    Scenario& scenario = read.scenario;
    const auto collective = read_collective(command, command_line);
    if (!collective) return collective.error();
    scenario.collective = collective.value();
    if (const auto done = read_team(command, command_line, read); !done) return done.error();
    if (const auto done = read_settings(command_line, environment, scenario); !done)
        return done.error();
    return read;
}

Result<NamedFabric> read_priced_fabric(const CommandLine& command_line, const ReadScenario& read,
                                       std::span<const uint32_t> others,
                                       const sched::Speed& measured) {
    const select::Rules& rules = read.scenario.rules;
    price::ClusterParameters known = rules.parameters().value_or(price::ClusterParameters{});
    const bool counts = !rules.parameters() || !rules.preset().empty();
    if (measured.mbit != 0 && counts) {
        if (rules.preset().empty()) known = select::nearest_preset(measured).parameters;
        known = select::with_measured(known, measured);
    }
    return read_fabric(command_line, read.job, others, known);
}

std::optional<select::Prices> measured_prices(const CommandLine& command_line,
                                              const explain::Scenario& scenario,
                                              const sched::Shape& shape,
                                              const topo::Placement& placement) {
    if (command_line.has(kParametersOption.name)) return {};
    return select::measured_prices(scenario.settings, scenario.rules, shape, placement);
}

std::optional<select::Prices> choosing_prices(const CommandLine& command_line,
                                              const NamedFabric& named,
                                              const explain::Scenario& scenario,
                                              const topo::Placement& placement) {
    if (command_line.has(kParametersOption.name)) {
        return select::Prices(placement, priced_cluster(named));
    }
    // As a run has it.
    const auto& known = scenario.rules.parameters();
    if (!known) return std::nullopt;
    return select::Prices(placement, select::cluster_of(placement, *known));
}

Result<std::vector<uint64_t>> read_bytes(std::string_view command, const CommandLine& command_line,
                                         const Scenario& scenario) {
    const std::string* list = command_line.find("--bytes");
    if (scenario.collective == TUTTI_BARRIER) {
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

}  // namespace tutti::cli
