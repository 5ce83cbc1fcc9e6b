// SPDX-License-Identifier: BSD-3-Clause
#include "cli/libraries.h"

#include <algorithm>
#include <filesystem>

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTripletDirectory = "lib/" TUTTI_TRIPLET;

bool is_file(const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
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

}  // namespace tutti::cli
