// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// `tutti generate`; words behind the subcommand. Returns the exit status.
int generate_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
