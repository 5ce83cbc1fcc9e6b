// SPDX-License-Identifier: BSD-3-Clause
#include "cli/info.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "base/facts.h"
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
#include "lab/machine/network_facts.h"
#include "lab/machine/speeds.h"
#include "plan/select/rules.h"
#include "run/site/fabric_search.h"
#include "run/site/site.h"
#include "run/site/tuned_search.h"
#include "tutti/tutti.h"

namespace tutti::cli {
namespace {

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

void print_facts(const FactRow& row) {
    size_t columns = 16;
    for (const Fact& fact : row.facts) columns = std::max(columns, fact.name.size());
    fmt::print("{}\n", row.subject);
    for (const Fact& fact : row.facts) {
        fmt::print("  {:<{}}  {}\n", fact.name, columns, row.text_of(fact));
    }
}

FactRow titled(const char* title) {
    FactRow row;
    row.subject = title;
    return row;
}

FactRow one_fact(const char* title, const char* name, std::string text) {
    FactRow row = titled(title);
    row.add(name, std::move(text));
    return row;
}

FactRow build_facts() {
    utsname system{};
    uname(&system);
    FactRow row = titled("build");
    row.add("version", TUTTI_VERSION_STRING);
    row.add("compiler", fmt::format("{} {}", TUTTI_COMPILER, __VERSION__));
    row.add("build", TUTTI_BUILD_TYPE);
    row.add("command", own_path());
    row.add("system", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
    return row;
}

FactRow library_facts() {
    const auto library = find_tutti_library();
    return one_fact("libraries", "MPI programs",
                    library ? library.value() : "off: " + library.error().message);
}

// Every launcher on PATH; several names of one program are told once.
FactRow launcher_facts() {
    FactRow row = titled("MPI launchers on PATH");
    const char* path = getenv("PATH");
    std::set<std::string> seen;
    for (const std::string_view directory : split(path ? path : "", ':')) {
        for (const char* name : {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich",
                                 "mpiexec.hydra", "orterun", "prterun", "srun"}) {
            const auto file = find_program(fmt::format("{}/{}", directory, name), "");
            if (!file || !seen.insert(link_chain(*file).back()).second) continue;
            if (std::string_view(name) == "srun") {
                row.add(*file, "Slurm");
                continue;
            }
            const auto found = look_at_launcher(*file);
            row.add(*file, found ? found->version
                                 : "off: not Open MPI, MPICH or Intel MPI by its --version");
        }
    }
    if (row.facts.empty()) row.add("none", "no mpirun, mpiexec or srun on PATH");
    return row;
}

// The settings that somebody gave, as they are in force for programs that are started here, and who
// says so.
FactRow setting_facts(std::span<const std::string> own, const site::Site& site,
                      const site::Merged& merged) {
    FactRow row = titled("settings");
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
        if (!text.empty()) row.add(std::string(doc.variable), std::move(text));
    }
    row.add(row.facts.empty() ? "all" : "others", "as by default: tutti info --settings");
    return row;
}

FactRow site_facts(const site::Site& site, const site::Merged& merged) {
    if (site.file.empty())
        return one_fact("site", "file", fmt::format("none ({})", site::site_file()));
    FactRow row = titled("site");
    row.add("file", site.file);
    if (!site.why.empty()) row.add("why", site.why);
    for (const site::Denial& one : site.denials) {
        row.add(fmt::format("line {}", one.line),
                fmt::format("denied: {}", printable(one.pattern)));
    }
    if (!merged.left_out.empty()) row.add("left out", merged.left_out);
    return row;
}

// What runs read, who know no YAML (docs/formats/topology.md), and what the command does.
FactRow fabric_facts() {
    auto search = site::own_fabric_search();
    if (!search) return one_fact("fabric", "file", search.error().message);
    const auto shown = site::find_fabric(search.value());
    if (!shown) return one_fact("fabric", "file", shown.error().message);
    const std::string file = shown.value().file;
    if (file.empty()) return one_fact("fabric", "file", "none (see tutti fabric --help)");
    const std::string origin = fmt::format("({}); tutti fabric shows it", shown.value().origin);
    FactRow row = titled("fabric");
    row.add("file", fmt::format("{} {}", printable(file), origin));
    search.value().reads_yaml = false;
    const auto read = site::find_fabric(search.value());
    if (read && read.value().file != file) {
        const std::string other = printable(read.value().file);
        row.add("runs", fmt::format("read {}, and no YAML", other));
    } else if (topo::has_name_of_yaml(file)) {
        row.add("runs", "read no YAML; tutti fabric --toml prints what they do read");
    }
    return row;
}

// Those that MPI_Init would look at, in its order; which one fits, the MPI decides.
FactRow tuned_facts(const Settings& settings) {
    if (settings.rules.tuned_file == "off")
        return one_fact("tuned", "file", "none, by TUTTI_TUNED");
    const auto search = site::tuned_search(settings, getenv("XDG_CONFIG_HOME"), getenv("HOME"));
    std::vector<std::string> files{settings.rules.tuned_file};
    if (settings.rules.tuned_file.empty()) files = site::tuned_files(search);
    FactRow row = titled("tuned");
    for (const std::string& file : files) {
        Settings of_file;
        of_file.rules.tuned_file = file;
        const auto tuned = select::load_tuned(of_file);
        if (!tuned) {
            row.add("broken", tuned.error().message);
            continue;
        }
        const select::Fingerprint& is_for = *tuned.value()->tuned();
        row.add("file", fmt::format("{}, for {} on {}", printable(file), printable(is_for.mpi),
                                    printable(is_for.hosts)));
    }
    if (!row.facts.empty()) return row;
    return one_fact("tuned", "file",
                    fmt::format("none (tuned*.toml in {})", fmt::join(search.folders, ", ")));
}

// What a person should know before a run; empty where all is on.
FactRow left_to_your_mpi(const Settings& settings) {
    FactRow row = titled("left to your MPI");
    if (!settings.site.off.empty()) {
        row.add("everything", settings.site.off);
    } else if (!settings.on) {
        row.add("everything", "by TUTTI=off");
    }
    row.add("other calls", "your MPI runs the non-blocking and the neighborhood collectives");
    row.add("MPI-5 ABI", "programs linked with libmpi_abi.so run without Tutti");
    return row;
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
    print_facts(build_facts());
    print_facts(machine::processor_facts(settings.value().mcast));
    print_facts(machine::memory_facts(settings.value().node.single_copy));
    for (const FactRow& row : machine::network_facts(settings.value())) print_facts(row);
    print_facts(machine::speed_facts(settings.value()));
    print_facts(library_facts());
    print_facts(launcher_facts());
    print_facts(site_facts(site.value(), merged));
    print_facts(fabric_facts());
    print_facts(tuned_facts(settings.value()));
    print_facts(setting_facts(own, site.value(), merged));
    print_facts(left_to_your_mpi(settings.value()));
    return 0;
}

}  // namespace tutti::cli
