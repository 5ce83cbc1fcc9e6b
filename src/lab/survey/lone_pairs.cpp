// SPDX-License-Identifier: BSD-3-Clause
#include "lab/survey/lone_pairs.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tutti::survey {
namespace {

constexpr uint32_t kPairsMax = 64;
constexpr uint64_t kBytesStep = 16 << 10;
constexpr uint32_t kLengthsMax = 16;

}  // namespace

void LonePairs::begin(std::vector<uint32_t> hosts, Prng& random) {
    TUTTI_ASSERT(hosts.size() >= 2, "there is a pair");
    line_ = std::move(hosts);
    for (size_t i = line_.size(); i > 1; --i) std::swap(line_[i - 1], line_[random.below(i)]);
}

std::vector<Transfer> LonePairs::ask() const {
    TUTTI_ASSERT(!is_done(), "a pair is left");
    const auto pairs = static_cast<uint32_t>(line_.size() / 2);
    const uint32_t at = 2 * (pair_ % pairs);
    return {{line_[at], line_[at + 1]}, {line_[at + 1], line_[at]}};
}

void LonePairs::take(std::span<const double> times_ns) {
    TUTTI_ASSERT(!is_done(), "a pair was asked for");
    TUTTI_ASSERT(times_ns.size() == 2, "both ways of a pair");
    if (knows_length()) return take_speeds(times_ns);
    if (++tries_ > kLengthsMax) {
        stage_ = Stage::kFailed;
    } else if (times_ns[0] < 0 || times_ns[1] < 0) {
        ++pair_;  // another pair where one does not answer
    } else {
        take_length(std::max(times_ns[0], times_ns[1]));
    }
}

// Longer transfers, until they are long enough.
void LonePairs::take_length(double time_ns) {
    const auto transfer_ns = static_cast<double>(length_.transfer_ns);
    if (time_ns < transfer_ns && bytes_ < length_.bytes_max) {
        bytes_ = std::min(2 * bytes_, length_.bytes_max);
        return;
    }
    // No longer than they need to be: narrow links make them so.
    const double enough = static_cast<double>(bytes_) * transfer_ns / time_ns;
    const auto steps = static_cast<uint64_t>(enough / static_cast<double>(kBytesStep)) + 1;
    bytes_ = std::clamp(steps * kBytesStep, length_.bytes_min, bytes_);
    pair_ = 0;
    stage_ = Stage::kSpeed;
}

void LonePairs::take_speeds(std::span<const double> times_ns) {
    for (const double time_ns : times_ns) {
        if (time_ns >= 0) speeds_.push_back(static_cast<double>(bytes_) / time_ns);
    }
    if (++pair_ < std::min<size_t>(line_.size() / 2, kPairsMax)) return;
    stage_ = speeds_.empty() ? Stage::kFailed : Stage::kDone;
}

// Some pairs may have a narrow link between them that one transfer fills already.
double LonePairs::usual() const {
    TUTTI_ASSERT(stage_ == Stage::kDone, "speeds were measured");
    return quantile(speeds_, 0.75);
}

}  // namespace tutti::survey
