// SPDX-License-Identifier: BSD-3-Clause
// What `tutti bench --paper` says of its runs: their mean, and how far it may be off.
#pragma once

#include <cstddef>
#include <span>

namespace tutti::bench {

struct Estimate {
    double mean = 0;
    double half_width = 0;  // the 95 % confidence interval is mean -+ this; 0 of one sample
};

// The samples are taken to be independent and of one normal distribution. At least one.
Estimate estimate(std::span<const double> samples);

// The 97.5 % quantile of Student's t distribution, to three decimals; degrees > 0.
double student_t_975(size_t degrees);

}  // namespace tutti::bench
