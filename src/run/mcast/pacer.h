// SPDX-License-Identifier: BSD-3-Clause
// Keeps a sender at a rate, with bursts up to a bound.
//
// Source: the virtual scheduling form of the leaky bucket (ITU-T I.371, Annex A): instead of tokens
// one time is kept, at which the bucket would be full again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::mcast {

class Pacer {
  public:
    // bytes_per_s 0: no limit. A burst is at least one packet, whatever burst_bytes says.
    Pacer(uint64_t bytes_per_s, uint64_t burst_bytes)
        : bytes_per_s_(bytes_per_s), burst_ns_(cost_ns(burst_bytes)) {}

    // When the next packet may leave; it may be in the past.
    [[nodiscard]] uint64_t ready_ns() const {
        return full_ns_ > burst_ns_ ? full_ns_ - burst_ns_ : 0;
    }
    // has_waited: the packet was there when it might have left, and left late for want of a
    // processor. What the link could have carried meanwhile is made up for, up to kLateNsMax of it,
    // and no longer queue stands anywhere than if it had left in time.
    void spend(uint64_t now_ns, uint64_t bytes, bool has_waited) {
        const uint64_t late_ns = has_waited ? std::min(now_ns, kLateNsMax) : 0;
        full_ns_ = std::max(full_ns_, now_ns - late_ns) + cost_ns(bytes);
    }
    // At once; what was spent stays spent.
    void set_rate(uint64_t bytes_per_s, uint64_t burst_bytes) {
        bytes_per_s_ = bytes_per_s;
        burst_ns_ = cost_ns(burst_bytes);
    }

    // A few turns of other processes.
    static constexpr uint64_t kLateNsMax = 10'000'000;

  private:
    [[nodiscard]] uint64_t cost_ns(uint64_t bytes) const {
        if (bytes_per_s_ == 0) return 0;
        return (bytes * 1'000'000'000 + bytes_per_s_ - 1) / bytes_per_s_;
    }

    uint64_t bytes_per_s_;
    uint64_t burst_ns_;
    uint64_t full_ns_ = 0;
};

}  // namespace tutti::mcast
