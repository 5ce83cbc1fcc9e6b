// SPDX-License-Identifier: BSD-3-Clause
// What `tutti bench --verbs --multicast` measures: packets from one port to a group, until one
// other port has each, and until all others have it.
//
// Source: Kini 2003, Section 2.1 (UD multicast to one node and to seven). Differs: all ends belong
// to one process, which looks at one after the other, so one clock times each packet alone.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "run/transport/verbs/ud.h"

namespace tutti::bench {

// A packet tells its number.
inline constexpr uint64_t kMulticastBytesMin = 8;

struct MulticastOrder {
    std::vector<uint64_t> bytes;  // kMulticastBytesMin to a packet of the port that has the least
    uint64_t packets = 0;         // of each length, to one and to all
    transport::verbs::UdGroup group{};  // nobody else's
};

struct MulticastCounts {
    uint64_t packets = 0;
    uint64_t posts = 0;     // requests to send
    uint64_t received = 0;  // by those to whom they go
    uint64_t echoed = 0;    // that came back to the sender
    uint64_t lost = 0;      // not come to one of them within a tenth of a second
};

struct MulticastFigures {
    // By the order's lengths, of the packets that came to everybody.
    std::vector<double> to_one_us;
    std::vector<double> to_all_us;
    MulticastCounts to_one;
    MulticastCounts to_all;
};

// From ports[0] to ports[1], then to all others; one port alone: to itself. turn: what who waits
// does. An error says what cannot be had, or that packets do not come.
Result<MulticastFigures> measure_multicast(std::span<transport::verbs::Device* const> ports,
                                           const MulticastOrder& order, Clock& clock,
                                           const std::function<void()>& turn);

}  // namespace tutti::bench
