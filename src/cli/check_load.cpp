// SPDX-License-Identifier: BSD-3-Clause
#include "cli/check_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/amounts.h"
#include "base/text.h"
#include "base/topo/read/hostlist.h"
#include "cli/fabric_file.h"
#include "cli/job_options.h"
#include "cli/scenario_options.h"
#include "lab/check/link_load.h"
#include "lab/check/prove.h"
#include "lab/check/trial/trial_calls.h"
#include "lab/explain/scenario.h"
#include "lab/explain/schedule_cost.h"
#include "plan/price/bound.h"

namespace tutti::cli {
namespace {

constexpr uint64_t kUsualBytes = 1u << 20;

// What the links of a fabric carry, the one that takes longest for it, and what one of them must.
struct Busiest {
    check::LinkLoad load;
    uint32_t link = 0;
    uint64_t bytes = 0;
    uint64_t ns = 0;
    price::LeastLoad least;
};

Busiest busiest_of(const topo::Fabric& fabric, const sched::Shape& shape,
                   const topo::Placement& placement, const algo::Programs& programs) {
    Busiest found;
    found.load = check::link_load(fabric, placement, programs);
    found.link = check::busiest_link(fabric, found.load.bytes);
    found.bytes = found.load.bytes[found.link];
    found.ns = bits_ns(found.bytes, fabric.link_bits_per_s(found.link));
    found.least = price::least_load(shape, placement, fabric);
    return found;
}

std::string ratio_text(const Busiest& found) {
    if (found.least.ns == 0) return "-";
    return fmt::format("{:.2f}",
                       static_cast<double>(found.ns) / static_cast<double>(found.least.ns));
}

std::string name_of(const NamedFabric& named, uint32_t link) {
    return check::link_text(named.fabric, link, named.host_names, named.switch_names);
}

// As many as are placed one by one, or one on each host that is named.
Result<uint64_t> usual_ranks(const CommandLine& command_line, const topo::Topology& topology) {
    for (const char* option : {"--placement", "--hosts"}) {
        const std::string* list = command_line.find(option);
        if (!list || is_way_of_placing(*list)) continue;
        if (std::string_view(option) == "--hosts" && is_number(*list)) {
            return command_line.count("--hosts", 1, 1, topology.hosts.size());
        }
        const auto names = topo::expand_hostlist(*list, topo::kHostsMax);
        if (!names) return wrong(fmt::format("{}: {}", option, names.error().message));
        return uint64_t{names.value().size()};
    }
    return uint64_t{topology.hosts.size()};
}

Result<uint32_t> read_ranks(const CommandLine& command_line, const topo::Topology& topology) {
    if (command_line.has("--ranks")) {
        const auto ranks = command_line.count("--ranks", 1, 1, check::kProvedRanksMax);
        if (!ranks) return ranks.error();
        return static_cast<uint32_t>(ranks.value());
    }
    const auto ranks = usual_ranks(command_line, topology);
    if (!ranks) return ranks.error();
    if (ranks.value() > check::kProvedRanksMax) {
        return wrong(fmt::format("check: {} hosts; at most {} ranks are proved, see --hosts",
                                 ranks.value(), check::kProvedRanksMax));
    }
    return static_cast<uint32_t>(ranks.value());
}

struct Table {
    const NamedFabric& named;
    const explain::Scenario& scenario;  // of one collective
    uint64_t bytes;
    topo::Placement placement;
    sched::Shape shape;

    void print_heading() const;
    // False where the schedule is wrong.
    [[nodiscard]] bool print_row(const algo::Algorithm& algorithm) const;
};

void Table::print_heading() const {
    fmt::print("{}, {}\n", scenario.text(bytes), named.text);
    fmt::print("{:20} {:>7} {:>9} {:>14} {:>14} {:>8}  {}\n", "", "shared", "extra", "bytes",
               "at least", "ratio", "busiest link");
}

bool Table::print_row(const algo::Algorithm& algorithm) const {
    const auto say = [&](std::string_view why) {
        fmt::print("  {:<18} {}\n", algorithm.name, why);
    };
    const auto obstacle = algo::plan_obstacle(algorithm, shape, placement, {});
    if (!obstacle.empty()) {
        say(fmt::format("cannot run this: {}", obstacle));
        return true;
    }
    if (explain::operations_about(algorithm, shape, placement, {}) > explain::kOperationsMax) {
        say(fmt::format("not proved: more than {} operations", explain::kOperationsMax));
        return true;
    }
    const algo::Programs programs = algo::make_plans(algorithm, shape, placement, {});
    const auto faults = check::prove(shape, placement, programs).lines;
    if (!faults.empty()) {
        say("is wrong:");
        for (const std::string& line : faults) fmt::print("    {}\n", line);
        return false;
    }
    const Busiest found = busiest_of(named.fabric, shape, placement, programs);
    fmt::print("  {:<18} {:>7} {:>9} {:>14} {:>14} {:>8}  {}\n", algorithm.name, found.load.pairs,
               found.load.extra, found.bytes, found.least.bytes, ratio_text(found),
               found.bytes == 0 ? "-" : name_of(named, found.link));
    return true;
}

// Returns whether all are right.
bool check_collective(const NamedFabric& named, explain::Scenario scenario, uint64_t bytes,
                      const std::function<bool(const algo::Algorithm&)>& is_wanted) {
    if (scenario.collective == TUTTI_BARRIER) bytes = 0;
    if (!has_root(scenario.collective)) scenario.root = 0;
    Table table{named, scenario, bytes, scenario.placement(), scenario.shape(bytes)};
    // For the algorithms that need it; the others do not look.
    table.shape.has_multicast = true;
    table.print_heading();
    bool are_right = true;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (one.collective == scenario.collective && is_wanted(one)) {
            are_right &= table.print_row(one);
        }
    }
    return are_right;
}

// Some collective at least heeds what was said.
Result<Done> check_heeded(const CommandLine& command_line,
                          const std::function<bool(const algo::Algorithm&)>& is_wanted) {
    bool has_some_root = false;
    bool has_some_data = false;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (!is_wanted(one)) continue;
        has_some_root |= has_root(one.collective);
        has_some_data |= has_data(one.collective);
    }
    if (command_line.has("--root") && !has_some_root) return wrong("--root: there is no root");
    if (command_line.has("--bytes") && !has_some_data) return wrong("--bytes: a barrier has none");
    return Done{};
}

Result<explain::Scenario> read_call(const CommandLine& command_line, const JobHosts& job) {
    explain::Scenario scenario;
    scenario.ranks = job.ranks;
    scenario.hosts = job.hosts;
    scenario.host_of_rank = job.host_of_rank;
    scenario.placed = job.placed;
    scenario.tree = job.tree();
    const auto root = command_line.count("--root", 0, 0, job.ranks - 1);
    if (!root) return root.error();
    scenario.root = static_cast<uint32_t>(root.value());
    return scenario;
}

}  // namespace

Result<int> check_on_fabric(const CommandLine& command_line,
                            const std::function<bool(const algo::Algorithm&)>& is_wanted) {
    auto cluster = read_cluster(command_line);
    if (!cluster) return cluster.error();
    const auto ranks = read_ranks(command_line, *cluster.value()->topology);
    if (!ranks) return ranks.error();
    const auto job = read_job_hosts(command_line, ranks.value(), std::move(cluster.value()));
    if (!job) return job.error();
    if (job.value().hosts == 1) return wrong("check: on one host no message is sent; see --hosts");
    const auto named = read_fabric(command_line, job.value());
    if (!named) return named.error();
    auto call = read_call(command_line, job.value());
    if (!call) return call.error();
    const std::string* size = command_line.find("--bytes");
    const auto bytes = size ? parse_bytes(*size) : kUsualBytes;
    if (!bytes || *bytes > kCallBytesMax) {
        return wrong_value("--bytes", *size, "bytes up to 64G, such as 64K");
    }
    if (const auto done = check_heeded(command_line, is_wanted); !done) return done.error();
    bool are_right = true;
    const tutti_collective* before = nullptr;
    for (const algo::Algorithm& one : algo::algorithms()) {
        if (!is_wanted(one) || (before && *before == one.collective)) continue;
        if (before) fmt::print("\n");
        before = &one.collective;
        call.value().collective = one.collective;
        are_right &= check_collective(named.value(), call.value(), *bytes, is_wanted);
    }
    fmt::print(
        "\nshared: the most pairs of ranks with messages on one link in a step; 1: free of "
        "contention. extra: of all\nsteps and links, the pairs beyond the first. bytes: on the "
        "link that takes longest for its own. at least: so\nmany pass some link in any schedule. "
        "ratio: of the times that both take.\n");
    return are_right ? 0 : 1;
}

void print_load(const NamedFabric& named, const sched::Shape& shape,
                const topo::Placement& placement, const algo::Programs& programs) {
    const Busiest found = busiest_of(named.fabric, shape, placement, programs);
    if (found.load.pairs <= 1) {
        fmt::print("links: no two pairs of ranks share one in a step\n");
    } else {
        fmt::print("links: up to {} pairs of ranks share one in a step (step {}, {})\n",
                   found.load.pairs, found.load.step, name_of(named, found.load.link));
    }
    if (named.switch_names.empty()) return;
    fmt::print("extra: {} pairs beyond the first, of all steps and links\n", found.load.extra);
    if (found.bytes == 0) return;
    fmt::print("bytes: {} on the busiest link ({}); {} pass some link in any schedule\n",
               found.bytes, name_of(named, found.link), found.least.bytes);
}

}  // namespace tutti::cli
