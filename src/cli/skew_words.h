// SPDX-License-Identifier: BSD-3-Clause
// How late ranks come to a call, as --skew tells it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "adapt/skew.h"
#include "base/result.h"

namespace tutti::cli {

struct SkewOptions {
    adapt::Skew skew = adapt::Skew::kNone;
    std::vector<uint64_t> most_ns;  // ascending; one after the other, each for all calls
};
// "DISTRIBUTION:MAX,MAX,...", or "none".
Result<SkewOptions> parse_skew(std::string_view text);

}  // namespace tutti::cli
