// SPDX-License-Identifier: BSD-3-Clause
#include "cli/simulate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/background_options.h"
#include "cli/command_line.h"
#include "cli/fabric_options.h"
#include "cli/saved_figures.h"
#include "cli/scenario_options.h"
#include "cli/skew_options.h"
#include "lab/explain/schedule_cost.h"
#include "lab/simulate/simulate.h"
#include "plan/algo/plan.h"
#include "plan/price/bound.h"
#include "plan/price/node_speed.h"
#include "plan/select/select.h"

namespace tutti::cli {
namespace {

using explain::Scenario;

constexpr auto kSimulateOptions = std::to_array<OptionDoc>({
    {"--multicast", "", "The team has a multicast route"},
    kNodeFiguresOption,
    {"--skew", "D:MAX",
     "Ranks come late: one, uniform, exponential, node or alternating, by up to MAX (10ms; "
     "several: "
     "0,1ms,10ms), or as a run of as many ranks has recorded (report:FILE, the JSON of a report). "
     "Prints the median of 9 draws, from the last arrival to the last exit"},
    {"--seed", "N",
     "Chooses the order of simultaneous events, when a call meets the background, and the late "
     "ranks "
     "(default: 1)"},
});

// With buffers of their own for all ranks, results are compared too; beyond this there is one set.
constexpr uint64_t kDataBytesMax = 256u << 20;
// Beyond the first the engine runs longer than a minute, beyond the second reading the schedules
// does, which is what a simulation by law takes.
constexpr uint64_t kSimulatedOperationsMax = 30'000'000;
constexpr uint64_t kReadOperationsMax = 500'000'000;

// What a machine of today has to spare.
constexpr uint64_t kMemoryBytesMax = uint64_t{4} << 30;

// One rank's buffers. At most 2^17 blocks of 2^36 bytes.
uint64_t buffer_bytes(const sched::Shape& shape) {
    if (!has_blocks(shape.collective)) return 2 * shape.bytes;
    // The root has whatever anybody has.
    return shape.input_bytes(shape.root) + shape.output_bytes(shape.root);
}

bool has_room_for_data(const sched::Shape& shape) {
    return buffer_bytes(shape) <= kDataBytesMax / shape.ranks;
}

// Ranks without data share one set of buffers, but each has its own scratch.
bool has_memory(const algo::Algorithm& algorithm, const sched::Shape& shape,
                const topo::Placement& placement, const algo::Tuning& tuning) {
    const uint64_t scratch = algo::plan_scratch_bytes(algorithm, shape, placement, tuning);
    return buffer_bytes(shape) <= kMemoryBytesMax && scratch <= kMemoryBytesMax / shape.ranks;
}

// Who is late is drawn so often for each algorithm.
constexpr uint64_t kDraws = 9;

// What calls of all sizes have in common.
struct Conditions {
    NamedFabric named;
    uint64_t seed = 1;
    price::NodeParameters costs;
    simulate::BackgroundLoad background;
    std::string background_text;
    std::optional<bench::SkewOptions> skew;
};

struct Run {
    const Conditions& around;
    const topo::Placement& placement;
    sched::Shape shape;
    std::optional<uint64_t> most_late_ns;  // none: all come together

    [[nodiscard]] Result<simulate::SimulationResult> simulate(
        simulate::SimulationRequest request) const;
    [[nodiscard]] Result<Done> print_row(const algo::Algorithm& algorithm,
                                         const algo::Tuning& tuning, bool is_chosen) const;
};

// Of the draws the one with the median delay, and the time inside of all.
Result<simulate::SimulationResult> Run::simulate(simulate::SimulationRequest request) const {
    if (!most_late_ns) return simulate::run(request);
    const adapt::Delays delays{.skew = around.skew->skew,
                               .most_ns = *most_late_ns,
                               .seed = around.seed,
                               .ranks = placement.ranks(),
                               .hosts = placement.nodes(),
                               .recorded = around.skew->recorded.get()};
    std::vector<simulate::SimulationResult> all;
    uint64_t inside_ns = 0;
    for (uint64_t draw = 0; draw < kDraws; ++draw) {
        request.late_ns.clear();
        for (uint32_t rank = 0; rank < placement.ranks(); ++rank) {
            request.late_ns.push_back(delays.delay_ns(draw, rank, placement.node_of(rank)));
        }
        auto result = simulate::run(request);
        if (!result) return result;
        all.push_back(std::move(result.value()));
        inside_ns += all.back().inside_ns;
    }
    std::ranges::sort(all, {}, &simulate::SimulationResult::delay_ns);
    all[kDraws / 2].inside_ns = inside_ns / kDraws;
    return std::move(all[kDraws / 2]);
}

Result<Done> Run::print_row(const algo::Algorithm& algorithm, const algo::Tuning& tuning,
                            bool is_chosen) const {
    const char* mark = is_chosen ? "*" : " ";
    const auto refuse = [&](std::string_view why) {
        fmt::print("{} {:<18} {}\n", mark, algorithm.name, why);
        return Done{};
    };
    const auto obstacle = algo::plan_obstacle(algorithm, shape, placement, tuning);
    if (!obstacle.empty()) return refuse(fmt::format("cannot run this: {}", obstacle));
    const uint64_t operations = explain::operations_about(algorithm, shape, placement, tuning);
    const auto too_many = [&] {
        return refuse(fmt::format("not simulated: more than {} operations, and no law for them",
                                  kSimulatedOperationsMax));
    };
    if (operations > kReadOperationsMax) return too_many();
    // What its messages say is more than their data: it is simulated with buffers for all.
    const bool is_led = algorithm.follows_arrival || algorithm.has_bundles();
    const bool lacks_room = is_led && !has_room_for_data(shape);
    if (lacks_room || !has_memory(algorithm, shape, placement, tuning)) {
        return refuse(fmt::format("not simulated: takes more than {} of memory",
                                  format_bytes(lacks_room ? kDataBytesMax : kMemoryBytesMax)));
    }
    simulate::SimulationRequest request;
    request.algorithm = &algorithm;
    request.shape = shape;
    request.placement = &placement;
    request.tuning = tuning;
    request.cluster.fabric = around.named.fabric;
    request.cluster.overhead_ns = around.named.parameters.message_ns;
    request.cluster.eager_bytes_max = around.named.parameters.eager_bytes_max;
    request.cluster.multicast_latency_ns = around.named.parameters.multicast.latency_ns;
    // Messages between ranks of one host, and a multicast's way out of its ring: a rank copies.
    request.cluster.memory_bytes_per_s = around.costs.copy_bytes_per_s;
    request.has_data = has_room_for_data(shape) && operations <= kSimulatedOperationsMax;
    request.seed = around.seed;
    request.costs = around.costs;
    request.background = around.background;
    request.only_by_law = operations > kSimulatedOperationsMax;
    const auto result = simulate(std::move(request));
    if (!result && result.error().code == ErrorCode::kOff) return too_many();
    if (!result) return result.error();
    const explain::Cost cost = explain::cost_of(algorithm, shape, placement, tuning);
    const auto& found = result.value();
    const auto bound = static_cast<double>(
        std::max<uint64_t>(price::bound_ns(shape, placement, around.named.fabric), 1));
    fmt::print("{} {:<18} {:>10} {:>8.2f} {:>7} {:>9} {:>12}", mark, algorithm.name,
               format_duration(found.delay_ns()), static_cast<double>(found.delay_ns()) / bound,
               cost.is_followed ? std::to_string(cost.rounds) : "-", found.messages,
               format_bytes(found.bytes));
    if (shape.has_multicast) {
        fmt::print(" {:>10} {:>12}", found.multicasts, format_bytes(found.multicast_bytes));
    }
    if (most_late_ns) fmt::print(" {:>10}", format_duration(found.inside_ns));
    fmt::print("{}\n", found.is_by_law ? "  by law" : "");
    return Done{};
}

Result<Done> simulate_one(const Scenario& scenario, const Conditions& around,
                          const topo::Placement& placement, uint64_t bytes, bool are_all,
                          select::Prices* prices, std::optional<uint64_t> most_late_ns) {
    const Run run{around, placement, scenario.shape(bytes), most_late_ns};
    const auto choice = scenario.choose(run.shape, run.placement, nullptr, prices);
    if (!choice) return choice.error();
    const select::Choice& chosen = choice.value();
    if (chosen.algorithm == nullptr && !are_all) {
        return Error{ErrorCode::kArgument,
                     fmt::format("simulate: Tutti sends nothing here ({})", chosen.reason)};
    }
    fmt::print("{}, {}\n", scenario.text(bytes), around.named.text);
    if (!around.background_text.empty()) fmt::print("background: {}\n", around.background_text);
    if (most_late_ns) {
        fmt::print(
            "skew: {}, up to {} late; delay: last exit - last arrival, the median of {}; "
            "inside: how long a rank is in the call, the mean\n",
            adapt::skew_name(around.skew->skew), format_duration(*most_late_ns), kDraws);
    }
    fmt::print("{:20} {:>10} {:>8} {:>7} {:>9} {:>12}", "", most_late_ns ? "delay" : "time",
               "x bound", "rounds", "messages", "bytes");
    if (run.shape.has_multicast) fmt::print(" {:>10} {:>12}", "multicasts", "bytes");
    if (most_late_ns) fmt::print(" {:>10}", "inside");
    fmt::print("\n");
    for (const algo::Algorithm& one : algo::algorithms()) {
        const bool is_chosen = chosen.algorithm == &one;
        if (one.collective != scenario.collective || (!are_all && !is_chosen)) continue;
        const algo::Tuning tuning = is_chosen ? chosen.tuning : algo::Tuning{};
        if (const auto done = run.print_row(one, tuning, is_chosen); !done) return done.error();
    }
    fmt::print("  {:<18} {:>10}\n", "lower bound",
               format_duration(price::bound_ns(run.shape, run.placement, around.named.fabric)));
    return Done{};
}

Result<Conditions> read_conditions(const CommandLine& command_line, const ReadScenario& read) {
    Conditions around;
    const JobHosts& job = read.job;
    const auto background = read_background(command_line, job);
    if (!background) return background.error();
    auto named = read_priced_fabric(command_line, read, background.value().hosts);
    if (!named) return named.error();
    around.named = std::move(named.value());
    around.costs = around.named.parameters.node;
    around.background_text = background.value().text;
    around.background.bytes = background.value().bytes;
    // Behind those of the call.
    for (uint32_t i = 0; i < background.value().hosts.size(); ++i) {
        around.background.hosts.push_back(job.hosts + i);
    }
    const auto seed = command_line.count("--seed", 1, 0, std::numeric_limits<uint64_t>::max());
    if (!seed) return seed.error();
    around.seed = seed.value();
    if (const std::string* text = command_line.find("--skew")) {
        const auto skew = parse_skew(*text);
        if (!skew) return skew.error();
        around.skew = skew.value();
    }
    return around;
}

Result<Done> simulate(const CommandLine& command_line) {
    auto read = read_scenario("simulate", command_line, settings_in_force());
    if (!read) return read.error();
    Scenario& scenario = read.value().scenario;
    scenario.has_multicast = command_line.has("--multicast");
    const auto sizes = read_bytes("simulate", command_line, scenario);
    if (!sizes) return sizes.error();
    auto found = read_conditions(command_line, read.value());
    if (!found) return found.error();
    Conditions& around = found.value();
    if (scenario.hosts == 1) {
        return Error{ErrorCode::kArgument,
                     "simulate: on one host no message is sent; tutti explain says what runs in "
                     "shared memory, tutti bench measures it; see also --hosts"};
    }
    const std::string* name = command_line.find("--algorithm");
    const bool are_all = name && *name == "all";
    if (name && !are_all) {
        if (auto done = scenario.force(*name, "--algorithm"); !done) return done.error();
    }
    const topo::Placement placement = scenario.placement();
    const std::string unskewed = around.skew ? around.skew->obstacle(placement.ranks()) : "";
    if (!unskewed.empty()) return Error{ErrorCode::kArgument, "simulate: " + unskewed};
    const uint32_t together = placement.members_max();
    const auto measured = read_node_figures(command_line, together);
    if (!measured) return measured.error();
    if (measured.value()) {
        const explain::MeasuredNode& node = *measured.value();
        around.costs = price::parameters_of(node.figures,
                                            explain::tuning_of(node, scenario.settings, together));
        fmt::print("within a host: {}\n", node.text());
    }
    auto prices = choosing_prices(command_line, around.named, scenario, placement);
    bool is_first = true;
    for (const uint64_t bytes : sizes.value()) {
        if (!is_first) fmt::print("\n");
        is_first = false;
        select::Prices* const known = prices ? &*prices : nullptr;
        std::vector<std::optional<uint64_t>> levels = {{}};
        if (around.skew) levels.assign(around.skew->most_ns.begin(), around.skew->most_ns.end());
        for (const auto& most_late_ns : levels) {
            if (&most_late_ns != &levels.front()) fmt::print("\n");
            const auto done =
                simulate_one(scenario, around, placement, bytes, are_all, known, most_late_ns);
            if (!done) return done.error();
        }
    }
    return Done{};
}

}  // namespace

int simulate_main(std::span<const std::string> arguments) {
    std::vector<OptionDoc> options(scenario_options().begin(), scenario_options().end());
    const auto fabric = fabric_options();
    options.insert(options.end(), fabric.begin(), fabric.end());
    const auto background = background_options();
    options.insert(options.end(), background.begin(), background.end());
    options.insert(options.end(), kSimulateOptions.begin(), kSimulateOptions.end());
    const auto command_line = CommandLine::parse("simulate", arguments, options);
    if (command_line && command_line.value().wants_help()) {
        fmt::print("{}", help_text("How long calls take on a cluster, in virtual time: the real "
                                   "schedules, run by the real code\non a simulated network. "
                                   "--algorithm all compares all; --bytes takes a list.",
                                   "tutti simulate COLLECTIVE --ranks N [--bytes N,N...] [options]",
                                   options));
        return 0;
    }
    const auto done =
        command_line ? simulate(command_line.value()) : Result<Done>(command_line.error());
    if (done) return 0;
    fmt::print(stderr, "tutti: {}\n", done.error().message);
    return 2;
}

}  // namespace tutti::cli
