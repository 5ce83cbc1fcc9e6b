// SPDX-License-Identifier: BSD-3-Clause
// Makes rules from measured times.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/tune/tuned_calls.h"
#include "plan/select/rules.h"

namespace tutti::tune {

struct Timed {
    Candidate candidate;
    double us = 0;
};

// One call, all measured in turn.
struct MeasuredCall {
    tutti_collective collective = TUTTI_BARRIER;
    uint64_t bytes = 0;
    double host_us = 0;
    std::vector<Timed> ours;  // of those that could run
};

// The job that measured.
struct JobShape {
    uint32_t ranks = 1;
    uint32_t hosts = 1;
    uint32_t ranks_per_host = 0;  // 0: not the same on all
    bool is_contiguous = true;
};

// The host MPI's own stays where it is faster by more than this: closer times change their order
// from one run to the next.
inline constexpr double kHostWins = 1.03;

// For this shape of job, by collective and then by size. From one measured size to the next where
// another won, the winner changes half-way (their geometric mean), and half-way to a longer size
// that was left out the rules end. What is shorter or longer than all that there was is as the
// nearest.
std::vector<select::Rule> rules_of(std::span<const MeasuredCall> measured,
                                   std::span<const PlannedCall> left_out, const JobShape& job);

// Of an earlier file those about jobs of another shape, if it was measured with the same: so one
// file grows job by job.
std::vector<select::Rule> kept_rules(const select::Rules& former,
                                     const select::Fingerprint& fingerprint, const JobShape& job);

// As TOML, with an end of line; what Rules::parse() reads as the same rule.
std::string rule_text(const select::Rule& rule);

}  // namespace tutti::tune
