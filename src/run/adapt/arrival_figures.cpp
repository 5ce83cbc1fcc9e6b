// SPDX-License-Identifier: BSD-3-Clause
#include "run/adapt/arrival_figures.h"

#include <algorithm>

namespace tutti::adapt {
namespace {

uint64_t between(int64_t from_ns, int64_t to_ns) {
    return to_ns > from_ns ? static_cast<uint64_t>(to_ns - from_ns) : 0;
}

}  // namespace

void CallArrivals::add(const CallArrivals& other) {
    if (other.ranks == 0) return;
    const bool is_later = other.last_ns > last_ns;
    if (is_later || (other.last_ns == last_ns && other.last_rank < last_rank)) {
        last_rank = other.last_rank;
    }
    first_ns = std::min(first_ns, other.first_ns);
    last_ns = std::max(last_ns, other.last_ns);
    left_ns = std::max(left_ns, other.left_ns);
    sum_ns += other.sum_ns;
    ranks += other.ranks;
}

uint64_t CallArrivals::spread_ns() const { return between(first_ns, last_ns); }
uint64_t CallArrivals::delay_ns() const { return between(last_ns, left_ns); }

void ArrivalBlock::add(const ArrivalBlock& other) {
    elapsed_ns = std::max(elapsed_ns, other.elapsed_ns);
    reading_ns = std::max(reading_ns, other.reading_ns);
    error_ns = std::max(error_ns, other.error_ns);
    for (uint32_t i = 0; i < kCallsMax; ++i) calls[i].add(other.calls[i]);
    wish.add(other.wish);
    timed.add(other.timed);
    wish_calls = std::max(wish_calls, other.wish_calls);
}

void ArrivalBlock::Alike::add(const Alike& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
}

void LastOnes::add(uint32_t rank) {
    Place* rarest = places_.data();
    for (Place& place : places_) {
        if (place.counted > 0 && place.rank == rank) {
            ++place.counted;
            return;
        }
        if (place.counted < rarest->counted) rarest = &place;
    }
    rarest->excess = rarest->counted;
    ++rarest->counted;
    rarest->rank = rank;
}

std::array<LastOnes::Place, LastOnes::kPlaces> LastOnes::places() const {
    auto sorted = places_;
    std::ranges::stable_sort(sorted, [](const Place& a, const Place& b) {
        return a.at_least() != b.at_least() ? a.at_least() > b.at_least() : a.counted > b.counted;
    });
    return sorted;
}

void ArrivalFigures::add(const CallArrivals& call, int64_t own_ns, bool all_wait) {
    if (call.ranks == 0) return;
    recent_late_ns[samples % kRecentMax] = between(call.first_ns, own_ns);
    ++samples;
    const uint64_t spread = call.spread_ns();
    spread_ns += spread;
    spread_ns_max = std::max(spread_ns_max, spread);
    last_ones.add(call.last_rank);
    if (call.left_ns != INT64_MIN) {
        const uint64_t delay = call.delay_ns();
        ++delay_samples;
        delay_ns += delay;
        delay_ns_max = std::max(delay_ns_max, delay);
    }
    if (!all_wait) return;
    // Both wrap around, and their difference does not.
    waited_ns += call.ranks * static_cast<uint64_t>(call.last_ns) - call.sum_ns;
    own_waited_ns += between(own_ns, call.last_ns);
}

}  // namespace tutti::adapt
