// SPDX-License-Identifier: BSD-3-Clause
// The two jobs of `tutti tune`, one after the other: the first measures what messages take and
// finds the switches, the second times calls by what the first found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topo/placement.h"
#include "lab/bench/bench_mpi.h"
#include "lab/tune/file.h"
#include "lab/tune/make_rules.h"
#include "plan/select/rules.h"
#include "run/engine/context.h"
#include "run/site/job_fabric.h"

namespace tutti::tune {

// Without a word for so long, beside what is expected to take time, a job is ended.
inline constexpr double kTuneSilenceSeconds = 60;

struct TuneOptions {
    std::string job;     // "links" or "calls"
    std::string into;    // the file that rank 0 writes
    std::string former;  // that is there already, and is to be of the same cluster; or empty
    std::string from;    // "calls": what "links" wrote
    uint64_t seconds = 0;
};

// What a job tells the process that it runs in; of its ranks one speaks, the first.
struct TuneAudience {
    std::function<void(const std::string&)> say;            // a line that is to stay
    std::function<void(const std::string&)> show_progress;  // until the next one; empty: nothing
    // If this is not called again within so many seconds, something hangs, and the job ends.
    std::function<void(double)> expect_word_within;
};

// A job as all of its ranks know it.
class TuneJob {
  public:
    // Collective.
    TuneJob(bench::BenchMpi& host_mpi, const TuneOptions& own_options,
            const TuneAudience& who_hears);

    bench::BenchMpi& mpi;
    const TuneOptions& options;
    const TuneAudience& audience;
    engine::RealClock clock;
    const bool speaks;
    topo::Placement placement;
    std::vector<std::string> hosts;      // by node
    std::vector<uint32_t> rank_of_host;  // by node: its first

    [[nodiscard]] JobShape shape() const;
    // "16 hosts, 2 ranks a host"
    [[nodiscard]] std::string text() const;
    // For the buffers of all ranks together, if each has what the fullest machine has for its
    // ranks.
    [[nodiscard]] uint64_t memory_bytes() const;
    // The head of the file: what is measured with, and today.
    [[nodiscard]] Tuned tuned() const;
    // Rank 0 alone: why not, or an empty text.
    [[nodiscard]] std::string write(const Tuned& tuned) const;
    // What rank 0 says, to all: why it cannot go on, or an empty text.
    Result<Done> agree(const std::string& problem) const;
    // Of the description that `file` is, or that the site has; rank 0 alone. None where nobody
    // describes these hosts.
    [[nodiscard]] Result<std::optional<topo::SwitchTree>> described(const std::string& file) const;

  private:
    uint32_t neighbours_ = 1;            // ranks on one machine, at most
    std::vector<std::string> machines_;  // by node: its real name
};

Result<select::Rules> read_rules_file(const std::string& name);

// Collective. An error is the same line on all ranks.
Result<Done> tune_links(TuneJob& job);
Result<Done> tune_calls(TuneJob& job);

// Collective. The one that the options name.
Result<Done> run_tune_job(bench::BenchMpi& mpi, const TuneOptions& options,
                          const TuneAudience& audience);

}  // namespace tutti::tune
