// SPDX-License-Identifier: BSD-3-Clause
// What stands in bundles, and on the way to them and from them (docs/protocol/bundles.md).
//
// A row is what one rank has for the ranks of another node: a word, then for each of these the
// length of its message, 2 bytes, then the messages. Where all lengths are 0 the word stands alone.
// It has the bytes behind it, and two marks for the leader: this rank has blocks for that node, or
// from there, in bundles or not.
//   rank to leader    a row for each node that the leader leads for, by distance
//   bundle            the rows of a node's ranks, by rank; there is one if any has blocks for there
//   leader to rank    for each such node a 1 and what its ranks have for this one: for each the
//                     length and the message; or a 0, of 2 bytes like the 1, where no bundle came
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/topo/placement.h"
#include "plan/sched/bundle_rules.h"

namespace tutti::exec {

// A rank's place on its node.
struct BundlePlace {
    const topo::Placement* on = nullptr;
    uint32_t node = 0;
    uint32_t index = 0;              // on the node
    uint32_t size = 1;               // of the node
    uint64_t message_bytes_max = 0;  // to another node

    // The nodes for which a member leads, by distance: visit(node).
    template <class Visit>
    void for_led(uint32_t member, Visit visit) const {
        const uint32_t nodes = on->nodes();
        for (uint32_t distance = 1 + member; distance < nodes; distance += size) {
            visit((node + distance) % nodes);
        }
    }
};

// A bundled message of a rank, to another one or from it.
struct BundledPart {
    bool is_there = false;
    uint64_t offset = 0;  // in the input, or in the output
    uint64_t bytes = 0;   // 0 between nodes: it is too long, and goes by itself
    // It has come in a bundle, though there is room for a longer one.
    const std::byte* stray = nullptr;
};

// What a member gives to each member of its node, and has of each: what stands where.
struct MemberExchange {
    std::vector<uint64_t> given, given_at, taken, taken_at;

    void reserve(size_t members);
    void start(size_t members);
    // One behind the other, by their lengths; what is taken, in all.
    uint64_t place_taken();
};

inline constexpr uint32_t kRowSends = uint32_t{1} << 31;
inline constexpr uint32_t kRowReceives = uint32_t{1} << 30;
constexpr uint32_t row_bytes(uint32_t word) { return word & (kRowReceives - 1); }

template <class T>
void put(std::byte*& at, T value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
}
inline void put_bytes(std::byte*& at, const std::byte* data, size_t bytes) {
    if (bytes > 0) std::memcpy(at, data, bytes);
    at += bytes;
}
template <class T>
[[nodiscard]] T get(const std::byte*& at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
}

// This rank's rows for all leaders, one behind the other; sets what is given to each.
void pack_rows(const BundlePlace& place, std::span<const BundledPart> sent,
               std::span<const BundledPart> received, const std::byte* input, std::byte* to,
               MemberExchange& exchange);

// Of what has come for a leader's node: rows of `from` ranks. False where it is no bundle.
[[nodiscard]] bool is_bundle(const BundlePlace& place, const std::byte* bundle, uint32_t from);
// Adds what it takes to hand it on, to each member.
void add_given(const std::byte* bundle, uint32_t from, std::span<uint64_t> given);
// Writes that behind what each member has so far.
void hand_on(const std::byte* bundle, uint32_t from, std::span<std::byte*> ends);

}  // namespace tutti::exec
