// SPDX-License-Identifier: BSD-3-Clause
// Where the files are: our own libraries beside the command, your MPI's beside its launcher.
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

}  // namespace tutti::cli
