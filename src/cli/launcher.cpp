// SPDX-License-Identifier: BSD-3-Clause
#include "cli/launcher.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tutti::cli {
namespace {

// Options with values, without their dashes. An option that is missing here is taken to have none;
// its value is then mistaken for the application only if it is the name of a program.
constexpr auto kOpenMpiPairs = std::to_array<std::string_view>(
    {"mca", "gmca", "omca", "gomca", "pmixmca", "gpmixmca", "prtemca", "gprtemca"});
constexpr auto kOpenMpiSingles = std::to_array<std::string_view>({"n",
                                                                  "np",
                                                                  "c",
                                                                  "N",
                                                                  "x",
                                                                  "H",
                                                                  "host",
                                                                  "hostfile",
                                                                  "machinefile",
                                                                  "map-by",
                                                                  "bind-to",
                                                                  "rank-by",
                                                                  "wdir",
                                                                  "wd",
                                                                  "path",
                                                                  "prefix",
                                                                  "output",
                                                                  "output-filename",
                                                                  "stdin",
                                                                  "timeout",
                                                                  "report-uri",
                                                                  "report-pid",
                                                                  "npernode",
                                                                  "npersocket",
                                                                  "pernode-n",
                                                                  "cpu-set",
                                                                  "cpu-list",
                                                                  "personality",
                                                                  "display",
                                                                  "runtime-options",
                                                                  "dvm",
                                                                  "dvm-uri",
                                                                  "tune",
                                                                  "am",
                                                                  "app",
                                                                  "rf",
                                                                  "rankfile",
                                                                  "add-host",
                                                                  "add-hostfile",
                                                                  "default-hostfile",
                                                                  "preload-files",
                                                                  "max-restarts",
                                                                  "with-ft",
                                                                  "xterm",
                                                                  "launch-agent",
                                                                  "ppr",
                                                                  "slot-list",
                                                                  "mapper-params",
                                                                  "set-cwd-to-session-dir",
                                                                  "stream-buffering",
                                                                  "memory-alloc-kind",
                                                                  "num-connect"});

constexpr auto kHydraPairs = std::to_array<std::string_view>({"genv", "env"});
constexpr auto kHydraSingles = std::to_array<std::string_view>({"n",
                                                                "np",
                                                                "f",
                                                                "host",
                                                                "hosts",
                                                                "hostfile",
                                                                "machine",
                                                                "machinefile",
                                                                "hostlist",
                                                                "genvlist",
                                                                "envlist",
                                                                "genvexcl",
                                                                "wdir",
                                                                "path",
                                                                "gpath",
                                                                "configfile",
                                                                "iface",
                                                                "ppn",
                                                                "perhost",
                                                                "grr",
                                                                "rmk",
                                                                "launcher",
                                                                "launcher-exec",
                                                                "bootstrap",
                                                                "bootstrap-exec",
                                                                "bootstrap-exec-args",
                                                                "bind-to",
                                                                "binding",
                                                                "map-by",
                                                                "membind",
                                                                "topolib",
                                                                "umask",
                                                                "gumask",
                                                                "outfile-pattern",
                                                                "errfile-pattern",
                                                                "outfile",
                                                                "errfile",
                                                                "nameserver",
                                                                "prepend-pattern",
                                                                "usize",
                                                                "timeout",
                                                                "branch-count",
                                                                "order-nodes",
                                                                "arch",
                                                                "soft",
                                                                "s",
                                                                "port",
                                                                "localhost",
                                                                "hosts-group",
                                                                "tune",
                                                                "tmpdir",
                                                                "gtool",
                                                                "gtoolfile",
                                                                "iface-name",
                                                                "pmi-port",
                                                                "memory-alloc-kind",
                                                                "num-threads",
                                                                "proxy-id"});

constexpr auto kLaunchers = std::to_array<std::string_view>(
    {"mpirun", "mpiexec", "orterun", "prterun", "srun", "mpiexec.hydra", "mpiexec.gforker"});

// Programs that only start the command behind them.
constexpr auto kStarters = std::to_array<std::string_view>(
    {"env", "timeout", "nice", "nohup", "time", "stdbuf", "setsid", "taskset", "numactl", "ionice",
     "chrt", "strace", "ltrace", "unbuffer"});

template <size_t N>
bool has(const std::array<std::string_view, N>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// The first word with a digit in front behind the mark: "... (Open MPI) 5.0.11\n" -> "5.0.11".
std::string number_behind(std::string_view text, std::string_view mark) {
    const size_t found = text.find(mark);
    if (found == std::string_view::npos) return {};
    const size_t begin = text.find_first_of("0123456789", found + mark.size());
    if (begin == std::string_view::npos) return {};
    return std::string(text.substr(begin, text.find_first_of(" \t\r\n,)", begin) - begin));
}

std::string titled(std::string_view title, const std::string& number) {
    return std::string(title) + (number.empty() ? "" : " ") + number;
}

size_t application_index(std::span<const std::string> command, size_t begin, size_t end,
                         Style style, const IsProgram& is_program) {
    for (size_t i = begin; i < end; ++i) {
        const std::string_view word = command[i];
        if (word == "--") return std::min(i + 1, end);
        if (word.size() > 1 && word.starts_with('-')) {
            i += option_values(style, word, i + 1 < end ? std::string_view(command[i + 1]) : "");
        } else if (is_program(command[i])) {
            return i;
        }
    }
    return end;
}

}  // namespace

std::string_view base_name(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<MpiVersion> recognise_version(std::string_view output) {
    if (contains(output, "Intel(R) MPI")) {
        return MpiVersion{Flavour::kMpich, titled("Intel MPI", number_behind(output, "Version"))};
    }
    if (contains(output, "HYDRA build details")) {
        return MpiVersion{Flavour::kMpich, titled("MPICH", number_behind(output, "Version:"))};
    }
    for (const std::string_view mark : {"(Open MPI)", "(OpenRTE)"}) {
        if (!contains(output, mark)) continue;
        return MpiVersion{Flavour::kOmpi, titled("Open MPI", number_behind(output, mark))};
    }
    for (const std::string_view mark : {"(PRRTE)", "PRTE", "prterun"}) {
        if (!contains(output, mark)) continue;
        return MpiVersion{Flavour::kOmpi, titled("PRRTE", number_behind(output, mark))};
    }
    return std::nullopt;
}

std::optional<Flavour> flavour_by_name(std::string_view name) {
    if (contains(name, "orterun") || contains(name, "prterun") || contains(name, "openmpi")) {
        return Flavour::kOmpi;
    }
    if (contains(name, "hydra") || contains(name, "gforker") || contains(name, "mpich")) {
        return Flavour::kMpich;
    }
    return std::nullopt;
}

bool is_launcher_name(std::string_view name) {
    return has(kLaunchers, name) || name.starts_with("mpirun.") || name.starts_with("mpiexec.");
}

std::optional<size_t> find_launcher(std::span<const std::string> command,
                                    const IsProgram& is_program) {
    if (command.empty()) return std::nullopt;
    if (is_launcher_name(base_name(command[0]))) return 0;
    if (!has(kStarters, base_name(command[0]))) return std::nullopt;
    for (size_t i = 1; i < command.size(); ++i) {
        if (is_launcher_name(base_name(command[i])) && is_program(command[i])) return i;
    }
    return std::nullopt;
}

std::vector<AppContext> split_contexts(std::span<const std::string> command, size_t launcher,
                                       Style style, const IsProgram& is_program) {
    std::vector<AppContext> contexts;
    size_t begin = launcher + 1;
    for (;;) {
        size_t end = begin;
        while (end < command.size() && (style == Style::kSlurm || command[end] != ":")) ++end;
        contexts.push_back({begin, application_index(command, begin, end, style, is_program), end});
        if (end == command.size()) return contexts;
        begin = end + 1;
    }
}

size_t option_values(Style style, std::string_view option, std::string_view next) {
    const bool is_long = option.starts_with("--");
    const std::string_view name = option.substr(is_long ? 2 : 1);
    if (is_long && contains(name, "=")) return 0;
    switch (style) {
        case Style::kOpenMpi:
            return has(kOpenMpiPairs, name) ? 2 : has(kOpenMpiSingles, name) ? 1 : 0;
        case Style::kHydra:
            // Hydra also takes "-genv NAME=VALUE", one word.
            if (has(kHydraPairs, name)) return contains(next, "=") ? 1 : 2;
            return has(kHydraSingles, name) ? 1 : 0;
        case Style::kSlurm:
            return is_long && name == "export" ? 1 : 0;
        case Style::kInherit:
            return 0;
    }
    return 0;
}

}  // namespace tutti::cli
