// SPDX-License-Identifier: BSD-3-Clause
#include "cli/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/child_process.h"
#include "cli/libraries.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kVersionTimeoutMs = 10'000;

bool same_file(const std::string& left, const std::string& right) {
    std::error_code error;
    return fs::equivalent(left, right, error);
}

// The application of the first context of a launcher that has one; else the launcher itself.
std::string application_of(const std::vector<std::string>& command, const Launch& launch,
                           const IsProgram& is_program) {
    for (const AppContext& context :
         split_contexts(command, launch.launcher, launch.style, is_program)) {
        if (context.application != context.end) return command[context.application];
    }
    return command[launch.launcher];
}

std::string closed_app_file(const std::vector<std::string>& command, size_t launcher) {
    for (size_t i = launcher + 1; i + 1 < command.size(); ++i) {
        if (command[i] != "--app" && command[i] != "-app") continue;
        std::ifstream file(command[i + 1]);
        std::string word;
        while (file >> word) {
            if (word == "-x" || word == "--x") return command[i + 1];
        }
    }
    return {};
}

// `tutti bench` finds the host MPI by this variable. It may stand behind numactl and the like, so
// every word counts.
bool starts_tutti(const std::vector<std::string>& command, const std::string& path) {
    return std::any_of(command.begin(), command.end(), [&](const std::string& word) {
        if (base_name(word) != base_name(own_path())) return false;
        const auto file = find_program(word, path);
        return file && same_file(*file, own_path());
    });
}

// The first launcher on PATH; but for a program that is not on PATH (that of a virtual environment)
// a launcher beside it comes first.
std::optional<FoundLauncher> launcher_near(const std::string& program, const std::string& path) {
    const fs::path directory = fs::path(program).parent_path();
    const auto on_path = split(path, ':');
    const bool is_on_path =
        std::any_of(on_path.begin(), on_path.end(), [&](std::string_view candidate) {
            return same_file(std::string(candidate), directory.string());
        });
    if (!is_on_path) {
        if (auto found = first_launcher(directory.string())) return found;
    }
    return first_launcher(path);
}

std::string mpi_library_of(const std::optional<FoundLauncher>& found) {
    if (!found) return {};
    return find_mpi_library(link_chain(found->file), found->flavour).value_or("");
}

Launch launch_of(const std::vector<std::string>& command, const std::string& file,
                 const std::string& path) {
    Launch launch;
    launch.application = command[0];
    if (starts_tutti(command, path)) launch.mpi_library = mpi_library_of(launcher_near(file, path));
    return launch;
}

}  // namespace

std::optional<FoundLauncher> look_at_launcher(const std::string& file) {
    const auto program = find_program(file, "");
    if (!program) return std::nullopt;
    if (const auto version =
            recognise_version(captured_output({*program, "--version"}, kVersionTimeoutMs))) {
        return FoundLauncher{*program, version->flavour, version->text};
    }
    for (const std::string& step : link_chain(*program)) {
        if (const auto flavour = flavour_by_name(base_name(step))) {
            return FoundLauncher{*program, *flavour, "unknown version"};
        }
    }
    return std::nullopt;
}

std::optional<FoundLauncher> first_launcher(const std::string& path) {
    for (const char* name : {"mpirun", "mpiexec"}) {
        const auto file = find_program(name, path);
        if (!file) continue;
        if (auto found = look_at_launcher(*file)) return found;
    }
    return std::nullopt;
}

Result<Launch> make_launch(const std::vector<std::string>& command, const std::string& path) {
    const IsProgram is_program = [&](const std::string& word) {
        return find_program(word, path).has_value();
    };
    const auto launcher = find_launcher(command, is_program);
    const std::string file = *find_program(command[launcher.value_or(0)], path);
    if (!launcher) return launch_of(command, file, path);

    Launch launch;
    launch.launcher = *launcher;
    std::optional<FoundLauncher> found;
    if (base_name(command[*launcher]) == "srun") {
        launch.style = Style::kSlurm;
        if (starts_tutti(command, path)) found = first_launcher(path);
    } else {
        found = look_at_launcher(file);
        if (!found) {
            return Error{ErrorCode::kArgument,
                         fmt::format("{}: not a launcher of Open MPI, MPICH or Intel MPI, by what "
                                     "its --version says",
                                     printable(file))};
        }
        launch.style = found->flavour == Flavour::kOmpi ? Style::kOpenMpi : Style::kHydra;
        launch.has_env_list = found->version.starts_with("Open MPI 4");
        if (launch.has_env_list) launch.closed_app_file = closed_app_file(command, *launcher);
    }
    launch.application = application_of(command, launch, is_program);
    if (starts_tutti(command, path)) launch.mpi_library = mpi_library_of(found);
    return launch;
}

}  // namespace tutti::cli
