// SPDX-License-Identifier: BSD-3-Clause
// Hands the preload and the TUTTI_ variables to all ranks in the launcher's own way, by rewriting
// the command. Pure: what it depends on is passed in.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launcher.h"

namespace tutti::cli {

struct Variable {
    std::string name;
    std::string value;
    bool operator==(const Variable&) const = default;
};

struct Passing {
    Style style = Style::kInherit;
    size_t launcher = 0;                    // its place in the command
    std::string library;                    // what is preloaded
    std::vector<Variable> settings;         // TUTTI_ variables for the ranks
    std::string own_preload;                // LD_PRELOAD of the environment, or empty
    std::optional<std::string> own_export;  // SLURM_EXPORT_ENV of the environment
    // Open MPI 4 only: kEnvList of the environment, or empty.
    std::optional<std::string> own_env_list;
};

// Open MPI 4 takes variables for the ranks from this, too, separated by semicolons. Together with
// -x it refuses to start; with --app it ignores -x on its own command line.
inline constexpr std::string_view kEnvList = "OMPI_MCA_mca_base_env_list";

struct Rewritten {
    std::vector<std::string> command;
    std::vector<Variable> environment;  // to be set before the command starts
};

Rewritten rewrite_command(std::span<const std::string> command, const Passing& passing,
                          const IsProgram& is_program);

// The user's own preloads stay in front; ours is not named twice.
std::string merge_preload(std::string_view users, std::string_view ours);

// The value of kEnvList: the user's, and those of our variables that the user does not set.
std::string merge_env_list(std::string_view users, std::span<const Variable> variables,
                           std::string_view own_preload);

// The value of srun's --export: the user's value (ALL where there is none) and our variables. A
// value with a comma or quote cannot stand in it: that variable is exported by name and added to
// `by_name`, to be set in srun's own environment.
std::string merge_export(const std::optional<std::string>& users,
                         std::span<const Variable> variables, std::string_view own_preload,
                         std::vector<Variable>& by_name);

}  // namespace tutti::cli
