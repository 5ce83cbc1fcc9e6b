// SPDX-License-Identifier: BSD-3-Clause
// The first stage of a survey: round trips between all pairs, twice.
//
// A pass is a tournament (the circle method): in each round each host meets one other, and after
// the last round it has met all. Among too many hosts a pass has few rounds, and makes no groups.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lab/survey/latency_groups.h"
#include "lab/survey/lost_hosts.h"
#include "lab/survey/sets.h"

namespace tutti::survey {

class TripRounds {
  public:
    TripRounds(uint32_t hosts, uint32_t complete_hosts_max);
    // The pairs of the next round that has any, without lost hosts; none: it is done.
    std::vector<Transfer> ask(const LostHosts& lost);
    // By pair of that round: its time, or kNoSpeed.
    void take(std::span<const Transfer> pairs, std::span<const double> times_ns);

    // Most of the host's round trips did not come.
    [[nodiscard]] bool is_silent(uint32_t host) const { return 2 * answered_[host] < met_[host]; }
    // Those of the first pass.
    [[nodiscard]] std::span<const RoundTrip> trips() const { return trips_[0]; }
    // As latency_groups() has them; none where not all pairs were to meet.
    [[nodiscard]] std::vector<Partition> groups() const;

  private:
    static constexpr uint32_t kPasses = 2;

    [[nodiscard]] bool is_done() const;
    [[nodiscard]] std::vector<uint64_t> square(uint32_t pass) const;

    const uint32_t hosts_;
    const bool is_complete_;
    const uint32_t rounds_;  // of a pass
    uint32_t round_ = 0;     // of all passes
    std::array<std::vector<RoundTrip>, kPasses> trips_;
    std::vector<uint32_t> met_;       // by host: in so many round trips it took part,
    std::vector<uint32_t> answered_;  // and of so many the times came
    uint32_t silent_in_a_row_ = 0;    // rounds in which no time came
};

}  // namespace tutti::survey
