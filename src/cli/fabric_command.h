// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// `tutti fabric`; words behind the subcommand. Returns the exit status.
int fabric_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
