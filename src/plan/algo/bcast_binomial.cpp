// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/bcast_binomial.h"

namespace tutti::algo {

Algorithm bcast_binomial() {
    return {.name = BcastBinomial::kName,
            .collective = TUTTI_BCAST,
            .summary = "whole vectors down a binomial tree",
            .make = make<BcastBinomial>,
            .has_fan_in = true,
            .has_levels = true};
}

}  // namespace tutti::algo
