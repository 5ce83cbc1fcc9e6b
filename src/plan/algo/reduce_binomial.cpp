// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/reduce_binomial.h"

namespace tutti::algo {

Algorithm reduce_binomial() {
    return {.name = ReduceBinomial::kName,
            .collective = TUTTI_REDUCE,
            .summary = "whole vectors up a binomial tree, in the order of ranks",
            .make = make<ReduceBinomial>,
            .scratch_bytes = reduce_binomial_scratch,
            .has_fan_in = true,
            .has_levels = true};
}

}  // namespace tutti::algo
