// SPDX-License-Identifier: BSD-3-Clause
// The trials of one experiment: medians of their times, and by how much times of one transfer
// differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/survey/experiment.h"

namespace tutti::survey {

class Trials {
  public:
    // The next experiment, made so many times.
    void begin(uint32_t count);
    // The times of one trial, by transfer; kMissingNs where it did not end in time.
    void take(std::span<const uint64_t> times_ns);
    [[nodiscard]] bool is_complete() const { return times_ns_.size() >= count_; }
    [[nodiscard]] uint32_t count() const { return count_; }
    // By transfer; kNoSpeed: missing in more than half of the trials.
    [[nodiscard]] std::vector<double> medians_ns() const;

    // The slowest trial by the fastest, median of the experiments that were counted; 1: none was.
    void count_spread();
    [[nodiscard]] double spread() const { return spreads_.empty() ? 1 : median(spreads_); }

  private:
    uint32_t count_ = 1;
    std::vector<std::vector<uint64_t>> times_ns_;  // by trial
    std::vector<double> spreads_;                  // by experiment that was counted
};

}  // namespace tutti::survey
