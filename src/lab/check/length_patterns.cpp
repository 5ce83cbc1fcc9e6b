// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/length_patterns.h"

#include <algorithm>
#include <vector>

namespace tutti::check {

sched::OwnLengths lengths_of(LengthPattern pattern, uint32_t ranks, uint64_t longest,
                             uint64_t element_bytes) {
    if (pattern == LengthPattern::kEqual || longest == 0) return {};
    const uint64_t elements = longest / element_bytes;
    std::vector<uint64_t> lengths;
    for (uint32_t i = 0; i < ranks; ++i) {
        // Rank 0 has the longest one, rank 1 none.
        uint64_t own = elements * ((i * uint64_t{5} + 3) % 4) / 3;
        if (pattern == LengthPattern::kOneLong) {
            own = i == ranks / 2 ? elements : std::min<uint64_t>(i % 3, 1);
        }
        lengths.push_back(own * element_bytes);
    }
    return sched::OwnLengths(lengths);
}

}  // namespace tutti::check
