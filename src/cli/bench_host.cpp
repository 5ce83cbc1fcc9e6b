// SPDX-License-Identifier: BSD-3-Clause
#include "cli/bench_host.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/text.h"

namespace tutti::cli {
namespace {

// More processes than this do not stand between a rank and its launcher.
constexpr int kAncestorsMax = 64;

std::string_view base_name(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

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
                                            std::span<const Ancestor> above, bool open_mpi) {
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
    for (const std::string& name : names_for("", open_mpi)) files.push_back(name);
    return files;
}

std::optional<uint64_t> launched_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
        const char* value = std::getenv(name);
        if (!value) continue;
        if (const auto rank = parse_count(value)) return rank;
    }
    return std::nullopt;
}

bool launched_by_open_mpi() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

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
    for (const std::string& file : library_candidates(setting, above, launched_by_open_mpi())) {
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
                                         "); name it in TUTTI_MPI_LIBRARY"};
}

}  // namespace tutti::cli
