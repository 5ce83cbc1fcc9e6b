// SPDX-License-Identifier: BSD-3-Clause
#include "algo/registry.h"

#include <array>

#include "algo/algorithms.h"

namespace tutti::algo {
namespace {

std::string_view never(const Shape&) { return {}; }
std::string_view unless_commutative(const Shape& shape) {
    if (shape.is_commutative) return {};
    return "needs an operator that commutes";
}
uint64_t no_scratch(const Shape&, const Tuning&) { return 0; }

constexpr auto kAlgorithms = std::to_array<Algorithm>({
    {"dissemination", TUTTI_BARRIER, "ceil(log2 p) rounds, every rank alike", never,
     barrier_dissemination, no_scratch, 0},
    {"binomial", TUTTI_BCAST, "down a binomial tree", never, bcast_binomial, no_scratch, 0},
    {"binomial", TUTTI_REDUCE, "up a binomial tree, in the order of ranks", never, reduce_binomial,
     reduce_binomial_scratch, 0},
    {"pairwise", TUTTI_ALLREDUCE, "whole vectors between pairs, distances doubling", never,
     allreduce_pairwise, allreduce_pairwise_scratch, 0},
    {"ring", TUTTI_ALLREDUCE, "reduce-scatter and allgather on a ring: fewest bytes",
     unless_commutative, allreduce_ring, allreduce_ring_scratch, 0},
    {"direct", TUTTI_GATHER, "every rank sends to the root", never, gather_direct, no_scratch, 0},
    {"direct", TUTTI_SCATTER, "the root sends to every rank", never, scatter_direct, no_scratch, 0},
    {"ring", TUTTI_ALLGATHER, "blocks travel around a ring: neighbours only", never, allgather_ring,
     no_scratch, 0},
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
