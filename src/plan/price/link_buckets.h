// SPDX-License-Identifier: BSD-3-Clause
// The links of a network while a lane is followed. Inside price/ only.
//
// A link is a token bucket, in the virtual scheduling of ITU-T I.371, annex A: at `full_ns` all
// that has passed would have passed at the rate. What comes later finds the whole burst; what comes
// earlier waits until the link is ahead of its rate by no more than the burst.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/price/network.h"

namespace tutti::price {

// Never below none.
constexpr uint64_t less_ns(uint64_t ns, uint64_t by_ns) { return ns - std::min(ns, by_ns); }

// What a link, a processor or all multicasts have done for one lane.
struct Work {
    uint64_t load_ns = 0;
    uint64_t window_ns = 0;  // from the first message to the last
    uint64_t burst_ns = 0;   // of the load, whatever it is, this much takes no time
};

class Links {
  public:
    explicit Links(const Network& network);

    // When a message's first byte leaves, and its last.
    struct Passage {
        uint64_t begin_ns;
        uint64_t end_ns;
    };
    // Whose first byte comes at head_ns, the last at tail_ns. is_long: it waited for its receive.
    Passage pass(uint32_t link, uint64_t head_ns, uint64_t tail_ns, uint64_t bytes, bool is_long);

    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(links_.size()); }
    // The load as if both ways of a host's link were busy together as far as they can be: among
    // many lanes they are.
    [[nodiscard]] Work work(uint32_t link) const;

  private:
    static constexpr uint64_t kNever = UINT64_MAX;

    struct Link {
        uint64_t full_ns = 0;
        uint64_t load_ns = 0;
        uint64_t begun_ns = kNever;
        uint64_t end_ns = 0;
        // With both_ways: since when it is busy without a pause, and for how long it has waited in
        // that time for bytes that came slower than it passes them.
        uint64_t busy_from_ns = 0;
        uint64_t waited_ns = 0;
        bool has_long = false;
    };

    [[nodiscard]] uint64_t rated_ns(uint32_t link, uint64_t bytes);
    [[nodiscard]] uint64_t burst_ns(uint32_t link) const {
        return bursts_ns_.empty() ? 0 : bursts_ns_[link];
    }
    [[nodiscard]] bool has_both_ways(uint32_t link) const {
        return network_.has_both_ways() && network_.fabric.is_host_link(link);
    }
    uint64_t stretched_ns(uint32_t link, Passage passage, uint64_t waited_ns, bool is_long);

    const Network& network_;
    std::vector<Link> links_;
    std::vector<uint64_t> bursts_ns_;  // by link, of the burst at its rate; none: there is no burst
    // Most messages are as long as the one before.
    uint64_t last_bytes_ = 0;
    uint64_t last_rate_ = 0;
    uint64_t last_ns_ = 0;
};

}  // namespace tutti::price
