// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench_host.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <system_error>

#include "base/text.h"
#include "cli/child_process.h"
#include "cli/launch.h"
#include "cli/libraries.h"

namespace tutti::cli {
namespace {

// More processes than this do not stand between a rank and its launcher.
constexpr int kAncestorsMax = 64;

std::string read_link(const std::string& path) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(path, error);
    return error ? std::string() : target.string();
}

// The parent by /proc/PID/status; 0 where it cannot be read.
long parent_of(long process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    std::string line;
    while (std::getline(status, line)) {
        if (line.starts_with("PPid:")) return std::strtol(line.c_str() + 5, nullptr, 10);
    }
    return 0;
}

// Libraries in the order of what a launcher of this name belongs to.
std::vector<std::string> names_for(std::string_view executable, bool open_mpi) {
    const std::string_view name = base_name(executable);
    const bool hydra =
        name.starts_with("hydra") || name.starts_with("mpiexec.hydra") || name.ends_with("mpich");
    const bool prte =
        name.starts_with("ort") || name.starts_with("prte") || name.ends_with("openmpi");
    if (prte || (open_mpi && !hydra)) return {"libmpi.so.40"};
    return {"libmpi.so.12", "libmpich.so.12"};
}

std::optional<uint64_t> first_number(std::initializer_list<const char*> variables) {
    for (const char* name : variables) {
        const char* value = std::getenv(name);
        if (!value) continue;
        if (const auto number = parse_count(value)) return number;
    }
    return std::nullopt;
}

bool has_launcher(std::span<const Ancestor> above) {
    return std::ranges::any_of(above,
                               [](const Ancestor& one) { return is_launcher(one.executable); });
}

// Of the launcher on PATH, which comes from the MPI that the user has loaded; or empty.
std::string library_on_path() {
    const auto found = first_launcher(environment_text("PATH"));
    if (!found) return {};
    return find_mpi_library(link_chain(found->file), found->flavour).value_or("");
}

}  // namespace

std::vector<Ancestor> ancestors() {
    std::vector<Ancestor> above;
    long process = getppid();
    for (int i = 0; i < kAncestorsMax && process > 1; ++i) {
        const std::string folder = "/proc/" + std::to_string(process);
        above.push_back({read_link(folder + "/exe"), read_link(folder + "/fd/2")});
        process = parent_of(process);
    }
    return above;
}

bool is_launcher(std::string_view executable) {
    static constexpr auto kBeginnings =
        std::to_array<std::string_view>({"mpirun", "mpiexec", "orterun", "orted", "prterun",
                                         "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy"});
    const std::string_view name = base_name(executable);
    for (const std::string_view beginning : kBeginnings) {
        if (name.starts_with(beginning)) return true;
    }
    return false;
}

std::vector<std::string> library_candidates(const std::string& setting,
                                            std::span<const Ancestor> above, bool open_mpi,
                                            const std::string& on_path) {
    // Where the user named one, no other will do.
    if (!setting.empty()) return {setting};
    static constexpr auto kFolders = std::to_array<std::string_view>(
        {"/lib/", "/lib64/", "/lib/x86_64-linux-gnu/", "/lib/aarch64-linux-gnu/", "/lib/release/"});
    std::vector<std::string> files;
    for (const Ancestor& ancestor : above) {
        if (!is_launcher(ancestor.executable)) continue;
        const auto prefix =
            std::filesystem::path(ancestor.executable).parent_path().parent_path().string();
        for (const std::string& name : names_for(ancestor.executable, open_mpi)) {
            for (const std::string_view folder : kFolders) {
                files.push_back(prefix + std::string(folder) + name);
            }
        }
    }
    if (!on_path.empty()) files.push_back(on_path);
    for (const std::string& name : names_for("", open_mpi)) files.push_back(name);
    // Whose launcher it was, nobody has said then.
    if (!has_launcher(above)) {
        for (const std::string& name : names_for("", !open_mpi)) files.push_back(name);
    }
    return files;
}

std::optional<uint64_t> launched_rank() {
    return first_number({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"});
}

std::optional<uint64_t> launched_size() {
    return first_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"});
}

// What srun speaks says it where nothing else does: PMIx to Open MPI, PMI to the others.
bool launched_by_open_mpi() {
    if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return true;
    return std::getenv("PMIX_RANK") != nullptr && std::getenv("PMI_RANK") == nullptr;
}

bool errors_reach_terminal(std::span<const Ancestor> above) {
    if (isatty(STDERR_FILENO)) return true;
    // A rank's own standard error is mostly a pipe to its launcher, which passes it on.
    bool terminal = false;
    for (const Ancestor& ancestor : above) {
        if (!is_launcher(ancestor.executable)) continue;
        terminal = ancestor.errors.starts_with("/dev/pts/") ||
                   ancestor.errors.starts_with("/dev/tty") || ancestor.errors == "/dev/console";
    }
    return terminal;
}

Result<void*> load_host(const std::string& setting, std::span<const Ancestor> above) {
    if (setting.empty() && !launched_rank()) {
        return Error{ErrorCode::kArgument,
                     "not started by an MPI launcher; try: tutti run -- mpirun -n 2 tutti bench "
                     "all"};
    }
    std::string reason;
    std::string on_path;
    if (!has_launcher(above)) on_path = library_on_path();
    for (const std::string& file :
         library_candidates(setting, above, launched_by_open_mpi(), on_path)) {
        const bool path = file.find('/') != std::string::npos;
        if (path && access(file.c_str(), R_OK) != 0 && setting.empty()) continue;
        if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
            if (dlsym(handle, "PMPI_Init")) return handle;
            dlclose(handle);
            reason = file + " is not an MPI library: it has no PMPI_Init";
        } else if (const char* text = dlerror()) {
            reason = text;
        }
    }
    return Error{ErrorCode::kSystem, "cannot load the launcher's libmpi (" + reason +
                                         "); name its file: TUTTI_MPI_LIBRARY=/path/libmpi.so"};
}

}  // namespace tutti::cli
