// SPDX-License-Identifier: BSD-3-Clause
// How a command will be started: its launcher, and what is handed to the ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/launcher.h"

namespace tutti::cli {

struct Launch {
    Style style = Style::kInherit;
    size_t launcher = 0;        // its place in the command, where style is not kInherit
    std::string application;    // for messages: the program that should use MPI
    bool has_env_list = false;  // an Open MPI 4, see kEnvList
    // Its file of contexts (--app) that sets variables by -x, beside which it refuses the list.
    std::string closed_app_file;
    std::string mpi_library;  // for `tutti bench`; empty where the application is another
};

// Looks at the files that the command names; runs `LAUNCHER --version`.
Result<Launch> make_launch(const std::vector<std::string>& command, const std::string& path);

// A launcher on PATH, or beside a program.
struct FoundLauncher {
    std::string file;
    Flavour flavour;
    std::string version;
};
std::optional<FoundLauncher> look_at_launcher(const std::string& file);
std::optional<FoundLauncher> first_launcher(const std::string& path);

}  // namespace tutti::cli
