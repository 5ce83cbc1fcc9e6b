// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/trials.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::survey {

void Trials::begin(uint32_t count) {
    TUTTI_ASSERT(count > 0, "an experiment is made");
    count_ = count;
    times_ns_.clear();
}

void Trials::take(std::span<const uint64_t> times_ns) {
    TUTTI_ASSERT(!is_complete(), "a trial is left");
    TUTTI_ASSERT(times_ns_.empty() || times_ns.size() == times_ns_.front().size(),
                 "all trials have the same transfers");
    times_ns_.emplace_back(times_ns.begin(), times_ns.end());
}

std::vector<double> Trials::medians_ns() const {
    TUTTI_ASSERT(!times_ns_.empty(), "a trial was made");
    std::vector<double> medians_ns;
    for (size_t i = 0; i < times_ns_.front().size(); ++i) {
        std::vector<double> times;
        for (const auto& trial : times_ns_) {
            if (trial[i] == kMissingNs) continue;
            times.push_back(static_cast<double>(std::max(trial[i], uint64_t{1})));
        }
        medians_ns.push_back(2 * times.size() < count_ + 1 ? kNoSpeed : median(std::move(times)));
    }
    return medians_ns;
}

void Trials::count_spread() {
    TUTTI_ASSERT(!times_ns_.empty(), "a trial was made");
    std::vector<double> ratios;
    for (size_t i = 0; i < times_ns_.front().size(); ++i) {
        uint64_t least = kMissingNs;
        uint64_t most = 0;
        for (const auto& trial : times_ns_) {
            if (trial[i] == kMissingNs) continue;
            least = std::min(least, std::max(trial[i], uint64_t{1}));
            most = std::max(most, trial[i]);
        }
        if (most > 0) ratios.push_back(static_cast<double>(most) / static_cast<double>(least));
    }
    if (!ratios.empty()) spreads_.push_back(median(std::move(ratios)));
}

}  // namespace tutti::survey
