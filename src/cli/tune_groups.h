// SPDX-License-Identifier: BSD-3-Clause
// A survey of the job's hosts (docs/survey.md) over the host MPI's own messages.
#pragma once

#include <cstdint>
#include <span>

#include "base/clock.h"
#include "base/result.h"
#include "cli/bench_mpi.h"
#include "survey/survey.h"

namespace tutti::cli {

struct SurveyTimes {
    // What takes longer is told as missing; and when that is over so often, all give up.
    uint64_t transfer_ns_max = 5'000'000'000;
    uint32_t patience = 6;
};

// Collective over all ranks, with the same arguments; the first of `rank_of_host`, one rank a host,
// decides, and gets what was found; the others get one that says nothing. An error is this rank's
// own: a message that does not come at all holds up the others, too, so that the job has to be
// ended.
Result<survey::Found> tune_groups(BenchMpi& mpi, std::span<const uint32_t> rank_of_host,
                                  const survey::Limits& limits, const SurveyTimes& times,
                                  Clock& clock);

}  // namespace tutti::cli
