// SPDX-License-Identifier: BSD-3-Clause
#include "cli/simulate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "algo/plan.h"
#include "base/text.h"
#include "cli/call.h"
#include "cli/cost.h"
#include "cli/words.h"
#include "engine/simulate.h"
#include "select/select.h"

namespace tutti::cli {
namespace {

constexpr auto kOwnOptions = std::to_array<OptionDoc>({
    {"--rate", "RATE", "Of each host's link, each way (default: 100Gbit)"},
    {"--latency", "TIME", "From host to host over the one switch (default: 1us)"},
    {"--seed", "N", "Order of what happens at the same time (default: 1)"},
});

// With buffers of their own for all ranks, results are compared too; beyond this there is one set.
constexpr uint64_t kDataBytesMax = 256u << 20;
// Where the engine runs longer than a minute.
constexpr uint64_t kSimulatedOperationsMax = 30'000'000;

struct Fabric {
    uint64_t bits_per_s = 100'000'000'000;
    uint64_t latency_ns = 1000;
    uint64_t seed = 1;
};

Result<Fabric> read_fabric(const Words& words) {
    Fabric fabric;
    if (const std::string* text = words.find("--rate")) {
        const auto rate = parse_rate(*text);
        if (!rate) return wrong_value("--rate", *text, "a rate such as 100Gbit or 25mbit");
        fabric.bits_per_s = *rate;
    }
    if (const std::string* text = words.find("--latency")) {
        const auto time = parse_duration(*text);
        if (!time) return wrong_value("--latency", *text, "a time such as 1us or 1.5ms");
        fabric.latency_ns = *time;
    }
    const auto seed = words.count("--seed", 1, 0, std::numeric_limits<uint64_t>::max());
    if (!seed) return seed.error();
    fabric.seed = seed.value();
    return fabric;
}

// What the busiest link must carry one way, whoever sends when: no schedule without multicast is
// faster than that and one latency.
uint64_t bound_bytes(const sched::Shape& shape, const topo::Placement& placement) {
    const uint64_t hosts = placement.nodes();
    const uint64_t root_members = placement.members(placement.node_of(shape.root)).size();
    switch (shape.collective) {
        case TUTTI_BCAST:
        case TUTTI_REDUCE:
            return shape.bytes;
        case TUTTI_ALLREDUCE:
            // Patarasuk, Yuan 2007, lemma 1, with hosts for processes.
            return 2 * (hosts - 1) * (shape.bytes / hosts) +
                   2 * (hosts - 1) * (shape.bytes % hosts) / hosts;
        case TUTTI_GATHER:
        case TUTTI_SCATTER:
            return (placement.ranks() - root_members) * shape.bytes;
        case TUTTI_ALLGATHER:
            return (placement.ranks() - placement.members_min()) * shape.bytes;
        default:
            return 0;
    }
}

uint64_t bound_ns(const sched::Shape& shape, const topo::Placement& placement,
                  const Fabric& fabric) {
    const double bits = static_cast<double>(bound_bytes(shape, placement)) * 8;
    return fabric.latency_ns +
           static_cast<uint64_t>(bits * 1e9 / static_cast<double>(fabric.bits_per_s));
}

uint64_t data_bytes(const sched::Shape& shape) {
    const bool has_blocks = sched::has_blocks(shape.collective);
    return uint64_t{shape.ranks} * shape.bytes * (has_blocks ? shape.ranks + 1 : 2);
}

struct Run {
    const Call& call;
    const Fabric& fabric;
    sched::Shape shape;
    topo::Placement placement;

    [[nodiscard]] Result<Done> print_row(const algo::Algorithm& algorithm,
                                         const algo::Tuning& tuning, bool is_chosen) const;
};

Result<Done> Run::print_row(const algo::Algorithm& algorithm, const algo::Tuning& tuning,
                            bool is_chosen) const {
    const char* mark = is_chosen ? "*" : " ";
    const auto refuse = [&](std::string_view why) {
        fmt::print("{} {:<18} {}\n", mark, algorithm.name, why);
        return Done{};
    };
    const auto obstacle = algo::plan_obstacle(algorithm, shape, placement, tuning);
    if (!obstacle.empty()) return refuse(fmt::format("cannot run this: {}", obstacle));
    if (operations_about(algorithm, shape, placement, tuning) > kSimulatedOperationsMax) {
        return refuse(
            fmt::format("not simulated: more than {} operations", kSimulatedOperationsMax));
    }
    engine::SimulationRequest request;
    request.algorithm = &algorithm;
    request.shape = shape;
    request.placement = &placement;
    request.tuning = tuning;
    request.network = transport::sim::Network::one_switch(placement.nodes());
    request.network.host_bits_per_s = fabric.bits_per_s;
    request.network.latency_ns = fabric.latency_ns;
    request.has_data = data_bytes(shape) <= kDataBytesMax;
    request.seed = fabric.seed;
    const auto result = engine::simulate(request);
    if (!result) return result.error();
    const Cost cost = cost_of(algorithm, shape, placement, tuning);
    const auto& found = result.value();
    const auto bound =
        static_cast<double>(std::max<uint64_t>(bound_ns(shape, placement, fabric), 1));
    fmt::print("{} {:<18} {:>10} {:>8.2f} {:>7} {:>9} {:>12}\n", mark, algorithm.name,
               format_duration(found.time_ns), static_cast<double>(found.time_ns) / bound,
               cost.is_followed ? std::to_string(cost.rounds) : "-", found.messages,
               format_bytes(found.bytes));
    return Done{};
}

Result<Done> simulate_one(const Call& call, const Fabric& fabric, uint64_t bytes, bool are_all) {
    const Run run{call, fabric, call.shape(bytes), call.placement()};
    const auto choice =
        select::choose(call.rules, call.settings, run.shape, run.placement, call.host_mpi);
    if (!choice) return choice.error();
    const select::Choice& chosen = choice.value();
    if (chosen.algorithm == nullptr && !are_all) {
        return Error{ErrorCode::kArgument,
                     fmt::format("simulate: nothing of ours is sent here ({})", chosen.reason)};
    }
    fmt::print("{}, {} Mbit/s, {}\n", call.text(bytes),
               static_cast<double>(fabric.bits_per_s) / 1e6, format_duration(fabric.latency_ns));
    fmt::print("{:20} {:>10} {:>8} {:>7} {:>9} {:>12}\n", "", "time", "x bound", "rounds",
               "messages", "bytes");
    for (const algo::Algorithm& one : algo::algorithms()) {
        const bool is_chosen = chosen.algorithm == &one;
        if (one.collective != call.collective || (!are_all && !is_chosen)) continue;
        const algo::Tuning tuning = is_chosen ? chosen.tuning : algo::Tuning{};
        if (const auto done = run.print_row(one, tuning, is_chosen); !done) return done.error();
    }
    fmt::print("  {:<18} {:>10}\n", "lower bound",
               format_duration(bound_ns(run.shape, run.placement, fabric)));
    return Done{};
}

Result<Done> simulate(const Words& words) {
    auto read = read_call("simulate", words, tutti_entries(environ));
    if (!read) return read.error();
    Call& call = read.value();
    const auto sizes = read_bytes("simulate", words, call);
    if (!sizes) return sizes.error();
    const auto fabric = read_fabric(words);
    if (!fabric) return fabric.error();
    if (call.hosts == 1) {
        return Error{ErrorCode::kArgument, "simulate: on one host no message is sent; see --hosts"};
    }
    const std::string* name = words.find("--algorithm");
    const bool are_all = name && *name == "all";
    if (name && !are_all) {
        if (auto forced = select::parse_forced(call.collective, *name); !forced) {
            return Error{ErrorCode::kArgument, "--algorithm: " + forced.error().message};
        }
        call.settings.forced[call.collective] = *name;
    }
    bool is_first = true;
    for (const uint64_t bytes : sizes.value()) {
        if (!is_first) fmt::print("\n");
        is_first = false;
        const auto done = simulate_one(call, fabric.value(), bytes, are_all);
        if (!done) return done.error();
    }
    return Done{};
}

}  // namespace

int simulate_main(std::span<const std::string> arguments) {
    std::vector<OptionDoc> options(call_options().begin(), call_options().end());
    options.insert(options.end(), kOwnOptions.begin(), kOwnOptions.end());
    const auto words = Words::parse("simulate", arguments, options);
    if (words && words.value().wants_help()) {
        fmt::print("{}", help_text("How long calls take on a cluster, in virtual time: the real "
                                   "schedules, run by the real code\non a simulated network. "
                                   "--algorithm all compares all; --bytes takes a list.",
                                   "tutti simulate COLLECTIVE --ranks N [--bytes N,N...] [options]",
                                   options));
        return 0;
    }
    const auto done = words ? simulate(words.value()) : Result<Done>(words.error());
    if (done) return 0;
    fmt::print(stderr, "tutti: {}\n", done.error().message);
    return 2;
}

}  // namespace tutti::cli
