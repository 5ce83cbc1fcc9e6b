// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/arrivals.h"

#include <algorithm>

namespace tutti::engine {
void Arrivals::add(const Sample& sample) {
    const uint32_t ordinary = sampled_ - timed_;
    if (is_off_) return;
    if (sample.is_timed ? timed_ == timed_max_ : ordinary == samples_max()) return;
    if (sample.is_timed) ++timed_;
    samples_[sampled_++] = sample;
    if (sample.left_ns == 0) exit_awaited_ = calls_;
    const bool are_enough = !sample.is_timed && ordinary + 1 == wanted_;
    if (are_enough && !times_calls()) compares_at_ = calls_ + 1;
}

void Arrivals::host_left(uint64_t left_ns) {
    samples_[sampled_ - 1].left_ns = left_ns;
    exit_awaited_ = UINT64_MAX;
}

void Arrivals::take_reading(const adapt::ClockReading& reading, uint64_t took_ns) {
    clock_ = readings_ == 0 ? adapt::ClockLine(reading, reading)
                            : adapt::ClockLine(clock_.after(), reading);
    ++readings_;
    reading_ns_ = took_ns;
    is_reading_due_ = false;
}

adapt::ArrivalBlock& Arrivals::block_of_own(uint64_t now_ns) {
    block_ = {};
    block_.elapsed_ns = now_ns - clock_.after().at_ns;
    block_.reading_ns = reading_ns_;
    for (uint32_t i = 0; i < sampled_; ++i) {
        const Sample& sample = samples_[i];
        const auto common = [&](uint64_t own_ns) { return clock_.since_ns(own_ns, 0); };
        adapt::CallArrivals& call = block_.calls[i];
        call.first_ns = call.last_ns = common(sample.arrived_ns);
        if (sample.left_ns != 0) call.left_ns = common(sample.left_ns);
        call.sum_ns = static_cast<uint64_t>(call.last_ns);
        call.last_rank = rank_;
        call.ranks = 1;
        if (!across_) continue;
        block_.error_ns = std::max(block_.error_ns, clock_.error_at_ns(sample.arrived_ns));
    }
    return block_;
}

void Arrivals::compared() {
    for (uint32_t i = 0; i < sampled_; ++i) {
        const Sample& sample = samples_[i];
        if (sample.is_timed) continue;
        figures_[sample.collective].add(block_.calls[i], clock_.since_ns(sample.arrived_ns, 0),
                                        awaits_all(sample.collective));
    }
    const bool are_enough = sampled_ - timed_ == wanted_;
    compared_ += sampled_ - timed_;
    error_ns_ = std::max(error_ns_, block_.error_ns);
    sampled_ = timed_ = 0;
    exit_awaited_ = compares_at_ = UINT64_MAX;
    if (are_enough) wanted_ = std::min(2 * wanted_, samples_max());
    is_reading_due_ = block_.elapsed_ns / kReadingShare >= block_.reading_ns;
}

bool Arrivals::has_stragglers(tutti_collective collective) const {
    const adapt::ArrivalFigures& figures = figures_[collective];
    if (figures.delay_samples == 0) return false;
    return figures.spread_ns / figures.samples > figures.delay_ns / figures.delay_samples;
}

}  // namespace tutti::engine
