// SPDX-License-Identifier: BSD-3-Clause
#include "cli/info.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/settings.h"
#include "base/text.h"
#include "cli/libraries.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/plan.h"
#include "cli/process.h"
#include "cli/settings_page.h"
#include "tutti/tutti.h"

namespace tutti::cli {
namespace {

struct InfoArguments {
    bool help = false;
    bool settings = false;
    bool markdown = false;
};

constexpr std::string_view kInfoHelp =
    "What this machine, this build and this MPI offer, and what is switched off and why.\n"
    "Usage: tutti info [options]\n"
    "\n"
    "Options:\n"
    "  -h,--help      Print this help message and exit\n"
    "  --settings     The table of all settings\n"
    "  --markdown     With --settings: as docs/settings.md\n";

Result<InfoArguments> parse_info_arguments(std::span<const std::string> words) {
    InfoArguments result;
    constexpr auto kKnown = std::to_array<std::string_view>({"--help", "--settings", "--markdown"});
    for (const std::string& word : words) {
        if (word == "--help" || word == "-h") {
            result.help = true;
        } else if (word == "--settings") {
            result.settings = true;
        } else if (word == "--markdown") {
            result.markdown = true;
        } else if (word.starts_with('-')) {
            return unknown_word("option", word, kKnown);
        } else {
            return Error{ErrorCode::kArgument,
                         fmt::format("info: unexpected word {}", printable(word))};
        }
    }
    if (result.markdown && !result.settings) {
        return Error{ErrorCode::kArgument, "info: --markdown needs --settings"};
    }
    return result;
}

void print_facts(std::string_view title, std::span<const Fact> facts) {
    size_t columns = 16;
    for (const Fact& fact : facts) columns = std::max(columns, fact.label.size());
    fmt::print("{}\n", title);
    for (const Fact& fact : facts) fmt::print("  {:<{}}  {}\n", fact.label, columns, fact.text);
}

std::vector<Fact> build_facts() {
    utsname system{};
    uname(&system);
    return {{"version", TUTTI_VERSION_STRING},
            {"compiler", fmt::format("{} {}", TUTTI_COMPILER, __VERSION__)},
            {"build", TUTTI_BUILD_TYPE},
            {"command", own_path()},
            {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

std::vector<Fact> library_facts() {
    std::vector<Fact> facts;
    for (const auto& [flavour, whom] :
         {std::pair{Flavour::kOmpi, "Open MPI 4, 5"}, {Flavour::kMpich, "MPICH, Intel MPI"}}) {
        const auto library = find_tutti_library(flavour);
        facts.push_back({whom, library ? library.value() : "off: " + library.error().message});
    }
    return facts;
}

// Every launcher on PATH; several names of one program are told once.
std::vector<Fact> launcher_facts() {
    const char* path = getenv("PATH");
    std::vector<Fact> facts;
    std::set<std::string> seen;
    for (const std::string_view directory : split(path ? path : "", ':')) {
        for (const char* name : {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich",
                                 "mpiexec.hydra", "orterun", "prterun", "srun"}) {
            const auto file = find_program(fmt::format("{}/{}", directory, name), "");
            if (!file || !seen.insert(link_chain(*file).back()).second) continue;
            if (std::string_view(name) == "srun") {
                facts.push_back({*file, "Slurm: the flavour is the application's"});
                continue;
            }
            const auto found = look_at_launcher(*file);
            facts.push_back(
                {*file, found ? fmt::format("{} (libtutti-{}.so)", found->version,
                                            flavour_name(found->flavour))
                              : "off: not Open MPI, MPICH or Intel MPI by its --version"});
        }
    }
    if (facts.empty()) facts.push_back({"none", "no mpirun, mpiexec or srun on PATH"});
    return facts;
}

std::vector<Fact> setting_facts(std::span<const std::string> entries) {
    std::vector<Fact> facts;
    for (const SettingDoc& doc : setting_docs()) {
        std::string text = fmt::format("default: {}", doc.fallback);
        for (const std::string& entry : entries) {
            const size_t equals = entry.find('=');
            if (entry.substr(0, equals) == doc.variable) text = entry.substr(equals + 1);
        }
        facts.push_back({std::string(doc.variable), std::move(text)});
    }
    return facts;
}

// What a person should know before a run; empty where all is on.
std::vector<Fact> switched_off(const Settings& settings) {
    std::vector<Fact> facts;
    if (!settings.on) facts.push_back({"everything", "by TUTTI=off"});
    facts.push_back({"other calls",
                     "alltoall, the v and non-blocking collectives go to the host "
                     "MPI"});
    facts.push_back({"MPI-5 ABI", "programs linked with libmpi_abi.so run unchanged"});
    return facts;
}

}  // namespace

int info_main(std::span<const std::string> words) {
    const auto arguments = parse_info_arguments(words);
    if (!arguments) {
        fmt::print(stderr, "tutti: {}\n", arguments.error().message);
        return 2;
    }
    if (arguments.value().help) {
        fmt::print("{}", kInfoHelp);
        return 0;
    }
    if (arguments.value().settings) {
        fmt::print("{}", arguments.value().markdown ? settings_markdown() : settings_text());
        return 0;
    }
    const auto entries = tutti_entries(environ);
    const auto settings = parse_settings(entries);
    if (!settings) {
        fmt::print(stderr, "tutti: {}\n", settings.error().message);
        return 2;
    }
    if (const auto checked = check_settings(settings.value()); !checked) {
        fmt::print(stderr, "tutti: {}\n", checked.error().message);
        return 2;
    }
    print_facts("build", build_facts());
    print_facts("machine", processor_facts());
    print_facts("shared memory", memory_facts());
    print_facts("libraries", library_facts());
    print_facts("MPI launchers on PATH", launcher_facts());
    print_facts("settings", setting_facts(entries));
    print_facts("switched off", switched_off(settings.value()));
    return 0;
}

}  // namespace tutti::cli
