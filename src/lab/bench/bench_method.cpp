// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_method.h"

#include <fmt/format.h>

namespace tutti::bench {

std::string SkewOptions::obstacle(uint32_t ranks) const {
    if (!recorded || (*recorded)[0].size() == ranks) return {};
    return fmt::format("--skew report: arrivals of {} ranks were recorded, and there are {}",
                       (*recorded)[0].size(), ranks);
}

}  // namespace tutti::bench
