// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/trip_rounds.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::survey {
namespace {

// Of a pass among too many hosts, so that rates have latencies beside them.
constexpr uint32_t kFewRounds = 8;
// When no time at all came in so many rounds, that is enough of them.
constexpr uint32_t kSilentMax = kMissingMax;

// Round `round` of a tournament of an even number: everyone meets everyone else once in number - 1
// rounds. The last stays, the others go round.
Transfer match(uint32_t number, uint32_t round, uint32_t pair) {
    const uint32_t others = number - 1;
    if (pair == 0) return {round, others};
    return {(round + pair) % others, (round + others - pair) % others};
}

uint32_t rounds_of(uint32_t hosts, bool is_complete) {
    const uint32_t all = hosts + hosts % 2 - 1;
    return is_complete ? all : std::min(kFewRounds, all);
}

}  // namespace

TripRounds::TripRounds(uint32_t hosts, uint32_t complete_hosts_max)
    : hosts_(hosts),
      is_complete_(hosts <= complete_hosts_max),
      rounds_(rounds_of(hosts, is_complete_)),
      met_(hosts),
      answered_(hosts) {}

bool TripRounds::is_done() const {
    return round_ == kPasses * rounds_ || silent_in_a_row_ == kSilentMax;
}

std::vector<Transfer> TripRounds::ask(const LostHosts& lost) {
    const uint32_t number = hosts_ + hosts_ % 2;
    std::vector<Transfer> pairs;
    for (; !is_done(); ++round_) {
        for (uint32_t pair = 0; pair < number / 2; ++pair) {
            const Transfer who = match(number, round_ % rounds_, pair);
            if (who.from >= hosts_ || who.to >= hosts_) continue;
            if (!lost.is_lost(who.from) && !lost.is_lost(who.to)) pairs.push_back(who);
        }
        if (!pairs.empty()) break;
    }
    return pairs;
}

void TripRounds::take(std::span<const Transfer> pairs, std::span<const double> times_ns) {
    TUTTI_ASSERT(!is_done(), "a round was asked for");
    TUTTI_ASSERT(pairs.size() == times_ns.size(), "one by pair");
    std::vector<RoundTrip>& trips = trips_[round_ / rounds_];
    const size_t known = trips.size();
    for (size_t i = 0; i < pairs.size(); ++i) {
        const bool came = times_ns[i] >= 0;
        for (const uint32_t host : {pairs[i].from, pairs[i].to}) {
            ++met_[host];
            answered_[host] += came ? 1 : 0;
        }
        if (came) trips.push_back({pairs[i], static_cast<uint64_t>(times_ns[i])});
    }
    silent_in_a_row_ = trips.size() == known ? silent_in_a_row_ + 1 : 0;
    ++round_;
}

// By pair, as latency_groups() wants them.
std::vector<uint64_t> TripRounds::square(uint32_t pass) const {
    std::vector<uint64_t> times_ns(uint64_t{hosts_} * hosts_, kMissingNs);
    for (const auto& [who, time_ns] : trips_[pass]) {
        times_ns[uint64_t{who.from} * hosts_ + who.to] = time_ns;
    }
    return times_ns;
}

std::vector<Partition> TripRounds::groups() const {
    if (!is_complete_) return {};
    return latency_groups(hosts_, square(0), square(1));
}

}  // namespace tutti::survey
