// SPDX-License-Identifier: BSD-3-Clause
// Groups of hosts that are nearer to each other than to all others, by round trips of a few bytes.
//
// Source of the idea: Shirai, Saito, Taura 2007, "A fast topology inference: a building block for
// network-aware parallel processing", HPDC, doi:10.1145/1272366.1272369: a tree of switches from
// round trips between hosts alone. Differs: all pairs are measured, disjoint ones at once, so that
// n hosts take n - 1 experiments; and a grouping is believed only where the pairs agree:
//   L1  between near and far pairs there is a gap, wider than kGapMin;
//   L2  "near" is an equivalence: of two hosts of a group almost all are near each other;
//   L3  almost all hosts have somebody near, and there are at least two groups;
//   L4  the same groups come out of two independent passes.
// Where one of these fails there is no grouping: round trips of processes that wait for their turn
// on a processor have no such gap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::survey {

// By host: the number of its group, or kNoGroup.
inline constexpr uint32_t kNoGroup = UINT32_MAX;
using Partition = std::vector<uint32_t>;

// Of n hosts: times_ns[i * n + j] (kMissingNs: not known, as on the diagonal), of two passes. From
// the coarsest grouping to the finest, each within the one before; often none.
std::vector<Partition> latency_groups(uint32_t hosts, std::span<const uint64_t> first_ns,
                                      std::span<const uint64_t> second_ns);

}  // namespace tutti::survey
