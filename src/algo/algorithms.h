// SPDX-License-Identifier: BSD-3-Clause
// The makers that registry.cpp lists, and the few lines that they share. Inside algo/ only.
//
// Within a round the receives stand before the sends, since messages are posted in this order and a
// receive is ready earlier, mostly.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "algo/registry.h"

namespace tutti::algo {

// ceil(log2 p), p > 0.
constexpr uint32_t ceil_log2(uint64_t p) { return static_cast<uint32_t>(std::bit_width(p - 1)); }
// floor(log2 p), p > 0.
constexpr uint32_t floor_log2(uint64_t p) { return static_cast<uint32_t>(std::bit_width(p)) - 1; }

// Parts of a scratch area begin at cache lines.
constexpr uint64_t align_up(uint64_t bytes) { return (bytes + 63) & ~uint64_t{63}; }

// A stretch of a vector, in bytes.
struct Stretch {
    uint64_t offset = 0;
    uint64_t bytes = 0;
};

// The vector cut into p pieces of whole elements that differ by at most one element, the longer
// ones first: piece i.
constexpr Stretch piece(const Shape& shape, uint64_t i) {
    const uint64_t elements = shape.bytes / shape.element_bytes;
    const uint64_t each = elements / shape.ranks;
    const uint64_t longer = elements % shape.ranks;
    const uint64_t from = i * each + std::min(i, longer);
    const uint64_t to = from + each + (i < longer ? 1 : 0);
    // The rest behind the last element goes with the last piece, however short that is.
    const uint64_t begin = from * shape.element_bytes;
    const uint64_t end = i + 1 == shape.ranks ? shape.bytes : to * shape.element_bytes;
    return {begin, end - begin};
}

std::unique_ptr<Program> barrier_dissemination(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> barrier_gather_multicast(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> barrier_pairwise(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> barrier_tree(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> bcast_binomial(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> bcast_chain(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> bcast_multicast(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> bcast_scatter_allgather(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> reduce_binomial(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> reduce_chain(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> reduce_rotated_chain(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allreduce_pairwise(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allreduce_rabenseifner(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allreduce_ring(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allreduce_chain(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allreduce_gather_multicast(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allreduce_multicast(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> gather_direct(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> gather_binomial(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> scatter_direct(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> scatter_binomial(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allgather_ring(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allgather_recursive_doubling(const Shape&, Rank, const Tuning&);
std::unique_ptr<Program> allgather_multicast(const Shape&, Rank, const Tuning&);

uint64_t reduce_binomial_scratch(const Shape&, const Tuning&);
uint64_t reduce_chain_scratch(const Shape&, const Tuning&);
uint64_t allreduce_pairwise_scratch(const Shape&, const Tuning&);
uint64_t allreduce_rabenseifner_scratch(const Shape&, const Tuning&);
uint64_t allreduce_ring_scratch(const Shape&, const Tuning&);
uint64_t allreduce_chain_scratch(const Shape&, const Tuning&);
uint64_t allreduce_gather_multicast_scratch(const Shape&, const Tuning&);
uint64_t allreduce_multicast_scratch(const Shape&, const Tuning&);
uint64_t gather_binomial_scratch(const Shape&, const Tuning&);
uint64_t scatter_binomial_scratch(const Shape&, const Tuning&);

}  // namespace tutti::algo
