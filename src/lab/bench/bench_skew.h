// SPDX-License-Identifier: BSD-3-Clause
// `tutti bench --skew`: ranks enter each call late by drawn delays, and a call's time is its
// synchronization delay: from the last rank's arrival to the last one's exit, by one clock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/bench/bench_mpi.h"
#include "run/adapt/clock_offset.h"
#include "run/adapt/skew.h"

namespace tutti::bench {

// "10 ms", "0".
std::string most_text(uint64_t most_ns);

struct RanksOfHosts {
    std::vector<uint32_t> host_of_rank;  // by rank; hosts are numbered by their first ranks
    std::vector<uint32_t> first_rank;    // by host
    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(first_rank.size()); }
};
// Collective; as Tutti has them, so pretended ones too.
RanksOfHosts hosts_of(BenchMpi& mpi);

// Collective: rank 0's clock, as this rank's host sees it: one rank of each host asks, the others
// sleep meanwhile. Of rank 0's own host it is the same clock.
adapt::ClockReading read_clock(BenchMpi& mpi, const RanksOfHosts& hosts);

// One rank in one call, by its own clock.
struct Stay {
    uint64_t ready_ns = 0;  // it would have entered, were it not to be late
    uint64_t entered_ns = 0;
    uint64_t left_ns = 0;
};

// Two times on two hosts, both by rank 0's clock, are off by the errors of both hosts together.
uint64_t clock_error_ns(std::span<const adapt::ClockLine> by_host);

// What one rank keeps of the calls of a cell that are skewed.
class SkewedCalls {
  public:
    // Both collective.
    SkewedCalls(BenchMpi& mpi, const RanksOfHosts& hosts, const adapt::Delays& delays,
                bool crowded);
    void end();

    // Until it is this rank's turn to enter that call, for which it is ready.
    void wait(uint64_t call, uint64_t ready_ns) const;
    // Collective, after end(): by call, seconds.
    [[nodiscard]] std::vector<double> delays_s(std::span<const Stay> stays) const;
    // Collective: by call, how late the latest rank was in seconds; a sleeper may sleep longer.
    [[nodiscard]] std::vector<double> late_s(std::span<const Stay> stays) const;
    // After end(); the same on all ranks.
    [[nodiscard]] const std::vector<adapt::ClockLine>& clocks() const { return clocks_; }

  private:
    BenchMpi& mpi_;
    const RanksOfHosts& hosts_;
    const adapt::Delays delays_;
    const bool crowded_;
    const uint32_t rank_;
    const uint32_t host_;
    adapt::ClockReading before_;
    uint64_t origin_ns_ = 0;  // rank 0's clock when it began
    std::vector<adapt::ClockLine> clocks_;
};

// CLOCK_MONOTONIC, which all processes of a machine share.
uint64_t monotonic_ns();

}  // namespace tutti::bench
