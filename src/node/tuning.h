// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a team move data among them: what follows from what was measured between them.
// The same on all ranks, since the shapes of calls follow from it. It never changes an operand
// order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::node {

// How lines are best written that another core has read before.
enum class CopyWay : uint8_t {
    kPlain,     // a loop of vectors; the lines are asked for as they are written
    kPrefetch,  // asks for the lines of the next block while it copies this one
    kString,    // one string instruction: may claim whole lines without reading them first
    kStream     // past the caches
};

// How a call is cut for a pipeline: so many pieces hide most of the second copy, and below a
// certain size a round costs more than the copy that it hides.
struct PieceRule {
    uint32_t count = 8;
    uint32_t bytes_min = 2048;
    uint32_t bytes_max = 16 * 1024;  // and at most a chunk
    bool operator==(const PieceRule&) const = default;
};

// Bytes of a call from which on a single copy wins.
inline constexpr uint64_t kNever = UINT64_MAX;

// As it stands: for ranks that have measured nothing.
struct Tuning {
    CopyWay way = CopyWay::kPrefetch;
    PieceRule pieces;
    uint64_t single_one_way = kNever;   // where data goes from or to one rank
    uint64_t single_all_ways = kNever;  // where all send and all receive
    bool operator==(const Tuning&) const = default;
};

}  // namespace tutti::node
