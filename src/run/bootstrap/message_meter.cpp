// SPDX-License-Identifier: BSD-3-Clause
#include "run/bootstrap/message_meter.h"

#include <algorithm>

namespace tutti::bootstrap {
namespace {

// The quickest row of exchanges counts, as the quickest round trip does of multicasts: what meets
// nothing else on its way. In a row the ends go in step; of one exchange alone the end that comes
// late sees nothing, since the other's message is there already.
constexpr uint32_t kRows = 4;
constexpr uint32_t kRowExchanges = 8;
constexpr size_t kShortBytes = 8;
// Twice the bytes, and twice again. What a shaper lets through at once (a bucket of some ten
// kilobytes) is gone with the first; from kSteadyBytes on it ends as soon as an exchange takes long
// enough to say something: 64 KiB at 100 Mbit/s, 1 MiB at 1.7 Gbit/s.
constexpr size_t kLongBytesMin = 16u << 10;
constexpr size_t kSteadyBytes = 64u << 10;
constexpr size_t kLongBytesMax = 1u << 20;
constexpr uint64_t kLongNs = 5'000'000;

}  // namespace

MessageMeter::MessageMeter(engine::InterNode& inter_node, Clock& clock, uint32_t own,
                           uint32_t partner)
    : clock_(clock), pair_(inter_node, own, partner, kLongBytesMax) {}

bool MessageMeter::measure(sched::Speed& speed) {
    auto ends = pair_.both().exchange(speed);
    if (!ends) return false;
    if (ends.value()[0].mbit == 0 || ends.value()[1].mbit == 0) {
        sched::Speed found;
        if (!measure_latency(found.latency_ns)) return false;
        if (!measure_rate(found.latency_ns, found.mbit)) return false;
        ends = pair_.both().exchange(found);
        if (!ends) return false;
    }
    speed = slower(ends.value()[0], ends.value()[1]);
    return true;
}

// An exchange is over when the other's message is here: one way, both at once.
bool MessageMeter::measure_latency(uint64_t& latency_ns) {
    uint64_t least_ns = UINT64_MAX;
    for (uint32_t row = 0; row < kRows; ++row) {
        const uint64_t begin_ns = clock_.now_ns();
        for (uint32_t i = 0; i < kRowExchanges; ++i) {
            if (!pair_.gather().exchange(kShortBytes)) return false;
        }
        least_ns = std::min(least_ns, clock_.now_ns() - begin_ns);
    }
    latency_ns = least_ns / kRowExchanges;
    return true;
}

bool MessageMeter::time_exchange(size_t bytes, uint64_t& ns) {
    const uint64_t begin_ns = clock_.now_ns();
    if (!pair_.gather().exchange(bytes)) return false;
    ns = std::min(ns, clock_.now_ns() - begin_ns);
    return true;
}

// Whether it goes on is decided alike at both ends: by a word of each in a short exchange.
bool MessageMeter::measure_rate(uint64_t latency_ns, uint64_t& mbit) {
    for (size_t bytes = kLongBytesMin;; bytes *= 2) {
        uint64_t ns = UINT64_MAX;
        if (!time_exchange(bytes, ns)) return false;
        if (bytes < kSteadyBytes) continue;
        // A processor that was away does not count as a slow fabric.
        if (!time_exchange(bytes, ns)) return false;
        const uint64_t moving_ns = std::max<uint64_t>(ns - std::min(ns, latency_ns), 1);
        mbit = std::max<uint64_t>(bytes * 8000 / moving_ns, 1);
        const uint8_t mine = ns >= kLongNs ? 1 : 0;
        const auto ends = pair_.both().exchange(mine);
        if (!ends) return false;
        if (ends.value()[0] != 0 || ends.value()[1] != 0 || bytes == kLongBytesMax) return true;
    }
}

}  // namespace tutti::bootstrap
