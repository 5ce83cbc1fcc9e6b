// SPDX-License-Identifier: BSD-3-Clause
// What `tutti bench --verbs` measures: short messages between two ports, there and back, by the
// ways that verbs have.
//
// Source: Kini 2003, Section 2.1, figure 2.3 (latency of a write beside send and receive). Differs:
// a write with immediate is a way of its own, as it is Tutti's; and both ends belong to one
// process, so one clock times each message alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "run/transport/verbs/device.h"

namespace tutti::bench {

enum class Way : uint32_t {
    kWrite,  // a plain write, looked for in the memory that it goes to: nobody is told
    kTold,   // a write with immediate, which takes a receive: as Tutti's messages go
    kSend,   // send and receive
};
inline constexpr uint32_t kWays = 3;

struct WaysOrder {
    std::vector<uint64_t> bytes;
    uint64_t exchanges = 0;  // one message there and one back: of each way and length
};
inline constexpr uint64_t kWayBytesMax = uint64_t{64} << 10;

// What who waits does; both are given for a network without time of its own.
struct Waits {
    std::function<void()> turn;         // nothing has come
    std::function<bool(int fd)> sleep;  // until it is readable; false: it never was
};

// Of one way, over all lengths.
struct WayCounts {
    uint64_t exchanges = 0;
    uint64_t posts = 0;  // writes and sends
    uint64_t recvs = 0;
    uint64_t completions = 0;
    uint64_t wakes = 0;  // of those who sleep
};

struct WaysFigures {
    std::array<std::vector<double>, kWays> median_us;  // one way, by the order's lengths
    std::array<WayCounts, kWays> counts;
    // Those who wait sleep: messages of the first length, by the ways that tell.
    bool can_sleep = false;
    std::array<double, kWays> asleep_us{};
    std::array<WayCounts, kWays> asleep;
    // Plain writes, and those of which the last byte was seen before all of the others.
    uint64_t looked_for = 0;
    uint64_t torn = 0;
};

// a and b may be the same. An error says what became of a message.
Result<WaysFigures> measure_ways(transport::verbs::Device& a, transport::verbs::Device& b,
                                 const WaysOrder& order, Clock& clock, const Waits& waits);

}  // namespace tutti::bench
