// SPDX-License-Identifier: BSD-3-Clause
#include "base/topo/placement.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "base/prng.h"

namespace tutti::topo {

Placement::Placement(std::span<const uint64_t> node_of_rank) {
    const auto count = static_cast<uint32_t>(node_of_rank.size());
    std::unordered_map<uint64_t, uint32_t> numbers;
    node_of_.reserve(count);
    std::vector<uint32_t> sizes;
    for (uint32_t rank = 0; rank < count; ++rank) {
        const auto next = static_cast<uint32_t>(sizes.size());
        const auto [at, is_new] = numbers.try_emplace(node_of_rank[rank], next);
        if (is_new) sizes.push_back(0);
        node_of_.push_back(at->second);
        ++sizes[at->second];
    }
    number_members(sizes);
}

Placement::Placement(const Placement& other, std::span<const uint32_t> order) {
    std::vector<uint32_t> number_of(order.size());
    std::vector<uint32_t> sizes;
    for (uint32_t node = 0; node < order.size(); ++node) {
        number_of[order[node]] = node;
        sizes.push_back(static_cast<uint32_t>(other.members(order[node]).size()));
    }
    node_of_.reserve(other.ranks());
    for (const uint32_t node : other.node_of_) node_of_.push_back(number_of[node]);
    number_members(sizes);
}

// sizes: of the nodes. The rest follows from them and node_of_.
void Placement::number_members(const std::vector<uint32_t>& sizes) {
    first_.assign(1, 0);
    for (const uint32_t size : sizes) first_.push_back(first_.back() + size);
    index_.resize(node_of_.size());
    members_.resize(node_of_.size());
    std::vector<uint32_t> met(sizes.size());
    for (uint32_t rank = 0; rank < ranks(); ++rank) {
        const uint32_t node = node_of_[rank];
        index_[rank] = met[node]++;
        members_[first_[node] + index_[rank]] = rank;
    }
    is_contiguous_ = std::is_sorted(members_.begin(), members_.end());
    for (uint32_t node = 0; node < sizes.size(); ++node) {
        has_whole_nodes_ &= members(node).back() - members(node).front() + 1 == sizes[node];
    }
    if (sizes.empty()) return;
    members_max_ = *std::max_element(sizes.begin(), sizes.end());
    members_min_ = *std::min_element(sizes.begin(), sizes.end());
}

std::vector<uint64_t> hosts_in_blocks(uint32_t ranks, uint32_t hosts) {
    TUTTI_ASSERT(hosts > 0 && hosts <= ranks, "1 to `ranks` hosts");
    std::vector<uint64_t> host_of(ranks);
    const uint32_t size = ranks / hosts;
    const uint32_t larger = ranks % hosts;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        const uint32_t border = larger * (size + 1);
        host_of[rank] = rank < border ? rank / (size + 1) : larger + (rank - border) / size;
    }
    return host_of;
}

std::vector<uint64_t> hosts_by_turns(uint32_t ranks, uint32_t hosts) {
    TUTTI_ASSERT(hosts > 0 && hosts <= ranks, "1 to `ranks` hosts");
    std::vector<uint64_t> host_of(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) host_of[rank] = rank % hosts;
    return host_of;
}

// Fisher, Yates 1938, as Knuth's Algorithm P.
std::vector<uint64_t> hosts_at_random(uint32_t ranks, uint32_t hosts, uint64_t seed) {
    std::vector<uint64_t> host_of = hosts_in_blocks(ranks, hosts);
    Prng random(seed);
    for (size_t i = host_of.size(); i > 1; --i) {
        std::swap(host_of[i - 1], host_of[random.below(i)]);
    }
    return host_of;
}

Placement Placement::blocks(uint32_t ranks, uint32_t nodes) {
    return Placement(hosts_in_blocks(ranks, nodes));
}

Placement Placement::round_robin(uint32_t ranks, uint32_t nodes) {
    return Placement(hosts_by_turns(ranks, nodes));
}

namespace {

// Entries 0, 2, 4 ... dealt out, then 1, 3, 5 ... likewise. For 2^k entries this is the reversal of
// the k bits of their numbers.
void deal(std::span<const uint32_t> order, size_t first, size_t step, std::vector<uint32_t>& out) {
    if (first >= order.size()) return;
    if (first + step >= order.size()) {
        out.push_back(order[first]);
        return;
    }
    deal(order, first, 2 * step, out);
    deal(order, first + step, 2 * step, out);
}

}  // namespace

void Placement::set_switches(SwitchTree tree) {
    TUTTI_ASSERT(tree.place_of_host.size() == nodes(), "a place for each node");
    switches_.reset();
    SwitchOrder order(tree);
    tree_ = std::make_shared<const SwitchTree>(std::move(tree));
    switch_count_ = order.leaves();
    if (switch_count_ < 2) return;
    switches_ = std::make_shared<const OnSwitches>(*this, std::move(order));
}

OnSwitches::OnSwitches(const Placement& placement, SwitchOrder order)
    : order_(std::move(order)), placement_(placement, order_.nodes()) {}

const Placement& OnSwitches::dealt() const {
    std::call_once(dealt_made_, [this] {
        std::vector<uint32_t> positions(placement_.nodes());
        std::iota(positions.begin(), positions.end(), 0u);
        std::vector<uint32_t> dealt;
        deal(positions, 0, 1, dealt);
        dealt_.emplace(Placement(placement_, dealt));
    });
    return *dealt_;
}

const OnSwitches::Ranks& OnSwitches::ranks() const {
    std::call_once(ranks_made_, [this] {
        std::vector<uint32_t> sizes;
        for (uint32_t node = 0; node < placement_.nodes(); ++node) {
            sizes.push_back(static_cast<uint32_t>(placement_.members(node).size()));
        }
        const auto count = placement_.ranks();
        const std::span<const uint32_t> walk(placement_.members_);
        ranks_.emplace(Ranks{SwitchOrder(order_, sizes, walk),
                             Placement(Placement::blocks(count, count), walk)});
    });
    return *ranks_;
}

}  // namespace tutti::topo
