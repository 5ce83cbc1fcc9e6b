// SPDX-License-Identifier: BSD-3-Clause
// `tutti info`: what this machine, this build and this MPI offer, and what is switched off and why.
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// arguments: what stands behind "info". Returns the exit status.
int info_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
