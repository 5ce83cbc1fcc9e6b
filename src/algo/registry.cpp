// SPDX-License-Identifier: BSD-3-Clause
#include "algo/registry.h"

#include <array>

#include "algo/algorithms.h"

namespace tutti::algo {
namespace {

std::string_view never(const Shape&) { return {}; }
uint64_t no_scratch(const Shape&, const Tuning&) { return 0; }

constexpr auto kAlgorithms = std::to_array<Algorithm>({
    {"dissemination", TUTTI_BARRIER, "ceil(log2 p) rounds, every rank alike", never,
     barrier_dissemination, no_scratch, 0},
});

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

const Algorithm* find(tutti_collective collective, std::string_view name) {
    for (const Algorithm& one : kAlgorithms) {
        if (one.collective == collective && one.name == name) return &one;
    }
    return nullptr;
}

}  // namespace tutti::algo
