// SPDX-License-Identifier: BSD-3-Clause
#include "cli/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algo/plan.h"
#include "base/text.h"
#include "explain/cost.h"
#include "files/whole_file.h"
#include "price/parameters.h"
#include "sched/goal.h"
#include "sched/smpi.h"
#include "topo/simgrid.h"

namespace tutti::cli {
namespace {

double ns_per_byte(uint64_t bytes_per_s) { return 1e9 / static_cast<double>(bytes_per_s); }

// GOAL has some six lines for an operation; an operation of a trace takes some 100 bytes of memory.
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

Result<Done> write_goal(const sched::Shape& shape, const topo::Placement& placement,
                        const select::Choice& choice, const price::NodeParameters& node,
                        const std::string& file) {
    const auto programs = plans_to_write(shape, placement, choice, kGoalOperationsMax);
    if (!programs) return programs.error();
    const auto text = sched::print_goal(programs.value(), ns_per_byte(node.reduce_bytes_per_s),
                                        ns_per_byte(node.copy_bytes_per_s));
    if (!text) return text.error();
    const auto problem = files::write_whole(file, text.value());
    return problem.empty() ? Result<Done>(Done{}) : wrong(file + ": " + problem);
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

Result<std::vector<files::NamedText>> smpi_files(const Words& words, const NamedFabric& named,
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
    const auto programs = plans_to_write(shape, placement, choice, kSmpiOperationsMax);
    if (!programs) return programs.error();
    auto traces = sched::print_smpi(programs.value(), placement,
                                    trace_costs(fabric, node, words.has(kFreeCopiesOption.name)));
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

Result<Done> write_smpi(const Words& words, const NamedFabric& named, const sched::Shape& shape,
                        const topo::Placement& placement, const select::Choice& choice,
                        const std::string& folder) {
    // Before much is made for nothing.
    std::string problem = files::folder_obstacle(folder);
    if (problem.empty()) {
        const auto all = smpi_files(words, named, shape, placement, choice);
        if (!all) return all.error();
        problem = files::write_whole_folder(folder, all.value());
    }
    return problem.empty() ? Result<Done>(Done{}) : wrong(printable(folder) + ": " + problem);
}

Error of_option(const OptionDoc& option, const Error& error) {
    return wrong(fmt::format("{}: {}", option.name, error.message));
}

}  // namespace

Result<Done> write_exports(const Words& words, const NamedFabric& named, const sched::Shape& shape,
                           const topo::Placement& placement, const select::Choice& choice) {
    if (const std::string* file = words.find(kGoalOption.name)) {
        const auto done = write_goal(shape, placement, choice, named.parameters.node, *file);
        if (!done) return of_option(kGoalOption, done.error());
    }
    if (const std::string* folder = words.find(kSmpiOption.name)) {
        const auto done = write_smpi(words, named, shape, placement, choice, *folder);
        if (!done) return of_option(kSmpiOption, done.error());
    }
    if (words.has(kFreeCopiesOption.name) && !words.has(kSmpiOption.name)) {
        return of_option(kFreeCopiesOption, wrong("needs --smpi"));
    }
    return Done{};
}

}  // namespace tutti::cli
