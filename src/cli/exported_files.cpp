// SPDX-License-Identifier: BSD-3-Clause
#include "cli/exported_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/topo/simgrid.h"
#include "lab/explain/schedule_cost.h"
#include "plan/algo/plan.h"
#include "plan/price/cluster_parameters.h"
#include "plan/sched/goal.h"
#include "plan/sched/smpi.h"

namespace tutti::cli {
namespace {

double ns_per_byte(uint64_t bytes_per_s) { return 1e9 / static_cast<double>(bytes_per_s); }

// GOAL has some six lines for an operation. An operation is an action of traces or many: fewer
// operations may still be too many actions (plan/sched/smpi.h), which only making them tells.
constexpr uint64_t kGoalOperationsMax = 1'000'000;
constexpr uint64_t kSmpiOperationsMax = 4'000'000;

Result<algo::Programs> plans_to_write(const sched::Shape& shape, const topo::Placement& placement,
                                      const select::Choice& choice, uint64_t operations_max) {
    const uint64_t operations =
        explain::operations_about(*choice.algorithm, shape, placement, choice.tuning);
    if (operations > operations_max) {
        return wrong(
            fmt::format("about {} operations; at most {} are written", operations, operations_max));
    }
    return algo::make_plans(*choice.algorithm, shape, placement, choice.tuning);
}

Result<std::string> goal_text(const sched::Shape& shape, const topo::Placement& placement,
                              const select::Choice& choice, const price::NodeParameters& node) {
    const auto programs = plans_to_write(shape, placement, choice, kGoalOperationsMax);
    if (!programs) return programs.error();
    return sched::print_goal(programs.value(), ns_per_byte(node.reduce_bytes_per_s),
                             ns_per_byte(node.copy_bytes_per_s));
}

// The slowest link of all says in which order messages come.
sched::TraceCosts trace_costs(const topo::Fabric& fabric, const price::NodeParameters& node,
                              bool has_free_copies) {
    uint64_t bits_per_s = fabric.link_bits_per_s(0);
    for (uint32_t link = 0; link < fabric.links(); ++link) {
        bits_per_s = std::min(bits_per_s, fabric.link_bits_per_s(link));
    }
    const uint32_t last = fabric.hosts() - 1;
    return {.reduce_ns_per_byte = ns_per_byte(node.reduce_bytes_per_s),
            .copy_ns_per_byte = has_free_copies ? 0 : ns_per_byte(node.copy_bytes_per_s),
            .message_ns = last == 0 ? fabric.latency_ns
                                    : topo::route_latency_ns(fabric, link_route(fabric, 0, last)),
            .message_ns_per_byte = 8e9 / static_cast<double>(bits_per_s),
            .flag_ns = node.flag_ns,
            .memory_ns_per_byte = ns_per_byte(node.copy_bytes_per_s)};
}

Result<std::vector<files::NamedText>> smpi_files(const CommandLine& command_line,
                                                 const NamedFabric& named,
                                                 const sched::Shape& shape,
                                                 const topo::Placement& placement,
                                                 const select::Choice& choice) {
    const topo::Fabric& fabric = named.fabric;
    const price::NodeParameters& node = named.parameters.node;
    auto platform = topo::print_simgrid(fabric, {.count = placement.nodes(),
                                                 .cores = placement.members_max(),
                                                 .flops_per_s = sched::kTraceFlopsPerS,
                                                 .memory_bytes_per_s = node.copy_bytes_per_s,
                                                 .memory_latency_ns = node.flag_ns,
                                                 .names = named.host_names});
    if (!platform) return platform.error();
    // A trace has no bundles (docs/protocol/bundles.md): there all blocks go straight.
    select::Choice traced = choice;
    traced.tuning.flat |= choice.algorithm->has_bundles();
    const auto programs = plans_to_write(shape, placement, traced, kSmpiOperationsMax);
    if (!programs) return programs.error();
    auto traces =
        sched::print_smpi(programs.value(), placement,
                          trace_costs(fabric, node, command_line.has(kFreeCopiesOption.name)));
    if (!traces) return traces.error();
    std::vector<files::NamedText> all;
    std::string hosts;
    std::string list;
    for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
        hosts += topo::simgrid_host(placement.node_of(rank)) + "\n";
        all.push_back({fmt::format("rank-{}.trace", rank), std::move(traces.value()[rank])});
        list += all.back().name + "\n";
    }
    all.push_back({"platform.xml", std::move(platform.value())});
    all.push_back({"hostfile", std::move(hosts)});
    all.push_back({"ranks.txt", std::move(list)});
    return all;
}

Error of_option(std::string_view option, std::string_view problem) {
    return wrong(fmt::format("{}: {}", option, problem));
}

Error of_file(std::string_view option, const std::string& path, std::string_view problem) {
    return of_option(option, fmt::format("{}: {}", printable(path), problem));
}

// Alike for names of the same place that are written alike. What is no file, such as /dev/null, is
// of no place: several may be written to it.
std::optional<std::string> place_of(const std::string& path) {
    std::error_code fault;
    if (std::filesystem::is_other(path, fault)) return std::nullopt;
    std::string place = std::filesystem::path(path).lexically_normal();
    while (place.size() > 1 && place.ends_with('/')) place.pop_back();
    return place;
}

}  // namespace

Result<Done> check_exports(const CommandLine& command_line) {
    if (command_line.has(kFreeCopiesOption.name) && !command_line.has(kSmpiOption.name)) {
        return of_option(kFreeCopiesOption.name, "needs --smpi");
    }
    std::map<std::string, std::string_view> option_of_place;
    for (const std::string_view option : {kGoalOption.name, kSvgOption.name, kSmpiOption.name}) {
        const std::string* path = command_line.find(option);
        if (path == nullptr) continue;
        const std::string problem =
            option == kSmpiOption.name ? files::folder_obstacle(*path) : files::obstacle(*path);
        if (!problem.empty()) return of_file(option, *path, problem);
        const auto place = place_of(*path);
        if (!place) continue;
        const auto [other, is_new] = option_of_place.emplace(*place, option);
        if (!is_new) return of_file(option, *path, fmt::format("{} names it, too", other->second));
    }
    return Done{};
}

Result<Exports> make_exports(const CommandLine& command_line, const NamedFabric& named,
                             const sched::Shape& shape, const topo::Placement& placement,
                             const select::Choice& choice) {
    Exports exports;
    if (const std::string* path = command_line.find(kGoalOption.name)) {
        auto text = goal_text(shape, placement, choice, named.parameters.node);
        if (!text) return of_option(kGoalOption.name, text.error().message);
        exports.files.push_back({kGoalOption.name, *path, std::move(text.value())});
    }
    if (command_line.has(kSmpiOption.name)) {
        auto traces = smpi_files(command_line, named, shape, placement, choice);
        if (!traces) return of_option(kSmpiOption.name, traces.error().message);
        exports.traces = std::move(traces.value());
    }
    return exports;
}

Result<Done> write_exports(const CommandLine& command_line, const Exports& exports) {
    // The longest first: no room for it is no room for the others.
    if (const std::string* folder = command_line.find(kSmpiOption.name)) {
        const std::string problem = files::write_whole_folder(*folder, exports.traces);
        if (!problem.empty()) return of_file(kSmpiOption.name, *folder, problem);
    }
    for (const Export& file : exports.files) {
        const std::string problem = files::write_whole(file.path, file.text);
        if (!problem.empty()) return of_file(file.option, file.path, problem);
    }
    return Done{};
}

}  // namespace tutti::cli
