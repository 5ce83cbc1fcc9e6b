// SPDX-License-Identifier: BSD-3-Clause
// `tutti check`: proves the schedules of algorithms over ranges of ranks, hosts, roots and sizes,
// or one schedule that stands in a file.
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// words: what follows "check". Returns the exit status: 1 where a schedule is wrong.
int check_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
