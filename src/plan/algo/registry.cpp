// SPDX-License-Identifier: BSD-3-Clause
#include "plan/algo/registry.h"

#include <algorithm>
#include <utility>

#include "plan/algo/algorithms.h"

namespace tutti::algo {

std::string_view name_here(std::string_view name) {
    // Kini 2003, sections 4.1 and 5.2; a name means the same of every collective that has it.
    static constexpr std::pair<std::string_view, std::string_view> kOfPapers[] = {
        {"rpe", "pairwise"}, {"rds", "dissemination"}, {"rgm", "gather_multicast"}};
    for (const auto& [theirs, ours] : kOfPapers) {
        if (name == theirs) return ours;
    }
    return name;
}

const Algorithm* find(tutti_collective collective, std::string_view name) {
    for (const Algorithm& one : algorithms()) {
        if (one.collective == collective && one.name == name) return &one;
    }
    return nullptr;
}

const Algorithm& left_fold(tutti_collective collective) {
    const auto all = algorithms();
    const auto found = std::ranges::find_if(all, [&](const Algorithm& one) {
        return one.collective == collective && one.folds_from_left;
    });
    TUTTI_ASSERT(found != all.end(), "every reduction has one");
    return *found;
}

uint64_t doubling_steps(const Shape& shape, const Tuning&) { return ceil_log2(shape.ranks); }
uint64_t pair_steps(const Shape& shape, const Tuning&) {
    return floor_log2(shape.ranks) + (std::has_single_bit(shape.ranks) ? 0 : 2);
}
uint64_t passing_steps(const Shape& shape, const Tuning&) { return shape.ranks - uint64_t{1}; }

std::string_view unless_commutative(const Shape& shape) {
    if (shape.is_commutative) return {};
    return "needs an operator that commutes";
}

std::string_view unless_multicast(const Shape& shape) {
    if (shape.has_multicast) return {};
    return "needs hardware multicast, and there is none";
}

std::string_view unless_met_by_multicast(const Shape& shape) {
    if (auto why = unless_multicast(shape); !why.empty()) return why;
    if (shape.gives_back) return {};
    return "needs receives that can be cancelled; this embedder has none";
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
