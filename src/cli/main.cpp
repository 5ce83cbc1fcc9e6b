// SPDX-License-Identifier: BSD-3-Clause
// The command `tutti`.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/settings.h"
#include "base/text.h"
#include "cli/bench.h"
#include "cli/bench_options.h"
#include "cli/check.h"
#include "cli/command_line.h"
#include "cli/explain.h"
#include "cli/fabric_command.h"
#include "cli/generate.h"
#include "cli/info.h"
#include "cli/run.h"
#include "cli/simulate_command.h"
#include "cli/tune.h"
#include "tutti/tutti.h"

namespace {

constexpr std::string_view kHelp =
    "Tutti runs the collective operations of unmodified MPI programs the best way it knows.\n"
    "\n"
    "Usage:\n"
    "  tutti run [options] -- COMMAND...   run a command (mpirun -n 4 ./app); its MPI programs use "
    "Tutti\n"
    "  tutti bench COLLECTIVE|all ...      time your MPI and Tutti (tutti run -- mpirun tutti "
    "bench all)\n"
    "  tutti tune [-- mpirun ...]          measure this cluster, write which algorithm runs which "
    "call\n"
    "  tutti explain COLLECTIVE ...        which algorithm runs a call, why, what others would "
    "cost\n"
    "  tutti check [ALGORITHM...]          for developers: prove that the algorithms are right\n"
    "  tutti simulate COLLECTIVE ...       how long calls take on a cluster, in virtual time\n"
    "  tutti fabric [FILE]                 the switches and hosts of a cluster, as a tree\n"
    "  tutti generate allreduce ...        a C file: an allreduce made for one cluster's switches\n"
    "  tutti info [--settings]             what this machine, this build and this MPI offer\n"
    "  tutti help [COMMAND]                this text, or that of a subcommand\n"
    "  tutti --version\n";

struct Command {
    std::string_view name;
    int (*main)(std::span<const std::string> words);
};

// `bench` and `tune` are MPI programs and want main's own arguments.
constexpr auto kCommands = std::to_array<Command>({{"run", tutti::cli::run_main},
                                                   {"info", tutti::cli::info_main},
                                                   {"explain", tutti::cli::explain_main},
                                                   {"check", tutti::cli::check_main},
                                                   {"simulate", tutti::cli::simulate_main},
                                                   {"fabric", tutti::cli::fabric_main},
                                                   {"generate", tutti::cli::generate_main}});

std::vector<std::string_view> command_names() {
    std::vector<std::string_view> names;
    for (const Command& command : kCommands) names.push_back(command.name);
    return names;
}

int complain(const tutti::Error& error) {
    fmt::print(stderr, "tutti: {}\n", error.message);
    return 2;
}

int help_main(const std::vector<std::string>& words) {
    if (words.empty()) {
        fmt::print("{}", kHelp);
        return 0;
    }
    const std::vector<std::string> ask{"--help"};
    if (words.size() > 1) {
        return complain({tutti::ErrorCode::kArgument,
                         fmt::format("help: unexpected word {}", tutti::printable(words[1]))});
    }
    for (const Command& command : kCommands) {
        if (words[0] == command.name) return command.main(ask);
    }
    if (words[0] == "bench") {
        fmt::print("{}", tutti::cli::bench_usage());
        return 0;
    }
    if (words[0] == "tune") {
        std::string tune = "tune";
        std::string help = "--help";
        std::array<char*, 3> own{tune.data(), help.data(), nullptr};
        return tutti::cli::tune_main(2, own.data());
    }
    auto known = command_names();
    known.insert(known.end(), {"bench", "tune"});
    return complain(tutti::cli::unknown_word("help page", words[0], known));
}

// Variables that mean nothing. Of programs that are run, rank 0 says it.
void tell_unknown_variables() {
    const auto settings = tutti::parse_settings(tutti::tutti_entries(environ));
    if (!settings) return;  // whoever needs them says what is wrong
    for (const std::string& line : settings.value().unknown) {
        fmt::print(stderr, "tutti: {}\n", line);
    }
}

int dispatch(const std::string& word, const std::vector<std::string>& rest) {
    if (word != "run") tell_unknown_variables();
    for (const Command& command : kCommands) {
        if (word == command.name) return command.main(rest);
    }
    if (word == "help" || word == "--help" || word == "-h") return help_main(rest);
    if (word == "--version") {
        if (!rest.empty()) {
            return complain(
                {tutti::ErrorCode::kArgument,
                 fmt::format("--version: unexpected word {}", tutti::printable(rest[0]))});
        }
        fmt::print("tutti {}\n", TUTTI_VERSION_STRING);
        return 0;
    }
    if (word.starts_with('-')) {
        constexpr auto kOptions = std::to_array<std::string_view>({"--help", "--version"});
        return complain(tutti::cli::unknown_word("option", word, kOptions));
    }
    auto known = command_names();
    known.insert(known.end(), {"bench", "tune", "help"});
    return complain(tutti::cli::unknown_word("command", word, known));
}

// A standard descriptor that is closed would be given to the next file that is opened, and what was
// meant for standard output would be written there. So it is opened, for what nobody does with it:
// reading where one writes fails as if it were closed. A program that is run finds it closed.
void hold_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) >= 0) continue;
        const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        // The lowest free number is this one. Without /dev/null all stays as it was.
        if (open("/dev/null", mode | O_CLOEXEC) < 0) return;
    }
}

int output_failed(int problem) {
    fmt::print(stderr, "tutti: standard output: {}\n",
               problem != 0 ? std::strerror(problem) : "cannot be written");
    return 1;
}

// What was printed may still be on its way; who asked for it must not take a part for the whole.
int with_output_written(int status) {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    const int failed = output_failed(errno);
    return status == 0 ? failed : status;
}

int run(int argc, char** argv) {
    if (argc < 2) {
        return complain({tutti::ErrorCode::kArgument, "no command given; try tutti help"});
    }
    if (std::string_view(argv[1]) == "bench") return tutti::cli::bench_main(argc - 1, argv + 1);
    if (std::string_view(argv[1]) == "tune") return tutti::cli::tune_main(argc - 1, argv + 1);
    return dispatch(argv[1], {argv + 2, argv + argc});
}

}  // namespace

int main(int argc, char** argv) {
    hold_standard_descriptors();
    try {
        return with_output_written(run(argc, argv));
    } catch (const std::system_error& error) {
        // fmt's, where a write failed half-way.
        if (std::ferror(stdout) != 0) return output_failed(error.code().value());
        fmt::print(stderr, "tutti: {}\n", error.what());
        return 1;
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "tutti: out of memory\n");
        return 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "tutti: {}\n", error.what());
        return 1;
    }
}
