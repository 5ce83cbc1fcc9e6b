// SPDX-License-Identifier: BSD-3-Clause
// Which MPI started this process: found from the environment and the processes above it, since
// `tutti bench` is linked to none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::cli {

// One process above this one, nearest first.
struct Ancestor {
    std::string executable;  // "/usr/bin/orterun"
    std::string errors;      // what its standard error is: "/dev/pts/3", "pipe:[17]"
};
std::vector<Ancestor> ancestors();

// True for the programs that start MPI ranks.
bool is_launcher(std::string_view executable);

// Files to try, best first, then names for the loader's own search path. `setting` is
// TUTTI_MPI_LIBRARY; `open_mpi` says that the environment is one made by Open MPI. Where no
// launcher is above (srun has its daemon start the ranks) that is a guess: the library of the
// launcher on PATH, `on_path`, comes first, and those of all MPIs are tried.
std::vector<std::string> library_candidates(const std::string& setting,
                                            std::span<const Ancestor> above, bool open_mpi,
                                            const std::string& on_path = {});

// This process's number in the job by what launchers leave in the environment; nothing where no
// launcher did.
std::optional<uint64_t> launched_rank();
// Likewise, how many there are.
std::optional<uint64_t> launched_size();
bool launched_by_open_mpi();

// A terminal is at the end of this process's standard error: directly, or behind the launcher.
bool errors_reach_terminal(std::span<const Ancestor> above);

// Loads the host's libmpi into the global scope, as if the program were linked to it.
Result<void*> load_host(const std::string& setting, std::span<const Ancestor> above);

}  // namespace tutti::cli
