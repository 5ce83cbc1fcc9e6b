// SPDX-License-Identifier: BSD-3-Clause
#include "cli/libraries.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/elf.h"
#include "cli/process.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTripletDirectory = "lib/" TUTTI_TRIPLET;
constexpr int kLoaderTimeoutMs = 10'000;

bool is_file(const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

std::string version_of_name(std::string_view name, std::string_view stem) {
    return name.starts_with(stem) ? std::string(name.substr(stem.size())) : std::string();
}

// What the dynamic loader would load: "libx.so.1 => /path (0x...)" lines.
std::vector<std::string> loader_list(const std::string& loader, const std::string& program) {
    std::vector<std::string> names;
    const std::string text = captured_output({loader, "--list", program}, kLoaderTimeoutMs);
    for (std::string_view line : split(text, '\n')) {
        const size_t begin = line.find_first_not_of(" \t");
        if (begin == std::string_view::npos) continue;
        line.remove_prefix(begin);
        names.emplace_back(base_name(line.substr(0, line.find(' '))));
    }
    return names;
}

}  // namespace

std::string own_path() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).string();
}

Result<std::string> find_tutti_library() {
    const std::string name = "libtutti-mpi.so";
    const fs::path prefix = fs::path(own_path()).parent_path().parent_path();
    for (const char* directory : {TUTTI_LIBDIR, "lib"}) {
        const std::string file = (prefix / directory / name).string();
        if (is_file(file)) return file;
    }
    return Error{ErrorCode::kSystem, name + " is not in " + (prefix / TUTTI_LIBDIR).string() +
                                         "; build or install it anew"};
}

std::vector<std::string> mpi_library_candidates(std::span<const std::string> chain,
                                                Flavour flavour) {
    std::vector<std::string> names{"libmpi.so.40"};
    if (flavour == Flavour::kMpich) names = {"libmpi.so.12", "libmpich.so.12"};
    std::vector<std::string> files;
    for (const std::string& launcher : chain) {
        const fs::path prefix = fs::path(launcher).parent_path().parent_path();
        for (const char* directory : {"lib", "lib64", "lib/release", kTripletDirectory, "../lib"}) {
            for (const std::string& name : names) {
                files.push_back((prefix / directory / name).lexically_normal().string());
            }
        }
    }
    return files;
}

std::optional<std::string> find_mpi_library(std::span<const std::string> chain, Flavour flavour) {
    const auto files = mpi_library_candidates(chain, flavour);
    const auto found = std::find_if(files.begin(), files.end(), is_file);
    if (found == files.end()) return std::nullopt;
    return *found;
}

MpiNeed mpi_need(std::span<const std::string> libraries) {
    MpiNeed need = MpiNeed::kNone;
    for (const std::string& name : libraries) {
        if (name.starts_with("libmpi_abi.so")) return MpiNeed::kStandardAbi;
        if (version_of_name(name, "libmpi.so.") == "40") need = MpiNeed::kOmpi;
        if (version_of_name(name, "libmpi.so.") == "12") need = MpiNeed::kMpich;
        if (version_of_name(name, "libmpich.so.") == "12") need = MpiNeed::kMpich;
    }
    return need;
}

MpiNeed program_mpi_need(const std::string& path) {
    const auto needs = read_elf_file(path);
    if (!needs) return MpiNeed::kNone;
    const MpiNeed direct = mpi_need(needs->libraries);
    if (direct != MpiNeed::kNone || needs->interpreter.empty()) return direct;
    // A library of the program may be the one that needs MPI.
    return mpi_need(loader_list(needs->interpreter, path));
}

}  // namespace tutti::cli
