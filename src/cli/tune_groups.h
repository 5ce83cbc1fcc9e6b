// SPDX-License-Identifier: BSD-3-Clause
// A survey of the job's hosts (docs/survey.md) over the host MPI's own messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/bench_mpi.h"
#include "survey/survey.h"

namespace tutti::cli {

struct SurveyTimes {
    // What takes longer is told as missing; and who has waited so many times as long in one
    // experiment gives up.
    uint64_t transfer_ns_max = survey::Limits().missing_ns;
    uint32_t patience = 6;
};

// Of the ranks that send and receive. After an error messages may still be under way, from and into
// these: they are to live until the job ends.
struct SurveyBuffers {
    std::vector<std::byte> send;
    std::vector<std::byte> receive;
};

// Collective over all ranks, with the same arguments; the first of `rank_of_host`, one rank a host,
// decides, and gets what was found; the others get one that says nothing. Once a rank gives up, all
// return an error, and the job has to be ended: messages are left over. One that is gone for good
// holds up all others in the MPI's own calls.
Result<survey::Found> tune_groups(BenchMpi& mpi, std::span<const uint32_t> rank_of_host,
                                  const survey::Limits& limits, const SurveyTimes& times,
                                  Clock& clock, SurveyBuffers& buffers);

}  // namespace tutti::cli
