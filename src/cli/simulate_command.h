// SPDX-License-Identifier: BSD-3-Clause
// `tutti simulate`: how long calls take on a cluster of given rate and latency, in virtual time.
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// words: what follows "simulate". Returns the exit status.
int simulate_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
