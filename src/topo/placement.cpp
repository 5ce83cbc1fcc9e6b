// SPDX-License-Identifier: BSD-3-Clause
#include "topo/placement.h"

#include <algorithm>
#include <unordered_map>

#include "base/assert.h"

namespace tutti::topo {

Placement::Placement(std::span<const uint64_t> node_of_rank) {
    const auto count = static_cast<uint32_t>(node_of_rank.size());
    std::unordered_map<uint64_t, uint32_t> numbers;
    node_of_.reserve(count);
    index_.resize(count);
    std::vector<uint32_t> sizes;
    for (uint32_t rank = 0; rank < count; ++rank) {
        const auto next = static_cast<uint32_t>(sizes.size());
        const auto [at, is_new] = numbers.try_emplace(node_of_rank[rank], next);
        if (is_new) sizes.push_back(0);
        node_of_.push_back(at->second);
        index_[rank] = sizes[at->second]++;
        // A node that goes on after another one began is torn apart.
        if (rank > 0 && !is_new && node_of_[rank - 1] != at->second) is_contiguous_ = false;
    }
    first_.assign(1, 0);
    for (const uint32_t size : sizes) first_.push_back(first_.back() + size);
    members_.resize(count);
    for (uint32_t rank = 0; rank < count; ++rank) {
        members_[first_[node_of_[rank]] + index_[rank]] = rank;
    }
    if (sizes.empty()) return;
    members_max_ = *std::max_element(sizes.begin(), sizes.end());
    members_min_ = *std::min_element(sizes.begin(), sizes.end());
}

Placement Placement::blocks(uint32_t ranks, uint32_t nodes) {
    TUTTI_ASSERT(nodes > 0 && nodes <= ranks, "1 to `ranks` nodes");
    std::vector<uint64_t> node_of(ranks);
    const uint32_t size = ranks / nodes;
    const uint32_t larger = ranks % nodes;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const uint32_t border = larger * (size + 1);
        node_of[rank] = rank < border ? rank / (size + 1) : larger + (rank - border) / size;
    }
    return Placement(node_of);
}

Placement Placement::round_robin(uint32_t ranks, uint32_t nodes) {
    TUTTI_ASSERT(nodes > 0 && nodes <= ranks, "1 to `ranks` nodes");
    std::vector<uint64_t> node_of(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) node_of[rank] = rank % nodes;
    return Placement(node_of);
}

}  // namespace tutti::topo
