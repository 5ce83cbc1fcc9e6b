// SPDX-License-Identifier: BSD-3-Clause
// What TUTTI_CHECK, TUTTI_VERIFY and TUTTI_STALL have found in a run: a line each. Knows no MPI.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tutti::mpi {

// TUTTI_CHECK, of all communicators; each call counted once, not on each of its ranks.
struct CheckTotals {
    bool is_on = false;
    uint64_t compared = 0;
    uint64_t different = 0;  // of these
};

// TUTTI_STALL, of all communicators.
struct StallTotals {
    double limit_s = 0;       // 0: it is off
    uint64_t calls = 0;       // that Tutti has run, each counted once
    uint64_t stalls = 0;      // how often a rank was that long in one
    uint64_t longest_ns = 0;  // of any rank
};

// TUTTI_VERIFY, of all communicators.
struct VerifyTotals {
    double share = 0;  // 0: nothing was to be verified
    uint64_t seed = 0;
    uint64_t calls = 0;
    uint64_t equal = 0;
    uint64_t different = 0;
    uint64_t undecided = 0;
    uint64_t skipped = 0;
    uint64_t failed = 0;
    [[nodiscard]] uint64_t compared() const { return equal + different + undecided; }
};

struct WatchTotals {
    uint32_t ranks = 0;  // of the job
    CheckTotals check = {};
    VerifyTotals verify = {};
    StallTotals stall = {};
};

// A line for each that is on, also where it has found nothing: so one sees that it was on.
std::string watch_text(const WatchTotals& totals);
// Adds an entry for each that is on.
void add_watches(nlohmann::ordered_json& json, const WatchTotals& totals);

}  // namespace tutti::mpi
