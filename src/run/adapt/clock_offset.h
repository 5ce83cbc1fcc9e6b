// SPDX-License-Identifier: BSD-3-Clause
// Estimates another process's clock from messages that went there and back, after F. Cristian,
// Probabilistic clock synchronization, 1989, doi:10.1007/BF01784024: the answer was written at some
// time between ask and answer, so the middle is off by half the round trip at most, whatever the
// two ways took; the shortest of many trips is kept.
#pragma once

#include <cstdint>
#include <optional>

namespace tutti::adapt {

struct RoundTrip {
    uint64_t sent_ns = 0;      // own clock
    uint64_t answered_ns = 0;  // the other's
    uint64_t received_ns = 0;  // own; not before sent_ns
};

struct ClockReading {
    uint64_t at_ns = 0;     // own clock
    int64_t offset_ns = 0;  // what the other's showed then, less that
    uint64_t error_ns = 0;  // the true offset is within so much of it
};

// The other's clock, of which `first` says what it shows, has been read of a third one: what that
// one shows. At the time of the first reading; as close in time as clocks drift little.
ClockReading through(const ClockReading& first, const ClockReading& second);

class ClockOffset {
  public:
    void add(const RoundTrip& trip);
    // By the shortest trip; none before the first.
    [[nodiscard]] const std::optional<ClockReading>& reading() const { return reading_; }

  private:
    std::optional<ClockReading> reading_;
    uint64_t shortest_ns_ = UINT64_MAX;
};

// The other's clock between two readings: clocks drift, and as good as evenly within minutes.
class ClockLine {
  public:
    ClockLine() = default;
    // after.at_ns >= before.at_ns.
    ClockLine(const ClockReading& before, const ClockReading& after);

    [[nodiscard]] int64_t offset_ns(uint64_t own_ns) const;
    // The other's time when this one's is own_ns, from an origin in the other's: small enough for a
    // double.
    [[nodiscard]] int64_t since_ns(uint64_t own_ns, uint64_t origin_ns) const;
    // Between the two; as far as the drift is even.
    [[nodiscard]] uint64_t error_ns() const;
    // At any time: beyond the two it grows, as they may be off in opposite directions; of one
    // alone, by as much as clocks drift.
    [[nodiscard]] uint64_t error_at_ns(uint64_t own_ns) const;
    [[nodiscard]] const ClockReading& before() const { return before_; }
    [[nodiscard]] const ClockReading& after() const { return after_; }

  private:
    ClockReading before_;
    ClockReading after_;
};

}  // namespace tutti::adapt
