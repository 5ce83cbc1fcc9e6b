// SPDX-License-Identifier: BSD-3-Clause
#include "cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collectives.h"
#include "base/text.h"
#include "cli/check_load.h"
#include "cli/command_line.h"
#include "cli/explain_memory.h"
#include "cli/explain_rdma.h"
#include "cli/exported_files.h"
#include "cli/fabric_options.h"
#include "cli/measured_calls.h"
#include "cli/saved_figures.h"
#include "cli/scenario_options.h"
#include "cli/skew_options.h"
#include "lab/explain/comparison.h"
#include "lab/explain/drawing.h"
#include "lab/explain/node_level.h"
#include "lab/explain/schedule_cost.h"
#include "lab/explain/tree_drawing.h"
#include "plan/algo/plan.h"
#include "plan/price/cluster_parameters.h"
#include "plan/sched/program_text.h"
#include "plan/select/measured.h"
#include "plan/select/select.h"
#include "plan/select/skew_threshold.h"

namespace tutti::cli {
namespace {

using explain::Scenario;

constexpr auto kExplainOptions = std::to_array<OptionDoc>({
    {"--multicast", "", "The team has a multicast route"},
    {"--multicast-speed", "TIME,RATE",
     "The speed of multicast as a team measures it, for built-in rules: 30us,940mbit"},
    kNodeFiguresOption,
    {"--message-speed", "TIME,RATE",
     "Likewise the speed of messages between hosts: 2us,90gbit; also for prices (TUTTI_PRICE)"},
    {"--skew", "one:TIME",
     "Also the time from the last arrival to the last exit where one rank comes so late, "
     "and from which skew on it pays to follow arrivals (docs/price.md)"},
    {"--schedule", "", "Print the schedule of every rank (docs/formats/schedule.md)"},
    {"--memory", "", "Print the memory that the communicator takes"},
    kSvgOption,
    kGoalOption,
    kSmpiOption,
    kFreeCopiesOption,
    kAgainstOption,
});

// Longer schedules are for programs, not for people.
constexpr uint64_t kPrintedOperationsMax = 1'000'000;

// Where it was not followed in time.
std::string_view mark_of(select::Method method) {
    if (method == select::Method::kFollowed) return "";
    return method == select::Method::kExtrapolated ? "~" : "?";
}

void print_row(const explain::Candidate& row, bool has_multicasts, bool has_late) {
    const char* mark = row.is_chosen ? "*" : " ";
    if (!row.obstacle.empty()) {
        fmt::print("{} {:<18} cannot run this: {}\n", mark, row.algorithm->name, row.obstacle);
        return;
    }
    const check::Count& most = row.cost.most;
    fmt::print("{} {:<18} {:>7} {:>9} {:>12} ", mark, row.algorithm->name,
               row.cost.is_followed ? std::to_string(row.cost.rounds) : "-", most.messages_sent,
               format_bytes(most.bytes_sent));
    if (has_multicasts) {
        fmt::print("{:>10} {:>12} ", most.multicasts_sent, format_bytes(most.multicast_bytes_sent));
    }
    fmt::print("{:>12} {:>8} {:>10}", format_bytes(most.reduced_bytes), most.node_operations,
               row.ns ? fmt::format("{}{}", mark_of(row.method), format_duration(*row.ns)) : "-");
    if (has_late) fmt::print(" {:>10}", row.late_ns ? format_duration(*row.late_ns) : "-");
    fmt::print("  {}\n", row.algorithm->summary);
}

void print_followings(std::span<const explain::Following> followings) {
    for (const auto& [follower, fixed, from_ns] : followings) {
        std::string from = "from " + format_duration(from_ns) + " of skew on";
        if (from_ns == 0) from = "without skew, too";
        if (from_ns == select::kNoSkew) from = "at no skew";
        fmt::print("{}: faster than {} {}\n", follower->name, fixed->name, from);
    }
}

void print_table(const sched::Shape& shape, const topo::Placement& placement,
                 const select::Choice& choice, const select::Cluster& cluster,
                 std::optional<uint64_t> skew_ns) {
    const explain::Comparison comparison =
        explain::compare(shape, placement, choice, cluster, skew_ns);
    const auto& [rows, are_followed, has_multicasts] = comparison;
    const std::string multicasts =
        has_multicasts ? fmt::format("{:>10} {:>12} ", "multicasts", "bytes") : "";
    fmt::print("\n{:20} {:>7} {:>9} {:>12} {}{:>12} {:>8} {:>10}{}\n", "", "rounds", "messages",
               "bytes sent", multicasts, "folded", "node ops", "time",
               skew_ns ? fmt::format(" {:>10}", "late") : "");
    for (const explain::Candidate& row : rows) print_row(row, has_multicasts, skew_ns.has_value());
    fmt::print(
        "\nrounds: messages in the longest chain of dependent ones. All else: of the rank that has "
        "most.\ntime: predicted if all ranks begin together (docs/price.md), by the algorithm's "
        "own "
        "tuning, of the chosen one as it runs; -: the speed of multicasts is unknown\n");
    if (skew_ns) {
        fmt::print(
            "late: from the last arrival to the last exit, with one rank {} behind all others, the "
            "median of {} such ranks in turn; -: not followed\n",
            format_duration(*skew_ns), select::kLateMax);
        print_followings(explain::followings(comparison, shape, placement, choice, cluster));
    }
    const auto is_any = [&all = rows](select::Method method) {
        return std::ranges::any_of(all, [&](const auto& row) { return row.method == method; });
    };
    if (is_any(select::Method::kExtrapolated)) {
        fmt::print("~: extrapolated from few hosts (docs/price.md, Many hosts)\n");
    }
    if (is_any(select::Method::kEstimated)) {
        fmt::print("?: estimated by one rank's work; nothing is chosen by it\n");
    }
    if (has_multicasts) {
        fmt::print(
            "multicasts, bytes: what that rank multicasts, counted once for all receivers\n");
    }
    if (!are_followed) {
        fmt::print(
            "-: more than {} operations, too many to follow; the rest from {} of the ranks\n",
            explain::kOperationsMax, explain::kSampleRanks);
    }
}

void print_choice(const Scenario& scenario, uint64_t bytes, const select::Choice& choice) {
    fmt::print("{}\n", scenario.text(bytes));
    if (choice.runs == select::Runs::kPlan) {
        const std::string tuning = explain::tuning_text(*choice.algorithm, choice.tuning, bytes);
        fmt::print("runs:  {}{}{}\n", choice.algorithm->name, tuning.empty() ? "" : ", ", tuning);
    } else {
        fmt::print("runs:  your MPI's own\n");
    }
    fmt::print("why:   {}\n", choice.reason);
    if (has_private_lengths(scenario.collective)) {
        fmt::print(
            "sizes: all blocks alike here; in a run only pairs of ranks know their lengths\n");
    }
}

void print_way(const explain::NodeWay& way, bool runs_here, bool has_times) {
    const char* mark = runs_here && way.is_chosen ? "*" : " ";
    if (!way.obstacle.empty()) {
        fmt::print("{} {:<18} cannot run this: {}\n", mark, way.name, way.obstacle);
        return;
    }
    fmt::print("{} {:<18} {:>7} {:>9} {:>12} {:>12} {:>12}", mark, way.name, way.most.rounds, 0,
               format_bytes(way.most.written_bytes), format_bytes(way.most.read_bytes),
               format_bytes(way.most.folded_bytes));
    if (has_times) fmt::print(" {:>10}", way.ns ? format_duration(*way.ns) : "-");
    fmt::print("  {}\n", way.when);
}

void print_node_level(const Scenario& scenario, uint64_t bytes, const select::Choice& choice,
                      explain::NodeSide& side) {
    const bool runs_here = choice.runs == select::Runs::kNode;
    if (!runs_here) {
        print_choice(scenario, bytes, choice);
    } else if (!side.obstacle.empty()) {
        fmt::print("{}\nruns:  your MPI's own\nwhy:   {}\n", scenario.text(bytes), side.obstacle);
    }
    if (!side.obstacle.empty()) return;
    const explain::NodeLevel level = explain::node_level(side, choice.node_algorithm);
    if (runs_here) {
        fmt::print("{}\nruns:  {}, in shared memory (docs/node.md)\nwhy:   {}{}{}\n",
                   scenario.text(bytes), level.algorithm, choice.reason,
                   level.why.empty() ? "" : "; ", level.why);
        if (!level.meeting.empty()) fmt::print("meet:  {}\n", level.meeting);
        if (!level.tuned.empty()) {
            fmt::print("moves: {}\n", level.tuned);
            if (!side.measured) {
                fmt::print(
                    "       a team measures that when it is made; `tutti info` does so on this "
                    "machine\n");
            }
        }
    }
    const bool has_times = side.measured && side.team.size > 1;
    if (has_times) fmt::print("times: {}\n", side.measured->text());
    fmt::print("\n{:20} {:>7} {:>9} {:>12} {:>12} {:>12}", "", "rounds", "messages", "written",
               "read", "folded");
    if (has_times) fmt::print(" {:>10}", "time");
    fmt::print("\n");
    for (const explain::NodeWay& way : level.ways) print_way(way, runs_here, has_times);
    fmt::print(
        "\nrounds: flags in the longest chain of dependent ones. All else: of the rank that has "
        "most;\nwritten, read: payload in shared memory.\n");
    if (!has_times) return;
    fmt::print(
        "time: of the rank that takes longest, by what was measured, and 40 GB/s within its own "
        "memory;\n-: no measured figure gives it.\n");
}

Result<Done> check_schedule(const CommandLine& command_line, const sched::Shape& shape,
                            const topo::Placement& placement, const select::Choice& choice) {
    if (!command_line.has("--schedule")) return Done{};
    const uint64_t operations =
        explain::operations_about(*choice.algorithm, shape, placement, choice.tuning);
    if (operations <= kPrintedOperationsMax) return Done{};
    return wrong(fmt::format("--schedule: about {} operations; at most {} are printed", operations,
                             kPrintedOperationsMax));
}

void print_schedule(const sched::Shape& shape, const topo::Placement& placement,
                    const select::Choice& choice) {
    for (uint32_t rank = 0; rank < shape.ranks; ++rank) {
        const auto program =
            algo::make_plan(*choice.algorithm, shape, placement, rank, choice.tuning);
        fmt::print("{}", sched::print(*program, rank, shape));
    }
}

// Ranks side by side, or, where a file describes the cluster, on its tree of switches.
Result<std::string> drawing_of(const CommandLine& command_line, const ReadScenario& read,
                               uint64_t bytes, const sched::Shape& shape,
                               const topo::Placement& placement, const select::Choice& choice) {
    const std::string title = read.scenario.text(bytes);
    if (!read.job.cluster) {
        return explain::draw(title, *choice.algorithm, shape, placement, choice.tuning);
    }
    const auto named = read_fabric(command_line, read.job);
    if (!named) return named.error();
    const explain::FabricView view{
        *read.job.cluster->topology, *read.scenario.tree, read.job.names, {}};
    return explain::draw_on_tree(title + ", " + named.value().text, *choice.algorithm, shape,
                                 {view, named.value().fabric, placement}, choice.tuning);
}

// What the links of a described cluster carry, where that is not too much to follow.
void print_links(const NamedFabric& named, const sched::Shape& shape,
                 const topo::Placement& placement, const select::Choice& choice) {
    const algo::Algorithm& algorithm = *choice.algorithm;
    if (explain::operations_about(algorithm, shape, placement, choice.tuning) >
        explain::kOperationsMax) {
        return;
    }
    print_load(named, shape, placement,
               algo::make_plans(algorithm, shape, placement, choice.tuning));
}

Result<Done> check_files(const CommandLine& command_line, const select::Choice& choice) {
    if (choice.runs == select::Runs::kPlan) return Done{};
    for (const char* option : {"--schedule", "--svg", "--goal", "--smpi"}) {
        if (!command_line.has(option)) continue;
        return Error{ErrorCode::kArgument,
                     fmt::format("{}: Tutti sends nothing here ({})", option, choice.reason)};
    }
    return Done{};
}

// Before a long drawing is made for nothing, all that may be wrong; then all files, once there are
// the texts of all.
Result<Done> write_files(const CommandLine& command_line, const ReadScenario& read, uint64_t bytes,
                         const NamedFabric& named, const sched::Shape& shape,
                         const topo::Placement& placement, const select::Choice& choice) {
    if (auto done = check_exports(command_line); !done) return done;
    if (auto done = check_schedule(command_line, shape, placement, choice); !done) return done;
    auto exports = make_exports(command_line, named, shape, placement, choice);
    if (!exports) return exports.error();
    if (const std::string* file = command_line.find(kSvgOption.name)) {
        auto text = drawing_of(command_line, read, bytes, shape, placement, choice);
        if (!text) return wrong("--svg: " + text.error().message);
        exports.value().files.push_back({kSvgOption.name, *file, std::move(text.value())});
    }
    return write_exports(command_line, exports.value());
}

// As the report tells them; 0 where they are not given.
Result<sched::Speed> read_speed(const CommandLine& command_line, std::string_view option) {
    const std::string* text = command_line.find(option);
    if (!text) return sched::Speed{};
    const auto wrong = [&] {
        return wrong_value(option, *text, "a time and a rate: 30us,940mbit");
    };
    const auto parts = split(*text, ',');
    if (parts.size() != 2) return wrong();
    const auto latency_ns = parse_duration(parts[0]);
    const auto bits_per_s = parse_rate(parts[1]);
    if (!latency_ns || !bits_per_s || *bits_per_s < 1'000'000) return wrong();
    return sched::Speed{*latency_ns, *bits_per_s / 1'000'000};
}

Result<Done> read_speeds(const CommandLine& command_line, sched::Shape& shape) {
    const auto multicast = read_speed(command_line, "--multicast-speed");
    if (!multicast) return multicast.error();
    const auto message = read_speed(command_line, "--message-speed");
    if (!message) return message.error();
    if (command_line.has("--multicast-speed") && !command_line.has("--multicast")) {
        return Error{ErrorCode::kArgument, "--multicast-speed: needs --multicast"};
    }
    shape.multicast_speed = multicast.value();
    shape.message_speed = message.value();
    return Done{};
}

// One rank, by so much; none: all come together.
Result<std::optional<uint64_t>> read_late(const CommandLine& command_line,
                                          const Scenario& scenario) {
    const std::string* text = command_line.find("--skew");
    if (!text) return std::optional<uint64_t>();
    const auto skew = parse_skew(*text);
    if (!skew) return skew.error();
    if (skew.value().skew != adapt::Skew::kOne || skew.value().most_ns.size() != 1) {
        return wrong_value("--skew", *text, "one rank's, such as one:1ms; tutti simulate has all");
    }
    if (scenario.hosts == 1) {
        return Error{ErrorCode::kArgument, "--skew: on one host no message is sent"};
    }
    return std::optional(skew.value().most_ns[0]);
}

// What is for one host alone, or for several.
Result<Done> check_hosts(const CommandLine& command_line, const Scenario& scenario) {
    if (command_line.has(kNodeFiguresOption.name) && scenario.hosts > 1) {
        return Error{ErrorCode::kArgument,
                     "--node-figures: needs --hosts 1; tutti simulate takes it for several"};
    }
    if (command_line.has(kAgainstOption.name) && scenario.hosts == 1) {
        return Error{ErrorCode::kArgument, "--against: on one host --node-figures has the times"};
    }
    return Done{};
}

Result<Done> explain(const CommandLine& command_line) {
    auto read = read_scenario("explain", command_line, settings_in_force());
    if (!read) return read.error();
    Scenario& scenario = read.value().scenario;
    scenario.has_multicast = command_line.has("--multicast");
    const auto sizes = read_bytes("explain", command_line, scenario);
    if (!sizes) return sizes.error();
    if (sizes.value().size() > 1) {
        return wrong_value("--bytes", *command_line.find("--bytes"), "one number");
    }
    const uint64_t bytes = sizes.value()[0];
    if (const std::string* name = command_line.find("--algorithm")) {
        if (auto done = scenario.force(*name, "--algorithm"); !done) return done.error();
    }
    sched::Shape shape = scenario.shape(bytes);
    if (auto done = read_speeds(command_line, shape); !done) return done.error();
    const topo::Placement placement = scenario.placement();
    explain::NodeSide side;
    const auto measured = read_node_figures(command_line, scenario.ranks);
    if (!measured) return measured.error();
    if (auto done = check_hosts(command_line, scenario); !done) return done;
    const auto late_ns = read_late(command_line, scenario);
    if (!late_ns) return late_ns.error();
    if (scenario.hosts == 1) side = explain::node_side(scenario, bytes, measured.value());
    const select::NodeCall on_node{side.team, side.call};
    const auto named = read_priced_fabric(command_line, read.value(), {}, shape.message_speed);
    if (!named) return named.error();
    auto prices = choosing_prices(command_line, named.value(), scenario, placement);
    auto measured_ones = measured_prices(command_line, scenario, shape, placement);
    select::Prices* const told = prices ? &*prices : nullptr;
    select::Prices* const by_speed = measured_ones ? &*measured_ones : nullptr;
    const auto choice = scenario.choose(shape, placement, &on_node, told, by_speed);
    if (!choice) return choice.error();
    const bool is_plan = choice.value().runs == select::Runs::kPlan;
    if (auto done = check_files(command_line, choice.value()); !done) return done;
    const auto measured_calls = read_measured_calls(command_line, scenario);
    if (!measured_calls) return measured_calls.error();
    const auto written = write_files(command_line, read.value(), bytes, named.value(), shape,
                                     placement, choice.value());
    if (!written) return written.error();
    if (command_line.has("--schedule")) {
        print_schedule(shape, placement, choice.value());
        return Done{};
    }
    if (scenario.hosts == 1) {
        print_node_level(scenario, bytes, choice.value(), side);
        if (command_line.has("--memory")) print_memory(scenario, placement, {});
        return Done{};
    }
    print_choice(scenario, bytes, choice.value());
    const auto is_given = [&](const OptionDoc& one) { return command_line.has(one.name); };
    const bool is_assumed =
        !read.value().job.cluster && std::ranges::none_of(fabric_options(), is_given);
    fmt::print("on:    {}{}\n", named.value().text, is_assumed ? ", assumed" : "");
    std::optional<explain::RdmaUse> rdma;
    if (shape.networks.has(explain::kRdma)) {
        rdma = explain::rdma_use(shape, placement, choice.value());
        print_rdma(*rdma, scenario.settings.verbs);
    }
    if (read.value().job.cluster && is_plan) {
        print_links(named.value(), shape, placement, choice.value());
    }
    select::Cluster priced = priced_cluster(named.value());
    if (priced.network.multicast.mbit == 0) priced.network.multicast = shape.multicast_speed;
    print_table(shape, placement, choice.value(), priced, late_ns.value());
    print_measured_calls(command_line, measured_calls.value(), scenario, placement, priced,
                         select::leading_prices(scenario.settings, scenario.rules, told, by_speed));
    if (command_line.has("--memory")) print_memory(scenario, placement, rdma);
    return Done{};
}

}  // namespace

int explain_main(std::span<const std::string> arguments) {
    std::vector<OptionDoc> options(scenario_options().begin(), scenario_options().end());
    const auto fabric = fabric_options();
    options.insert(options.end(), fabric.begin(), fabric.end());
    options.insert(options.end(), kExplainOptions.begin(), kExplainOptions.end());
    const auto command_line = CommandLine::parse("explain", arguments, options);
    if (command_line && command_line.value().wants_help()) {
        fmt::print("{}",
                   help_text("Which algorithm runs a call, why, and what the others would "
                             "cost.",
                             "tutti explain COLLECTIVE --ranks N [--bytes N] [options]", options));
        return 0;
    }
    const auto done =
        command_line ? explain(command_line.value()) : Result<Done>(command_line.error());
    if (done) return 0;
    fmt::print(stderr, "tutti: {}\n", done.error().message);
    return 2;
}

}  // namespace tutti::cli
