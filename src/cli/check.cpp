// SPDX-License-Identifier: BSD-3-Clause
#include "cli/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "base/files/text_file.h"
#include "base/text.h"
#include "cli/check_load.h"
#include "cli/command_line.h"
#include "cli/fabric_options.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "lab/check/prove.h"
#include "lab/check/trial/trial_calls.h"
#include "plan/algo/plan.h"
#include "plan/sched/program_text.h"
#include "plan/select/rules.h"

namespace tutti::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionDoc>({
    {"--ranks", "RANGE", "Team sizes, such as 2..16 (default: 1..16)"},
    {"--hosts", "RANGE",
     "Numbers of hosts (default: one for each rank, and a few with several ranks)"},
    {"--fabric", "FILE",
     "Print what the links of this cluster (docs/formats/topology.md) carry in one call. --ranks "
     "is then one number (default: one rank a host), --hosts a number or names"},
    {"--placement", "WORD",
     "With --fabric or --file: block (default), round-robin, random:SEED or the host of each rank"},
    {"--bytes", "N", "With --fabric: bytes of the vector, or of one rank's block (default: 1M)"},
    {"--root", "R", "With --fabric: root of bcast, reduce, gather and scatter (default: 0)"},
    {"--file", "SCHEDULE", "Prove the schedules in this file (docs/formats/schedule.md)"},
    {"--leaves", "N,N...", "With --file: hosts on each leaf switch; prints which links are shared"},
});

// Whatever `tutti explain --schedule` prints is shorter: a million operations.
constexpr uint64_t kFileBytesMax = uint64_t{1} << 28;
// One mistake shows in nearly every case; more examples of it help nobody.
constexpr uint32_t kFaultyCasesMax = 3;

// What is to be proved; empty lists: everything.
struct Wanted {
    std::vector<tutti_collective> collectives;
    std::vector<std::string> algorithms;
    select::Range ranks{1, 16};
    select::Range hosts{1, check::kProvedRanksMax};

    [[nodiscard]] bool has(const algo::Algorithm& one) const {
        const auto among = [](const auto& list, const auto& value) {
            return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
        };
        return among(collectives, one.collective) && among(algorithms, one.name);
    }
};

Result<Done> read_range(const CommandLine& command_line, std::string_view name,
                        select::Range& range) {
    const std::string* text = command_line.find(name);
    if (!text) return Done{};
    auto parsed = select::parse_range(*text, false);
    // An open end is the end of what can be proved.
    if (parsed && parsed->high == select::Range().high) parsed->high = check::kProvedRanksMax;
    if (!parsed || parsed->high == 0 || parsed->low > parsed->high ||
        parsed->high > check::kProvedRanksMax) {
        return wrong_value(name, *text,
                           fmt::format("a range such as 2..16, up to {}", check::kProvedRanksMax));
    }
    range = {std::max<uint64_t>(parsed->low, 1), parsed->high};
    return Done{};
}

Result<Done> read_names(const CommandLine& command_line, Wanted& wanted) {
    std::vector<std::string_view> known;
    for (const algo::Algorithm& one : algo::algorithms()) {
        known.push_back(one.name);
        known.push_back(collective_name(one.collective));
    }
    for (const std::string& word : command_line.others()) {
        const std::string_view algorithm = algo::name_here(word);
        if (const auto collective = find_collective(word)) {
            wanted.collectives.push_back(*collective);
        } else if (std::find(known.begin(), known.end(), algorithm) != known.end()) {
            wanted.algorithms.emplace_back(algorithm);
        } else {
            return unknown_word("algorithm", word, known);
        }
    }
    const auto all = algo::algorithms();
    if (std::any_of(all.begin(), all.end(), [&](const auto& one) { return wanted.has(one); })) {
        return Done{};
    }
    return wrong(
        fmt::format("check: no such algorithm: {}", fmt::join(command_line.others(), " ")));
}

struct Tally {
    uint64_t proved = 0;
    uint64_t faulty = 0;
};

// A log may be read, and the command be ended, before all is proved.
void print_now(const std::string& text) {
    fmt::print("{}", text);
    (void)fflush(stdout);
}

void prove_site(const algo::Algorithm& algorithm, const check::Site& site, Progress& progress,
                Tally& tally) {
    const auto placement = site.is_round_robin
                               ? topo::Placement::round_robin(site.ranks, site.hosts)
                               : topo::Placement::blocks(site.ranks, site.hosts);
    for (const check::Case& one : check::cases_of(algorithm, placement)) {
        progress.show(fmt::format("{} {}: {} ranks on {} hosts, {} schedules proved",
                                  collective_name(algorithm.collective), algorithm.name, site.ranks,
                                  site.hosts, tally.proved));
        const auto faults = check::prove(algorithm, placement, one);
        if (faults.empty()) {
            ++tally.proved;
            continue;
        }
        if (++tally.faulty > kFaultyCasesMax) continue;
        progress.clear();
        std::string text = fmt::format("{}:\n", check::case_text(algorithm, site, one));
        for (const std::string& line : faults) text += fmt::format("    {}\n", line);
        print_now(text);
    }
}

// Returns the exit status.
Result<int> prove_all(const Wanted& wanted) {
    Progress progress;
    Tally total;
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (!wanted.has(algorithm)) continue;
        Tally tally;
        for (uint64_t ranks = wanted.ranks.low; ranks <= wanted.ranks.high; ++ranks) {
            for (const check::Site& site : check::sites_of(
                     static_cast<uint32_t>(ranks), static_cast<uint32_t>(wanted.hosts.low),
                     static_cast<uint32_t>(wanted.hosts.high))) {
                prove_site(algorithm, site, progress, tally);
            }
        }
        progress.clear();
        if (tally.proved + tally.faulty == 0) continue;
        const std::string name =
            fmt::format("{} {}", collective_name(algorithm.collective), algorithm.name);
        print_now(fmt::format("{:<28} {:>7} proved{}\n", name, tally.proved,
                              tally.faulty == 0 ? "" : fmt::format(", {} wrong", tally.faulty)));
        total.proved += tally.proved;
        total.faulty += tally.faulty;
    }
    if (total.proved + total.faulty == 0) {
        return wrong("--hosts: none of these teams is on so many hosts; see --ranks");
    }
    fmt::print("{:<28} {:>7} proved, {} wrong\n", "all", total.proved, total.faulty);
    return total.faulty == 0 ? 0 : 1;
}

Result<Wanted> read_wanted(const CommandLine& command_line) {
    Wanted wanted;
    if (const auto done = read_names(command_line, wanted); !done) return done.error();
    if (const auto done = read_range(command_line, "--ranks", wanted.ranks); !done)
        return done.error();
    if (const auto done = read_range(command_line, "--hosts", wanted.hosts); !done)
        return done.error();
    if (command_line.has("--leaves")) return wrong("--leaves needs --file");
    if (command_line.has("--placement")) return wrong("--placement needs --fabric or --file");
    for (const char* option : {"--bytes", "--root"}) {
        if (command_line.has(option)) return wrong(fmt::format("{} needs --fabric", option));
    }
    return wanted;
}

// The schedules of all ranks in a file, one after the other.
struct Collective {
    sched::Shape shape;
    sched::OwnLengths lengths;  // those of the shape
    algo::Programs programs;    // by rank
};

Result<Done> add_program(sched::ParsedProgram parsed, const std::string& place,
                         Collective& collective) {
    const sched::Shape& shape = parsed.shape;
    if (collective.programs.empty()) {
        if (shape.ranks > check::kProvedRanksMax) {
            return wrong(fmt::format("{}: more than {} ranks", place, check::kProvedRanksMax));
        }
        collective.shape = shape;
        collective.lengths = parsed.lengths;
        collective.programs.resize(shape.ranks);
    }
    const sched::Shape& first = collective.shape;
    if (shape.collective != first.collective || shape.ranks != first.ranks ||
        shape.root != first.root || shape.bytes != first.bytes || shape.lengths != first.lengths ||
        shape.element_bytes != first.element_bytes ||
        shape.is_commutative != first.is_commutative) {
        return wrong(fmt::format("{}: rank {} is of another call than the first schedule", place,
                                 parsed.rank));
    }
    if (collective.programs[parsed.rank]) {
        return wrong(fmt::format("{}: rank {} has a schedule already", place, parsed.rank));
    }
    collective.programs[parsed.rank] = std::move(parsed.program);
    return Done{};
}

Result<Collective> read_schedules(const std::string& name) {
    const auto text = files::read_text_file(name, kFileBytesMax);
    if (!text) return text.error();
    Collective collective;
    std::string section;
    size_t line = 0;
    size_t section_line = 1;
    const auto finish = [&]() -> Result<Done> {
        auto parsed = sched::parse_program(section, name, section_line);
        if (!parsed) return parsed.error();
        const std::string place = fmt::format("{}:{}:1", printable(name), section_line);
        return add_program(std::move(parsed.value()), place, collective);
    };
    for (const std::string_view content : split(text.value(), '\n')) {
        ++line;
        if (content.starts_with("schedule") && section.find("schedule") != std::string::npos) {
            if (const auto done = finish(); !done) return done.error();
            section.clear();
            section_line = line;
        }
        section.append(content).append("\n");
    }
    if (const auto done = finish(); !done) return done.error();
    for (uint32_t rank = 0; rank < collective.shape.ranks; ++rank) {
        if (!collective.programs[rank]) {
            return wrong(
                fmt::format("{}:{}:1: rank {} has no schedule", printable(name), line, rank));
        }
    }
    return collective;
}

// Returns the exit status.
Result<int> prove_file(const CommandLine& command_line) {
    if (!command_line.others().empty()) {
        return wrong(fmt::format("check: unexpected word {}", printable(command_line.others()[0])));
    }
    for (const char* option : {"--ranks", "--bytes", "--root"}) {
        if (command_line.has(option)) {
            return wrong(fmt::format("{}: with --file, the file says it", option));
        }
    }
    const auto collective = read_schedules(*command_line.find("--file"));
    if (!collective) return collective.error();
    const uint32_t ranks = collective.value().shape.ranks;
    auto cluster = read_cluster(command_line);
    if (!cluster) return cluster.error();
    const auto job = read_job_hosts(command_line, ranks, std::move(cluster.value()));
    if (!job) return job.error();
    const auto named = read_fabric(command_line, job.value());
    if (!named) return named.error();
    const topo::Placement placement = job.value().placement();
    const sched::Shape& shape = collective.value().shape;
    const algo::Programs& programs = collective.value().programs;
    const auto faults = check::prove(shape, placement, programs);
    for (const std::string& line : faults.lines) fmt::print("{}\n", line);
    if (!faults.lines.empty()) return 1;
    fmt::print("proved: {} ranks on {} hosts\n", ranks, job.value().hosts);
    if (command_line.has("--leaves") || command_line.has("--fabric")) {
        print_load(named.value(), shape, placement, programs);
    }
    return 0;
}

Result<int> prove_on_fabric(const CommandLine& command_line) {
    if (command_line.has("--leaves")) return wrong("--leaves: not with --fabric");
    Wanted wanted;
    if (const auto done = read_names(command_line, wanted); !done) return done.error();
    return check_on_fabric(command_line,
                           [&](const algo::Algorithm& one) { return wanted.has(one); });
}

Result<int> check(const CommandLine& command_line) {
    if (command_line.has("--file")) return prove_file(command_line);
    if (command_line.has("--fabric")) return prove_on_fabric(command_line);
    const auto wanted = read_wanted(command_line);
    if (!wanted) return wanted.error();
    return prove_all(wanted.value());
}

}  // namespace

int check_main(std::span<const std::string> arguments) {
    const auto command_line = CommandLine::parse("check", arguments, kOptions);
    if (command_line && command_line.value().wants_help()) {
        fmt::print("{}",
                   help_text("Proves schedules: that every result is whole, that nothing "
                             "waits for ever or is overwritten early.",
                             "tutti check [COLLECTIVE...] [ALGORITHM...] [options]", kOptions));
        return 0;
    }
    const auto status =
        command_line ? check(command_line.value()) : Result<int>(command_line.error());
    if (status) return status.value();
    fmt::print(stderr, "tutti: {}\n", status.error().message);
    return 2;
}

}  // namespace tutti::cli
