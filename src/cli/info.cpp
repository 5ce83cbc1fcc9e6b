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
#include "base/topo/read/read.h"
#include "cli/child_process.h"
#include "cli/command_line.h"
#include "cli/launch.h"
#include "cli/libraries.h"
#include "cli/options.h"
#include "cli/settings_page.h"
#include "lab/machine/machine.h"
#include "lab/machine/speeds.h"
#include "plan/select/rules.h"
#include "run/site/fabric_search.h"
#include "run/site/site.h"
#include "run/site/tuned_search.h"
#include "tutti/tutti.h"

namespace tutti::cli {
namespace {

using machine::Fact;

struct InfoArguments {
    bool help = false;
    bool settings = false;
    bool markdown = false;
};

constexpr std::string_view kInfoHelp =
    "What this machine, this build and this MPI offer, how fast data moves between two of its\n"
    "processors, and which calls your MPI runs.\n"
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
    const auto library = find_tutti_library();
    return {{"MPI programs", library ? library.value() : "off: " + library.error().message}};
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
                facts.push_back({*file, "Slurm"});
                continue;
            }
            const auto found = look_at_launcher(*file);
            facts.push_back(
                {*file, found ? found->version
                              : "off: not Open MPI, MPICH or Intel MPI by its --version"});
        }
    }
    if (facts.empty()) facts.push_back({"none", "no mpirun, mpiexec or srun on PATH"});
    return facts;
}

// The settings that somebody gave, as they are in force for programs that are started here, and who
// says so.
std::vector<Fact> setting_facts(std::span<const std::string> own, const site::Site& site,
                                const site::Merged& merged) {
    std::vector<Fact> facts;
    for (const SettingDoc& doc : setting_docs()) {
        std::string text;
        const auto value = [](const std::string& entry) {
            return printable(entry.substr(entry.find('=') + 1));
        };
        const site::Default* given = site.find(doc.variable);
        if (given && std::ranges::find(merged.entries, given->entry) != merged.entries.end()) {
            text = fmt::format("{} ({}:{})", value(given->entry), site.file, given->line);
        }
        for (const std::string& entry : own) {
            if (entry.substr(0, entry.find('=')) != doc.variable) continue;
            text = fmt::format("{} (environment)", value(entry));
        }
        if (!text.empty()) facts.push_back({std::string(doc.variable), std::move(text)});
    }
    facts.push_back({facts.empty() ? "all" : "others", "as by default: tutti info --settings"});
    return facts;
}

std::vector<Fact> site_facts(const site::Site& site, const site::Merged& merged) {
    if (site.file.empty()) return {{"file", fmt::format("none ({})", site::site_file())}};
    std::vector<Fact> facts{{"file", site.file}};
    if (!site.why.empty()) facts.push_back({"why", site.why});
    for (const site::Denial& one : site.denials) {
        facts.push_back(
            {fmt::format("line {}", one.line), fmt::format("denied: {}", printable(one.pattern))});
    }
    if (!merged.left_out.empty()) facts.push_back({"left out", merged.left_out});
    return facts;
}

// What runs read, who know no YAML (docs/formats/topology.md), and what the command does.
std::vector<Fact> fabric_facts() {
    auto search = site::own_fabric_search();
    if (!search) return {{"file", search.error().message}};
    const auto shown = site::find_fabric(search.value());
    if (!shown) return {{"file", shown.error().message}};
    const std::string file = shown.value().file;
    if (file.empty()) return {{"file", "none (see tutti fabric --help)"}};
    const std::string origin = fmt::format("({}); tutti fabric shows it", shown.value().origin);
    std::vector<Fact> facts{{"file", fmt::format("{} {}", printable(file), origin)}};
    search.value().reads_yaml = false;
    const auto read = site::find_fabric(search.value());
    if (read && read.value().file != file) {
        const std::string other = printable(read.value().file);
        facts.push_back({"runs", fmt::format("read {}, and no YAML", other)});
    } else if (topo::has_name_of_yaml(file)) {
        facts.push_back({"runs", "read no YAML; tutti fabric --toml prints what they do read"});
    }
    return facts;
}

// Those that MPI_Init would look at, in its order; which one fits, the MPI decides.
std::vector<Fact> tuned_facts(const Settings& settings) {
    if (settings.tuned_file == "off") return {{"file", "none, by TUTTI_TUNED"}};
    const auto search = site::tuned_search(settings, getenv("XDG_CONFIG_HOME"), getenv("HOME"));
    std::vector<std::string> files{settings.tuned_file};
    if (settings.tuned_file.empty()) files = site::tuned_files(search);
    std::vector<Fact> facts;
    for (const std::string& file : files) {
        Settings of_file;
        of_file.tuned_file = file;
        const auto tuned = select::load_tuned(of_file);
        if (!tuned) {
            facts.push_back({"broken", tuned.error().message});
            continue;
        }
        const select::Fingerprint& is_for = *tuned.value()->tuned();
        facts.push_back({"file", fmt::format("{}, for {} on {}", printable(file),
                                             printable(is_for.mpi), printable(is_for.hosts))});
    }
    if (!facts.empty()) return facts;
    return {{"file", fmt::format("none (tuned*.toml in {})", fmt::join(search.folders, ", "))}};
}

// What a person should know before a run; empty where all is on.
std::vector<Fact> left_to_your_mpi(const Settings& settings) {
    std::vector<Fact> facts;
    if (!settings.site_off.empty()) {
        facts.push_back({"everything", settings.site_off});
    } else if (!settings.on) {
        facts.push_back({"everything", "by TUTTI=off"});
    }
    facts.push_back(
        {"other calls", "your MPI runs alltoall, the v and the non-blocking collectives"});
    facts.push_back({"MPI-5 ABI", "programs linked with libmpi_abi.so run without Tutti"});
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
    const auto site = site::read_site();
    if (!site) {
        fmt::print(stderr, "tutti: {}; until this is fixed your MPI runs everything\n",
                   site.error().message);
        return 2;
    }
    const auto own = tutti_entries(environ);
    const auto merged = site::merge(site, "", own);
    const auto settings = parse_settings(merged.entries);
    if (!settings) {
        fmt::print(stderr, "tutti: {}\n", settings.error().message);
        return 2;
    }
    if (const auto checked = check_settings(settings.value()); !checked) {
        fmt::print(stderr, "tutti: {}\n", checked.error().message);
        return 2;
    }
    print_facts("build", build_facts());
    auto processors = machine::processor_facts();
    processors.push_back(machine::code_fact(settings.value().mcast));
    print_facts("machine", processors);
    print_facts("shared memory", machine::memory_facts(settings.value().single_copy));
    print_facts("RDMA", machine::rdma_facts(settings.value()));
    print_facts("speed between two processors", machine::speed_facts(settings.value()));
    print_facts("libraries", library_facts());
    print_facts("MPI launchers on PATH", launcher_facts());
    print_facts("site", site_facts(site.value(), merged));
    print_facts("fabric", fabric_facts());
    print_facts("tuned", tuned_facts(settings.value()));
    print_facts("settings", setting_facts(own, site.value(), merged));
    print_facts("left to your MPI", left_to_your_mpi(settings.value()));
    return 0;
}

}  // namespace tutti::cli
