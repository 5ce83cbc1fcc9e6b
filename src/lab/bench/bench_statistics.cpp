// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_statistics.h"

#include <array>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace tutti::bench {

double student_t_975(size_t degrees) {
    TUTTI_ASSERT(degrees > 0, "one sample has no spread");
    // Below ten the expansion is wrong in the third decimal.
    constexpr auto kFew =
        std::to_array({12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622});
    if (degrees <= kFew.size()) return kFew[degrees - 1];
    // Cornish and Fisher's expansion around the normal distribution's quantile z: Abramowitz and
    // Stegun, Handbook of Mathematical Functions, 26.7.5.
    constexpr double z = 1.959964;
    constexpr double z2 = z * z;
    const auto n = static_cast<double>(degrees);
    return z + z * (z2 + 1) / (4 * n) + z * ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
           z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n);
}

Estimate estimate(std::span<const double> samples) {
    TUTTI_ASSERT(!samples.empty(), "a mean is one of something");
    const auto count = static_cast<double>(samples.size());
    const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
    if (samples.size() == 1) return {mean, 0};
    double squares = 0;
    for (const double sample : samples) squares += (sample - mean) * (sample - mean);
    const double deviation = std::sqrt(squares / (count - 1));
    return {mean, student_t_975(samples.size() - 1) * deviation / std::sqrt(count)};
}

}  // namespace tutti::bench
