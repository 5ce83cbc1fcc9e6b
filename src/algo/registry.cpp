// SPDX-License-Identifier: BSD-3-Clause
#include "algo/registry.h"

#include "algo/algorithms.h"

namespace tutti::algo {

const Algorithm* find(tutti_collective collective, std::string_view name) {
    for (const Algorithm& one : algorithms()) {
        if (one.collective == collective && one.name == name) return &one;
    }
    return nullptr;
}

std::string_view unless_commutative(const Shape& shape) {
    if (shape.is_commutative) return {};
    return "needs an operator that commutes";
}

std::string_view unless_multicast(const Shape& shape) {
    if (shape.has_multicast) return {};
    return "needs a multicast route, which this team has not";
}

std::string_view unless_one_multicast(const Shape& shape) {
    if (auto why = unless_multicast(shape); !why.empty()) return why;
    return shape.bytes > sched::kMulticastBytesMax ? kTooLongForMulticast : std::string_view();
}

std::string_view if_block_too_long(const Shape& shape) {
    const uint64_t blocks = shape.nodes ? shape.nodes->members_max() : 1;
    return shape.bytes > sched::kBlockBytesMax / blocks ? kTooLong : std::string_view();
}

}  // namespace tutti::algo
