// SPDX-License-Identifier: BSD-3-Clause
// `tutti run`: puts Tutti under the MPI programs of a command.
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// arguments: what stands behind "run". Returns the exit status.
int run_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
