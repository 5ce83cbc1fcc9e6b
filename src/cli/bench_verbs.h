// SPDX-License-Identifier: BSD-3-Clause
// `tutti bench --verbs`: measures RDMA ports, without an MPI.
#pragma once

#include <span>
#include <string>

namespace tutti::cli {

// words: what follows the word "bench". Returns the exit status: 0, 1 for a failure while
// measuring, 2 for a malformed command line or where there is no device.
int bench_verbs_main(std::span<const std::string> arguments);

}  // namespace tutti::cli
