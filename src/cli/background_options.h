// SPDX-License-Identifier: BSD-3-Clause
// Another job beside a call, by --background and --background-hosts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/job_options.h"

namespace tutti::cli {

std::span<const OptionDoc> background_options();

struct BackgroundJob {
    std::vector<uint32_t> hosts;  // of the described cluster; empty: there is no such job
    uint64_t bytes = 0;           // of each of its messages
    std::string text;             // "alltoall of 64 KiB between n[4-7], from switch to switch"
};
Result<BackgroundJob> read_background(const CommandLine& command_line, const JobHosts& job);

}  // namespace tutti::cli
