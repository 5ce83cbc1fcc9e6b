// SPDX-License-Identifier: BSD-3-Clause
// What is on its way in a simulated world, link by link: messages, and the branches of multicasts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/transport/sim/match.h"

namespace tutti::transport::sim {

struct Flight {
    bool is_multicast = false;
    uint32_t owner = kNone;    // the message, or the multicast of which this is a branch
    uint32_t link = 0;         // the one that it wants; no more when it has come to its host
    Rank rank = 0;             // of a multicast that has come to a host: to whom it goes there
    uint32_t hop = 0;          // links behind it
    uint32_t waiting = kNone;  // the next one that waits for the same link, or is free
    size_t bytes = 0;
    uint64_t tail_ns = 0;  // when the last byte comes to where the head is
};

// Grows when more are under way than ever before; that moves them.
class Flights {
  public:
    uint32_t add(const Flight& flight) {
        uint32_t place = free_;
        if (place == kNone) {
            place = static_cast<uint32_t>(pool_.size());
            pool_.push_back(flight);
        } else {
            free_ = pool_[place].waiting;
            pool_[place] = flight;
        }
        return place;
    }
    void release(uint32_t flight) {
        pool_[flight].waiting = free_;
        free_ = flight;
    }
    Flight& operator[](uint32_t flight) { return pool_[flight]; }

  private:
    std::vector<Flight> pool_;
    uint32_t free_ = kNone;
};

}  // namespace tutti::transport::sim
