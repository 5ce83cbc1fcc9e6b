// SPDX-License-Identifier: BSD-3-Clause
// Smoothed time from a question to its answer, and how long to wait for one.
// Source: RFC 6298, Section 2 (SRTT, RTTVAR, RTO; alpha 1/8, beta 1/4), without its bounds.
#pragma once

#include <cstdint>

namespace tutti::mcast {

class RoundTrip {
  public:
    void add(uint64_t sample_ns) {
        if (!is_known_) {
            is_known_ = true;
            mean_ns_ = sample_ns;
            deviation_ns_ = sample_ns / 2;
            return;
        }
        const uint64_t off = sample_ns > mean_ns_ ? sample_ns - mean_ns_ : mean_ns_ - sample_ns;
        deviation_ns_ = (3 * deviation_ns_ + off) / 4;
        mean_ns_ = (7 * mean_ns_ + sample_ns) / 8;
    }
    // 0 before the first sample.
    [[nodiscard]] uint64_t mean_ns() const { return mean_ns_; }
    [[nodiscard]] uint64_t timeout_ns() const { return mean_ns_ + 4 * deviation_ns_; }

  private:
    bool is_known_ = false;
    uint64_t mean_ns_ = 0;
    uint64_t deviation_ns_ = 0;
};

}  // namespace tutti::mcast
