// SPDX-License-Identifier: BSD-3-Clause
#include "cli/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/libraries.h"
#include "cli/process.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kVersionTimeoutMs = 10'000;

std::optional<Flavour> flavour_of(MpiNeed need) {
    if (need == MpiNeed::kOmpi) return Flavour::kOmpi;
    if (need == MpiNeed::kMpich) return Flavour::kMpich;
    return std::nullopt;
}

bool same_file(const std::string& left, const std::string& right) {
    std::error_code error;
    return fs::equivalent(left, right, error);
}

// The applications of all contexts of a launcher.
std::vector<std::string> application_files(const std::vector<std::string>& command,
                                           const Plan& plan, const std::string& path) {
    const IsProgram is_program = [&](const std::string& word) {
        return find_program(word, path).has_value();
    };
    std::vector<std::string> files;
    for (const Context& context : split_contexts(command, plan.launcher, plan.style, is_program)) {
        if (context.application == context.end) continue;
        if (auto file = find_program(command[context.application], path)) files.push_back(*file);
    }
    return files;
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

// For a program that says nothing itself: the first launcher on PATH; but for one that is not on
// PATH (the python of a virtual environment) a launcher beside it comes first.
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

Error no_launcher(std::string_view command) {
    return {ErrorCode::kArgument,
            fmt::format("{}: cannot tell which MPI it uses: no mpirun or mpiexec on PATH",
                        printable(command))};
}

Result<Plan> plan_program(const std::vector<std::string>& command, const std::string& file,
                          const std::string& path) {
    Plan plan;
    plan.application = command[0];
    const MpiNeed need = program_mpi_need(file);
    plan.flavour = flavour_of(need);
    if (need == MpiNeed::kStandardAbi || plan.flavour) {
        return plan;
    }
    const auto near = launcher_near(file, path);
    if (!near) return no_launcher(command[0]);
    plan.flavour = near->flavour;
    if (starts_tutti(command, path)) {
        plan.mpi_library = find_mpi_library(link_chain(near->file), near->flavour).value_or("");
    }
    return plan;
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

Result<Plan> make_plan(const std::vector<std::string>& command, const std::string& path) {
    const IsProgram is_program = [&](const std::string& word) {
        return find_program(word, path).has_value();
    };
    const auto launcher = find_launcher(command, is_program);
    const std::string file = *find_program(command[launcher.value_or(0)], path);
    if (!launcher) return plan_program(command, file, path);

    Plan plan;
    plan.application = command[*launcher];
    plan.launcher = *launcher;
    std::optional<FoundLauncher> found;
    if (base_name(command[*launcher]) == "srun") {
        plan.style = Style::kSlurm;
        found = first_launcher(path);
    } else {
        found = look_at_launcher(file);
        if (!found) {
            return Error{ErrorCode::kArgument,
                         fmt::format("{}: not a launcher of Open MPI, MPICH or Intel MPI, by what "
                                     "its --version says",
                                     printable(file))};
        }
        plan.style = found->flavour == Flavour::kOmpi ? Style::kOpenMpi : Style::kHydra;
        plan.has_env_list = found->version.starts_with("Open MPI 4");
        if (plan.has_env_list) plan.closed_app_file = closed_app_file(command, *launcher);
    }
    if (found) plan.flavour = found->flavour;
    // What a program was linked with says more than what starts it.
    const auto applications = application_files(command, plan, path);
    if (!applications.empty()) plan.application = applications.front();
    for (const std::string& application : applications) {
        const MpiNeed need = program_mpi_need(application);
        if (need == MpiNeed::kStandardAbi) {
            plan.flavour.reset();
            plan.application = application;
            return plan;
        }
        if (const auto flavour = flavour_of(need)) {
            plan.flavour = flavour;
            break;
        }
    }
    if (!plan.flavour) return no_launcher(command[*launcher]);
    if (found && starts_tutti(command, path)) {
        plan.mpi_library = find_mpi_library(link_chain(found->file), found->flavour).value_or("");
    }
    return plan;
}

}  // namespace tutti::cli
