// SPDX-License-Identifier: BSD-3-Clause
// Messages that go in bundles: which ones may, which rank carries a bundle, and how much room
// bundles take (docs/protocol/bundles.md).
//
// Nodes A and B have one bundle for each other at most. The leader of A for B sends the one and
// receives the other: with d the number of steps from A to B around the circle of nodes, member
// d - 1 modulo A's members. So each rank of a node leads for about as many others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/topo/placement.h"

namespace tutti::sched {

// Of a message between two nodes, at most; one within a node may have any length. A bundle saves
// messages, but its leaders copy what is in it, and nothing overlaps. Simulated on 16 hosts (tutti
// simulate, linear / leaders in us): infiniband-100g, 4 ranks a host 8 B 20 / 3, 256 B 20 / 23; 16
// ranks a host 64 B 78 / 44, 128 B 78 / 83, 256 B 89 / 162; ethernet-10g, 16 ranks a host 128 B
// 777 / 482, 256 B 881 / 965.
inline constexpr uint64_t kBundledBytesMax = 128;
// Where a node has more ranks than there are other nodes, some of its ranks lead for none. Likewise
// infiniband-100g, 2 hosts of 16 ranks 8 B 10 / 3, 64 B 10 / 14; 4 hosts of 32 32 B 39 / 34, 64 B
// 39 / 62.
inline uint64_t bundled_bytes_max(const topo::Placement& on) {
    constexpr uint64_t kOfLeaders = 384;
    constexpr uint64_t kWord = 8;
    const uint64_t led = kOfLeaders * (on.nodes() - 1) / on.members_max();
    return std::clamp(led / kWord * kWord, kWord, kBundledBytesMax);
}

// What a block costs in a bundle beside its bytes: its length. And what the blocks of one rank do.
inline constexpr uint64_t kBundledLengthBytes = 2;
inline constexpr uint64_t kBundleRowBytes = 4;

// From node `from` to node `to`, around the circle: 1 to nodes - 1.
constexpr uint32_t node_distance(uint32_t nodes, uint32_t from, uint32_t to) {
    return to >= from ? to - from : nodes - from + to;
}
// The index on its node, of so many members, of the leader for nodes at that distance.
constexpr uint32_t bundle_leader(uint32_t members, uint32_t distance) {
    return (distance - 1) % members;
}
// The rank of node `of` that carries its bundles to `other`, and from there.
inline uint32_t bundle_leader(const topo::Placement& on, uint32_t of, uint32_t other) {
    const auto members = on.members(of);
    const auto count = static_cast<uint32_t>(members.size());
    return members[bundle_leader(count, node_distance(on.nodes(), of, other))];
}
// Nodes for which the member of that index leads, at most.
constexpr uint32_t led_nodes(uint32_t nodes, uint32_t members, uint32_t index) {
    return nodes - 1 > index ? (nodes - 2 - index) / members + 1 : 0;
}

// What `from` ranks have for `to` others, in bundles or on the way there, at most; message_bytes:
// bundled_bytes_max().
constexpr uint64_t bundle_bytes_max(uint64_t from, uint64_t to, uint64_t message_bytes) {
    return from * (kBundleRowBytes + to * (kBundledLengthBytes + message_bytes));
}

// A kNodeBundles has room for so many parts, one after the other: what a rank gives to leaders, or
// leaves for others; what a leader has of its node's ranks, or for them; what comes.
inline constexpr uint64_t kBundleParts = 3;
// Of one of them, the same on all ranks. A rank of m on its node leads for K = ceil((N - 1) / m) of
// N nodes, so that m K is less than N - 1 + m.
inline uint64_t bundle_part_bytes(const topo::Placement& on) {
    const uint64_t most = on.members_max();
    const uint64_t bytes =
        (on.nodes() - 1 + most) * bundle_bytes_max(most, 1, bundled_bytes_max(on));
    return (bytes + 63) & ~uint64_t{63};
}
inline uint64_t bundle_room_bytes(const topo::Placement& on) {
    return kBundleParts * bundle_part_bytes(on);
}

}  // namespace tutti::sched
