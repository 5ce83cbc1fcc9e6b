// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/clock_offset.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace tutti::adapt {
namespace {

// A clock that is set right runs 500 millionths off at most (adjtimex), and two of them drift apart
// by twice that.
constexpr uint64_t kDriftOneIn = 1'000;

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

ClockReading through(const ClockReading& first, const ClockReading& second) {
    return {first.at_ns, first.offset_ns + second.offset_ns, first.error_ns + second.error_ns};
}

void ClockOffset::add(const RoundTrip& trip) {
    TUTTI_ASSERT(trip.received_ns >= trip.sent_ns, "no answer comes before it is asked for");
    const uint64_t took_ns = trip.received_ns - trip.sent_ns;
    if (took_ns >= shortest_ns_) return;
    shortest_ns_ = took_ns;
    const uint64_t middle_ns = trip.sent_ns + took_ns / 2;
    // Unsigned differences wrap, and come out right as signed ones.
    reading_ = ClockReading{middle_ns, static_cast<int64_t>(trip.answered_ns - middle_ns),
                            took_ns - took_ns / 2};
}

ClockLine::ClockLine(const ClockReading& before, const ClockReading& after)
    : before_(before), after_(after) {
    TUTTI_ASSERT(after.at_ns >= before.at_ns, "readings come in order");
}

int64_t ClockLine::offset_ns(uint64_t own_ns) const {
    const uint64_t span_ns = after_.at_ns - before_.at_ns;
    if (span_ns == 0) return before_.offset_ns;
    const auto passed_ns = static_cast<double>(static_cast<int64_t>(own_ns - before_.at_ns));
    const auto drift_ns = static_cast<double>(after_.offset_ns - before_.offset_ns);
    return before_.offset_ns +
           static_cast<int64_t>(std::llround(drift_ns * passed_ns / static_cast<double>(span_ns)));
}

int64_t ClockLine::since_ns(uint64_t own_ns, uint64_t origin_ns) const {
    return static_cast<int64_t>(own_ns - origin_ns) + offset_ns(own_ns);
}

uint64_t ClockLine::error_at_ns(uint64_t own_ns) const {
    const uint64_t span_ns = after_.at_ns - before_.at_ns;
    if (span_ns == 0) return error_ns() + distance(own_ns, before_.at_ns) / kDriftOneIn;
    if (own_ns >= before_.at_ns && own_ns <= after_.at_ns) return error_ns();
    const uint64_t beyond_ns =
        std::min(distance(own_ns, before_.at_ns), distance(own_ns, after_.at_ns));
    const double slope =
        static_cast<double>(before_.error_ns + after_.error_ns) / static_cast<double>(span_ns);
    return error_ns() + static_cast<uint64_t>(slope * static_cast<double>(beyond_ns));
}

uint64_t ClockLine::error_ns() const { return std::max(before_.error_ns, after_.error_ns); }

}  // namespace tutti::adapt
