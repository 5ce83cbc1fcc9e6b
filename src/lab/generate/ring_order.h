// SPDX-License-Identifier: BSD-3-Clause
// The logical ring of a cluster: in which order it visits ranks so that its messages share no link.
//
// Source: Patarasuk, Yuan 2007, "Bandwidth efficient all-reduce operation on tree topologies",
// section 3.2: steps 1 and 2 before Lemma 4, and Lemma 5 for several ranks a host. Letters: N
// ranks, F(i) the rank at position i. Differs from the paper: the walk is that of
// base/topo/switch_order.h, which keeps the order of hosts where it can; any ranks may share a host
// (Lemma 5 wants consecutive ones, since it knows no tree).
//
// Example:  s0 - s1, hosts 0, 3 and 4 on s0, 1 and 2 on s1:  0 -> 1 -> 2 -> 3 -> 4 -> 0
//
// Invariant (tests/unit/lab/generate/ring_order_test.cpp, on random trees, placements and subsets
// of hosts):
//   I1  of the messages F(i) -> F(i + 1 mod N), at most one crosses a link in each direction
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/topo/switch_tree.h"

namespace tutti::generate {

// Hosts in the order in which the ring comes by, with their ranks.
struct Stop {
    uint32_t host = 0;
    std::vector<uint32_t> ranks;  // ascending; at least one
};

// host_of_rank: numbers of the tree's hosts. Hosts without ranks are left out.
std::vector<Stop> make_ring(const topo::SwitchTree& tree, std::span<const uint64_t> host_of_rank);

// F(0), F(1) ... F(N - 1).
std::vector<uint32_t> ranks_of(std::span<const Stop> ring);

}  // namespace tutti::generate
