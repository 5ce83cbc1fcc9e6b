// SPDX-License-Identifier: BSD-3-Clause
// How late ranks come to a call, by --skew.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/adapt/skew.h"

namespace tutti::cli {

struct SkewOptions {
    adapt::Skew skew = adapt::Skew::kNone;
    std::vector<uint64_t> most_ns;  // ascending; one after the other, each for all calls
    std::shared_ptr<const adapt::RecordedDelays> recorded = nullptr;

    // Why a job of so many ranks cannot have it; or empty.
    [[nodiscard]] std::string obstacle(uint32_t ranks) const;
};
// Of a report's text: how late ranks of the world came to the calls that it has recorded.
Result<adapt::RecordedDelays> parse_recorded(std::string_view text);
// "DISTRIBUTION:MAX,MAX,...", "none", or "report:FILE" of a report's JSON, which is read.
Result<SkewOptions> parse_skew(std::string_view text);

}  // namespace tutti::cli
