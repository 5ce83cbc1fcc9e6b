// SPDX-License-Identifier: BSD-3-Clause
// What a command line starts: which word of it is a launcher, of which MPI, and where its own
// arguments end and the application begins.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::cli {

// Whose launcher: Open MPI's, or that of MPICH and Intel MPI. What the program was built for may be
// another, which the preloaded library finds out.
enum class Flavour { kOmpi, kMpich };

// How a launcher hands variables to its ranks.
enum class Style {
    kOpenMpi,  // -x NAME=VALUE, in every application context
    kHydra,    // -genv NAME VALUE, once
    kSlurm,    // --export=NAME=VALUE,...
    kInherit,  // no launcher: the program and its children inherit the environment
};

struct MpiVersion {
    Flavour flavour;
    std::string text;  // "Open MPI 5.0.11"
};

// Reads what `mpirun --version` prints.
std::optional<MpiVersion> recognise_version(std::string_view output);

// The same from a file name alone ("mpirun.openmpi", "orterun", "mpiexec.hydra").
std::optional<Flavour> flavour_by_name(std::string_view base_name);

bool is_launcher_name(std::string_view base_name);
std::string_view base_name(std::string_view path);

using IsProgram = std::function<bool(const std::string& word)>;

// The launcher's place in the command: the first word, or a later one behind programs that only
// start another (env, timeout, numactl ...). Nothing where there is none.
std::optional<size_t> find_launcher(std::span<const std::string> command,
                                    const IsProgram& is_program);

// One application context of a launcher's command line ("-n 1 ./a : -n 2 ./b" has two).
struct AppContext {
    size_t begin;        // its first word
    size_t application;  // the program; `end` where none was recognised
    size_t end;          // the separating ":", or the end of the command
};
std::vector<AppContext> split_contexts(std::span<const std::string> command, size_t launcher,
                                       Style style, const IsProgram& is_program);

// How many words behind this launcher option belong to it.
size_t option_values(Style style, std::string_view option, std::string_view next);

}  // namespace tutti::cli
