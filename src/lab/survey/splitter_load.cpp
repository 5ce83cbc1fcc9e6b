// SPDX-License-Identifier: BSD-3-Clause
// The splitter's first part: a permutation that loads every narrow link.
#include <cmath>
#include <numeric>

#include "base/assert.h"
#include "lab/survey/splitter.h"

namespace tutti::survey {
namespace {

// Fewer hosts cannot crowd a link that carries as much as a host's: that takes two on either side.
constexpr size_t kCrowdMin = 4;
constexpr uint32_t kRandomSteps = 4;
// Steps that bring nothing in a row, and all: each that brings something turns about half of the
// transfers that were left within a group.
constexpr uint32_t kFailuresMax = 5;
constexpr uint32_t kStepsMax = 40;
// Less than this is chance: the mean of a few medians of three.
constexpr double kGainMin = 0.01;

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Splitter::Splitter(std::vector<uint32_t> hosts, uint64_t seed)
    : hosts_(std::move(hosts)), random_(seed) {
    TUTTI_ASSERT(!hosts_.empty(), "some hosts");
    if (hosts_.size() < kCrowdMin) {
        phase_ = Phase::kDone;
        return;
    }
    randomize();
}

void Splitter::shuffle(std::vector<uint32_t>& list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random_.below(i)]);
}

std::vector<uint32_t> Splitter::senders() const {
    std::vector<uint32_t> from(count());
    for (uint32_t place = 0; place < count(); ++place) from[to_[place]] = place;
    return from;
}

uint32_t Splitter::trials() const {
    switch (phase_) {
        case Phase::kConfirm:
            return 5;
        case Phase::kRandom:  // only where to begin
        case Phase::kAsk:     // each question is asked again among others
        case Phase::kCompare:
            return 1;
        default:
            return 3;
    }
}

std::vector<Transfer> Splitter::ask() {
    TUTTI_ASSERT(!is_done(), "something is to be asked");
    std::vector<Transfer> transfers;
    for (uint32_t place = 0; place < count(); ++place) {
        if (to_[place] != place) transfers.push_back({hosts_[place], hosts_[to_[place]]});
    }
    return transfers;
}

void Splitter::take(std::span<const double> speeds, double spread) {
    spread_ = spread;
    size_t next = 0;
    for (uint32_t place = 0; place < count(); ++place) {
        // One who idles loads nothing, like a transfer that did not come.
        speeds_[place] = to_[place] != place ? speeds[next++] : kNoSpeed;
    }
    TUTTI_ASSERT(next == speeds.size(), "as many as were asked for");
    if (phase_ == Phase::kAsk || phase_ == Phase::kCompare) {
        take_answers();
    } else if (phase_ == Phase::kConfirm) {
        confirm();
    } else {
        take_load();
    }
}

// One cycle through all (Sattolo 1986), so that nobody sends to itself.
void Splitter::randomize() {
    std::vector<uint32_t> order(count());
    std::iota(order.begin(), order.end(), 0u);
    shuffle(order);
    to_.resize(count());
    for (uint32_t i = 0; i < count(); ++i) to_[order[i]] = order[(i + 1) % count()];
    speeds_.assign(count(), 1);
}

void Splitter::take_load() {
    std::vector<double> speeds = speeds_;
    for (double& speed : speeds) speed = speed < 0 ? 1 : std::min(speed, 1.0);
    const double now = mean(speeds);
    const bool is_better = now < best_mean_ - kGainMin;
    if (is_better) {
        best_mean_ = now;
        best_to_ = to_;
        best_speeds_ = speeds;
    }
    ++steps_;
    if (phase_ == Phase::kRandom) {
        if (steps_ < kRandomSteps) return randomize();
        phase_ = Phase::kClimb;
    } else {
        failures_ = is_better ? 0 : failures_ + 1;
    }
    if (failures_ < kFailuresMax && steps_ < kStepsMax && propose()) return;
    to_ = best_to_;
    phase_ = Phase::kConfirm;
}

// Those that got most change receivers among each other; false where all got little.
bool Splitter::propose() {
    to_ = best_to_;
    std::vector<uint32_t> order(count());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return best_speeds_[a] > best_speeds_[b]; });
    const double low = quantile(best_speeds_, 0.1);
    size_t changing = count() / 2;
    if (low < kSlow) {
        const double bound = std::sqrt(low);
        changing = static_cast<size_t>(std::count_if(best_speeds_.begin(), best_speeds_.end(),
                                                     [&](double speed) { return speed > bound; }));
    }
    if (changing == 0) return false;
    changing = std::max<size_t>(changing, 2);
    order.resize(changing);
    shuffle(order);
    const uint32_t first = to_[order.front()];
    for (size_t i = 0; i + 1 < changing; ++i) to_[order[i]] = to_[order[i + 1]];
    to_[order.back()] = first;
    return true;
}

// Measured once more, by itself: the slowest of several is slow by chance, too.
void Splitter::confirm() {
    best_speeds_ = speeds_;
    std::vector<double> slow;
    for (const double speed : speeds_) {
        if (speed >= 0 && speed < kSlow) slow.push_back(speed);
    }
    // One alone shares its link with nobody.
    if (slow.size() < 2) {
        phase_ = Phase::kDone;
        return;
    }
    least_ = quantile(slow, 0.1);
    begin_asking();
}

}  // namespace tutti::survey
