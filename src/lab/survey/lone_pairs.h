// SPDX-License-Identifier: BSD-3-Clause
// The second stage of a survey: how long transfers must be, and what a host's link carries, by
// pairs that send each other while nobody else does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "lab/survey/experiment.h"

namespace tutti::survey {

class LonePairs {
  public:
    // A transfer is as long as takes a pair alone transfer_ns, within these bounds.
    struct Length {
        uint64_t transfer_ns;
        uint64_t bytes_min;
        uint64_t bytes_max;
    };
    static constexpr uint32_t kTrials = 3;

    explicit LonePairs(const Length& length) : length_(length), bytes_(length.bytes_min) {}
    // Two hosts at least; the pairs are drawn among them.
    void begin(std::vector<uint32_t> hosts, Prng& random);
    // Both ways of one pair.
    [[nodiscard]] std::vector<Transfer> ask() const;
    // Their medians, or kNoSpeed.
    void take(std::span<const double> times_ns);

    // Transfers are long enough, so their speeds count.
    [[nodiscard]] bool knows_length() const { return stage_ > Stage::kLength; }
    [[nodiscard]] bool is_done() const { return stage_ >= Stage::kDone; }
    // No transfer came through.
    [[nodiscard]] bool has_failed() const { return stage_ == Stage::kFailed; }
    // Of a transfer, as asked for now.
    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    // When it is done: the usual speed, bytes per nanosecond.
    [[nodiscard]] double usual() const;

  private:
    enum class Stage : uint8_t { kLength, kSpeed, kDone, kFailed };

    void take_length(double time_ns);
    void take_speeds(std::span<const double> times_ns);

    const Length length_;
    Stage stage_ = Stage::kLength;
    std::vector<uint32_t> line_;  // hosts by which pairs are taken
    uint32_t pair_ = 0;
    uint32_t tries_ = 0;  // of a length
    uint64_t bytes_;
    std::vector<double> speeds_;
};

}  // namespace tutti::survey
