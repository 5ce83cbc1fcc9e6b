// SPDX-License-Identifier: BSD-3-Clause
// The drawing of `tutti bench --skew ... --svg`.
#pragma once

#include <string>

#include "lab/bench/bench_report.h"

namespace tutti::bench {

// A panel for each collective and size that was measured: its synchronization delay over the most
// that ranks are late, a curve for each way of running it. A point is hollow where it is below the
// clock's error. As SVG; run.skew is there.
std::string draw_curves(const BenchRun& run);

}  // namespace tutti::bench
