// SPDX-License-Identifier: BSD-3-Clause
// Where the files are: our own libraries beside the command, the host MPI's beside its launcher.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/launcher.h"

namespace tutti::cli {

// This program's own file.
std::string own_path();

// libtutti-mpi.so of this build or installation.
Result<std::string> find_tutti_library();

// Where the MPI library of a launcher may be, likeliest first. chain: the launcher's path and what
// each symbolic link on the way points to.
std::vector<std::string> mpi_library_candidates(std::span<const std::string> chain,
                                                Flavour flavour);
std::optional<std::string> find_mpi_library(std::span<const std::string> chain, Flavour flavour);

// Whose libmpi is among these library names.
enum class MpiNeed { kNone, kOmpi, kMpich, kStandardAbi };
MpiNeed mpi_need(std::span<const std::string> libraries);

// The same for a program on disk; libraries of its libraries are asked for too.
MpiNeed program_mpi_need(const std::string& path);

}  // namespace tutti::cli
