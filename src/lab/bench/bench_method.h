// SPDX-License-Identifier: BSD-3-Clause
// How `tutti bench` measures: what its options mean, and in which bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "run/adapt/skew.h"

namespace tutti::bench {

inline constexpr uint64_t kBenchBytesMax = 1ull << 30;
inline constexpr uint64_t kBenchBatchesMin = 5;

// The method of Patarasuk, Yuan 2007, section 4 and figure 4: runs of so many calls, a barrier
// after each.
inline constexpr uint64_t kPaperRuns = 32;
inline constexpr uint64_t kPaperLongBytes = uint64_t{64} << 10;
constexpr uint64_t paper_calls(uint64_t bytes) { return bytes < kPaperLongBytes ? 20 : 10; }

// A rank that enters every call late.
struct LateRank {
    uint32_t rank = 0;
    double milliseconds = 0;
};

// How late ranks come to a call, by --skew.
struct SkewOptions {
    adapt::Skew skew = adapt::Skew::kNone;
    std::vector<uint64_t> most_ns;  // ascending; one after the other, each for all calls
    std::shared_ptr<const adapt::RecordedDelays> recorded = nullptr;

    // Why a job of so many ranks cannot have it; or empty.
    [[nodiscard]] std::string obstacle(uint32_t ranks) const;
};

}  // namespace tutti::bench
