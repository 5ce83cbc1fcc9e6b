// SPDX-License-Identifier: BSD-3-Clause
// Statistics of arrivals in a team's calls, from samples: how far apart the ranks come, which come
// last, and how long the others wait. No I/O: times are passed in. Ranks exchange one value by a
// reduction, so that none holds more than its own part of it. docs/protocol/arrival.md, "Arrival
// statistics".
#pragma once

#include <array>
#include <cstdint>

namespace tutti::adapt {

// One call in kSampleStride is sampled, in the mean: those whose number, times about 2^32 over the
// golden ratio, is below a 64th of 2^32 modulo that. So they are spread evenly (D. Knuth, The Art
// of Computer Programming 3, section 6.4): 34, 55 or 89 calls apart. A loop of several calls has
// its turn with each of them, where every 64th would always be the same.
inline constexpr uint32_t kSampleStride = 64;
constexpr bool is_sampled(uint64_t call) {
    return static_cast<uint32_t>(call) * 0x9e3779b1u < UINT32_MAX / kSampleStride;
}

// What some ranks say of one call, by their common clock.
struct CallArrivals {
    int64_t first_ns = INT64_MAX;  // arrival
    int64_t last_ns = INT64_MIN;
    int64_t left_ns = INT64_MIN;  // the last exit; INT64_MIN: not known
    uint64_t sum_ns = 0;          // of their arrivals, modulo 2^64
    uint32_t last_rank = 0;       // who came at last_ns; of several the lowest
    uint32_t ranks = 0;

    void add(const CallArrivals& other);
    // Clocks are off by their error, and what seems to be less than nothing is nothing.
    [[nodiscard]] uint64_t spread_ns() const;
    [[nodiscard]] uint64_t delay_ns() const;  // where the last exit is known
};

// What is reduced: the calls that have been sampled since the last time, the oldest first. `add` is
// associative and commutative. Plain data of one size.
struct ArrivalBlock {
    static constexpr uint32_t kCallsMax = 24;
    // The most of any rank, as all that are not calls.
    uint64_t elapsed_ns = 0;  // since clocks were read
    uint64_t reading_ns = 0;  // what that took
    uint64_t error_ns = 0;    // of its time
    std::array<CallArrivals, kCallsMax> calls;
    // What each would have the members do next, two numbers that it is to be the same of all, and
    // the most of a third (run/engine/arrivals.h).
    struct Alike {
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;
        void set(uint64_t value) { least = most = value; }
        [[nodiscard]] bool is_alike() const { return least == most; }
        void add(const Alike& other);
    };
    Alike wish;
    Alike timed;
    uint64_t wish_calls = 0;

    void add(const ArrivalBlock& other);
};

// The ranks that were last, and how often: the most frequent in few places, after A. Metwally, D.
// Agrawal, A. El Abbadi, Efficient computation of frequent and top-k elements in data streams,
// 2005: a rank without a place gets that of the rarest, and its count may be too high by that
// one's.
class LastOnes {
  public:
    static constexpr uint32_t kPlaces = 8;
    struct Place {
        uint32_t rank = 0;
        uint64_t counted = 0;
        uint64_t excess = 0;  // so much of it may be others'
        [[nodiscard]] uint64_t at_least() const { return counted - excess; }
    };
    void add(uint32_t rank);
    // The ranks that were last most often first; free places at the end.
    [[nodiscard]] std::array<Place, kPlaces> places() const;

  private:
    std::array<Place, kPlaces> places_;
};

// Of one collective of a team.
struct ArrivalFigures {
    uint64_t samples = 0;
    uint64_t spread_ns = 0;  // last less first arrival, over all samples
    uint64_t spread_ns_max = 0;
    uint64_t delay_samples = 0;  // of which the last exit is known
    uint64_t delay_ns = 0;       // last exit less last arrival: the synchronization delay
    uint64_t delay_ns_max = 0;
    uint64_t waited_ns = 0;      // for the last one, by all ranks together
    uint64_t own_waited_ns = 0;  // by this one
    LastOnes last_ones;
    // How long after the first this rank came, in the samples since; sample i at i modulo their
    // number.
    static constexpr uint32_t kRecentMax = 16;
    std::array<uint64_t, kRecentMax> recent_late_ns{};

    // own_ns: this rank's arrival. all_wait: nobody leaves before all have come.
    void add(const CallArrivals& call, int64_t own_ns, bool all_wait);
};

}  // namespace tutti::adapt
