// SPDX-License-Identifier: BSD-3-Clause
// A rank of one of the jobs that `tutti tune` starts: the MPI that it finds, what it prints for the
// job, and its end where nothing goes on.
#pragma once

#include "lab/tune/job/tune_job.h"

namespace tutti::cli {

inline constexpr int kTuneFailed = 1;
inline constexpr int kTuneUsage = 2;

// `argv` as main has it. The exit status.
int tune_rank_main(const tune::TuneOptions& options, int argc, char** argv);

}  // namespace tutti::cli
