// SPDX-License-Identifier: BSD-3-Clause
// The option --skew.
#pragma once

#include <string_view>

#include "base/result.h"
#include "lab/bench/bench_method.h"
#include "run/adapt/skew.h"

namespace tutti::cli {

// Of a report's text: how late ranks of the world came to the calls that it has recorded.
Result<adapt::RecordedDelays> parse_recorded(std::string_view text);
// "DISTRIBUTION:MAX,MAX,...", "none", or "report:FILE" of a report's JSON, which is read.
Result<bench::SkewOptions> parse_skew(std::string_view text);

}  // namespace tutti::cli
