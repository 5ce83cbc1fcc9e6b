// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/collectives.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/skew_options.h"
#include "lab/bench/bench_mpi.h"
#include "plan/select/rules.h"

namespace tutti::cli {
namespace {

constexpr auto kOptionNames = std::to_array<std::string_view>(
    {"--bytes", "--json", "--batches", "--seconds", "--algorithm", "--late", "--skew", "--seed",
     "--svg", "--buffers", "--blocks", "--paper", "--help"});

constexpr auto kDefaultBytes = std::to_array<uint64_t>(
    {8, 256, 1u << 10, 4u << 10, 16u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20, 16u << 20});

std::optional<Error> add_collective(BenchOptions& options, std::string_view word) {
    if (word == "all") {
        for (const std::string_view name : kCollectiveNames) {
            options.collectives.push_back(*find_collective(name));
        }
        return std::nullopt;
    }
    if (const auto collective = find_collective(word)) {
        options.collectives.push_back(*collective);
        return std::nullopt;
    }
    return unknown_collective(word, "all");
}

std::optional<Error> set_bytes(BenchOptions& options, std::string_view list) {
    options.bytes.clear();
    for (const std::string_view text : split(list, ',')) {
        const auto bytes = parse_bytes(text);
        if (!bytes || *bytes < 8 || *bytes > bench::kBenchBytesMax || *bytes % 8 != 0) {
            return wrong("--bytes '" + std::string(text) +
                         "': expected a multiple of 8 from 8 to 1G, such as 8,1K,64K");
        }
        options.bytes.push_back(*bytes);
    }
    return std::nullopt;
}

// Below zero where it is none.
double parse_milliseconds(std::string_view text) {
    if (const auto number = parse_decimal(text)) return *number;
    const auto seconds = parse_seconds(text);
    return seconds ? *seconds * 1e3 : -1;
}

std::optional<Error> set_late(BenchOptions& options, std::string_view text) {
    constexpr uint64_t kRanksMax = 1u << 24;
    constexpr double kMillisecondsMax = 60'000;
    const std::vector<std::string_view> parts = split(text, ':');
    const auto rank = parse_count(parts[0]);
    const double milliseconds = parts.size() == 2 ? parse_milliseconds(parts[1]) : -1;
    if (!rank || *rank > kRanksMax || milliseconds < 0 || milliseconds > kMillisecondsMax) {
        return wrong("--late '" + std::string(text) +
                     "': expected RANK:MILLISECONDS, such as 3:50, of at most a minute");
    }
    options.late = bench::LateRank{static_cast<uint32_t>(*rank), milliseconds};
    return std::nullopt;
}

// What would be another method.
std::optional<Error> settle_paper(BenchOptions& options, bool has_batches, bool has_seconds) {
    if (!options.paper) return std::nullopt;
    if (options.late) return wrong("--paper: not with --late");
    if (options.skew) return wrong("--paper: not with --skew");
    if (options.fresh_buffers) return wrong("--paper: not with --buffers fresh");
    if (has_seconds) return wrong("--paper: not with --seconds; see --batches");
    if (!has_batches) options.batches = bench::kPaperRuns;
    return std::nullopt;
}

std::optional<Error> settle_skew(const BenchOptions& options, bool has_seed) {
    if (!options.skew) {
        if (has_seed) return wrong("--seed: only with --skew");
        return options.svg.empty() ? std::nullopt : std::optional(wrong("--svg: only with --skew"));
    }
    if (options.late) return wrong("--skew: not with --late");
    if (!options.svg.empty() && options.svg == options.json) {
        return wrong("--svg: that is --json's file");
    }
    if (!options.svg.empty() && options.skew->most_ns.size() < 2) {
        return wrong("--svg: a curve has several points; give --skew several times MAX");
    }
    return std::nullopt;
}

std::optional<Error> set_file(std::string& file, std::string_view name, std::string_view value) {
    if (value.empty()) return wrong(std::string(name) + ": expected a file name");
    file = value;
    return std::nullopt;
}

std::optional<Error> set_option(BenchOptions& options, std::string_view name,
                                std::string_view value) {
    if (name == "--bytes") return set_bytes(options, value);
    if (name == "--late") return set_late(options, value);
    if (name == "--skew") {
        const auto skew = parse_skew(value);
        if (!skew) return skew.error();
        options.skew = skew.value();
        return std::nullopt;
    }
    if (name == "--seed") {
        const auto seed = parse_count(value);
        if (!seed) return wrong("--seed '" + std::string(value) + "': expected a number");
        options.seed = *seed;
        return std::nullopt;
    }
    if (name == "--buffers") {
        if (value != "fresh" && value != "reused") {
            return wrong("--buffers '" + std::string(value) + "': expected reused or fresh");
        }
        options.fresh_buffers = value == "fresh";
        return std::nullopt;
    }
    if (name == "--blocks") {
        if (value != "equal" && value != "ragged") {
            return wrong("--blocks '" + std::string(value) + "': expected equal or ragged");
        }
        options.ragged_blocks = value == "ragged";
        return std::nullopt;
    }
    if (name == "--algorithm") {
        if (value.empty()) return wrong("--algorithm: expected a name, or all");
        options.algorithm = value;
        return std::nullopt;
    }
    if (name == "--json") return set_file(options.json, name, value);
    if (name == "--svg") return set_file(options.svg, name, value);
    if (name == "--batches") {
        const auto batches = parse_count(value);
        if (!batches || *batches < bench::kBenchBatchesMin || *batches > 100'000) {
            return wrong("--batches '" + std::string(value) + "': expected 5 to 100000");
        }
        options.batches = *batches;
        return std::nullopt;
    }
    const auto seconds = parse_seconds(value);
    if (!seconds || *seconds > 3600) {
        return wrong("--seconds '" + std::string(value) + "': expected a number up to 3600");
    }
    options.seconds = *seconds;
    return std::nullopt;
}

}  // namespace

Result<BenchOptions> parse_bench_options(std::span<const std::string_view> arguments) {
    BenchOptions options;
    bool has_batches = false;
    bool has_seconds = false;
    bool has_seed = false;
    options.bytes.assign(kDefaultBytes.begin(), kDefaultBytes.end());
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word == "--help" || word == "-h") {
            options.help = true;
            return options;
        }
        if (!word.starts_with("-")) {
            if (auto error = add_collective(options, word)) return std::move(*error);
            continue;
        }
        const size_t equals = word.find('=');
        const std::string_view name = word.substr(0, equals);
        bool known = false;
        for (const std::string_view option : kOptionNames) known = known || option == name;
        if (!known) {
            return unknown_word("option", name, kOptionNames);
        }
        if (name == "--paper") {
            if (equals != std::string_view::npos) return wrong("--paper: expected no value");
            options.paper = true;
            continue;
        }
        has_batches = has_batches || name == "--batches";
        has_seconds = has_seconds || name == "--seconds";
        has_seed = has_seed || name == "--seed";
        if (equals == std::string_view::npos && i + 1 == arguments.size()) {
            return wrong(std::string(name) + ": a value is missing");
        }
        const std::string_view value =
            equals == std::string_view::npos ? arguments[++i] : word.substr(equals + 1);
        if (auto error = set_option(options, name, value)) return std::move(*error);
    }
    if (options.collectives.empty()) {
        return wrong(fmt::format("which collective? Name one or more of {}, or all",
                                 fmt::join(kCollectiveNames, ", ")));
    }
    if (auto error = settle_paper(options, has_batches, has_seconds)) return std::move(*error);
    if (auto error = settle_skew(options, has_seed)) return std::move(*error);
    if (options.algorithm.empty() || options.algorithm == "all") return options;
    for (const tutti_collective collective : options.collectives) {
        std::string_view name = options.algorithm;
        if (name.ends_with(bench::kApart)) name.remove_suffix(bench::kApart.size());
        const auto forced = select::parse_forced(collective, name);
        if (!forced) return wrong("--algorithm: " + forced.error().message);
    }
    return options;
}

std::string bench_usage() {
    return R"(usage: tutti run -- mpirun -n 4 tutti bench COLLECTIVE... [options]

Times your MPI's own collectives and Tutti's in the same processes, batch by batch in turn, and
checks every result. Started by a bare `mpirun`, without `tutti run`, it times your MPI alone.
`tutti bench --verbs` measures RDMA ports instead, without an MPI (--verbs --help).

  COLLECTIVE      )" +
           fmt::format("{}", fmt::join(kCollectiveNames, " ")) +
           R"(, or all
  --bytes LIST    bytes of one block, multiples of 8 (default: 8,256,1K,4K,16K,64K,256K,1M,4M,16M)
  --blocks KIND   of the forms with counts for each rank: equal (default), or ragged: a quarter of
                  the bytes, half, three quarters, all of them, in turn
  --json FILE     also writes everything that was measured to FILE
  --batches N     batches of each side, at most (default: 100)
  --seconds S     time for each line of the table, about (default: 1)
  --algorithm A   also runs calls by the algorithm A (as TUTTI_ALLREDUCE takes it: ring,
                  ring:segment=64K; on one host node:small), or by all that the collective has
                  across hosts, in turn with the others;
                  multicast@process: to every process instead of one a node
  --buffers KIND  reused (default): one send and one receive buffer, of your MPI's calls and of
                  Tutti's each, as in a program's loop; one word is written between two calls.
                  fresh: every call of a batch has buffers of its own; their owner writes them
                  before the batch and flushes them out of all caches, so that the call finds them
                  in memory, as those of a program that did much else meanwhile
  --paper         the method of Patarasuk and Yuan 2007, figure 4: 32 runs (or --batches) of 20
                  calls, 10 from 64K on; your MPI's barrier after each call, counted in; the
                  mean of the runs, and what to add and take off for its 95 % confidence interval
  --late RANK:MS  that rank sleeps so long before it enters each call; times are then of the
                  slowest other rank inside the call, and in a column of its own of the late one
  --skew D:MAX    each rank enters each call late, by a time that is drawn for seed, call and rank:
                  one: one of the ranks by MAX; uniform: 0 to MAX; exponential: MAX/4 in the mean,
                  cut at MAX; node: all ranks of one host by MAX; alternating: odd ranks by MAX;
                  none (without MAX): no delay; report:FILE: as recorded in the JSON of a report
                  of a run of as many ranks. Several times MAX, one after the other:
                  uniform:0,1ms,10ms. Times are synchronization delays: from the last rank's
                  arrival to the last one's exit, by one clock, whose error is printed
  --seed N        of the delays (default: 1); the same for every way of running a call
  --svg FILE      also draws the delays over MAX, a curve for each way

The elements are doubles, reductions sum them, and roots change with every call. A batch lasts 2 ms
and 8 calls or more (with fresh buffers 200 us) after some calls that are not timed and warm the
caches; its time is that of the slowest rank, divided by its calls. Columns: the median and the 99th
percentile over the batches; ratio: host / Tutti; limit: the time for a flag to cross from rank 0 to
the next rank on its node plus one memcpy of one block, measured beside the line. The flag's latency
is also taken before and after the table and each line: where a virtual machine's cores were moved
meanwhile, the line is marked ~ and its figures mix two places.
)";
}

}  // namespace tutti::cli
