// SPDX-License-Identifier: BSD-3-Clause
// The few lines that algorithms share. Inside algo/ only.
//
// An algorithm is a file X.cpp that stands in CMakeLists.txt's list and defines `Algorithm X()`,
// its record.
//
// Within a round the receives stand before the sends, since messages are posted in this order and a
// receive is ready earlier, mostly.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "plan/algo/registry.h"

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

// Algorithm::make of a class that is made from (shape, rank, tuning) or (shape, rank).
template <class T>
std::unique_ptr<Program> make(const Shape& shape, Rank rank, const Tuning& tuning) {
    if constexpr (std::is_constructible_v<T, const Shape&, Rank, const Tuning&>) {
        return std::make_unique<T>(shape, rank, tuning);
    } else {
        return std::make_unique<T>(shape, rank);
    }
}

// ---- obstacles that several have ---------------------------------------------------------------

// Vectors are cut into lanes, but blocks of gather, scatter and allgather are not.
inline constexpr std::string_view kTooLong = "a message would be longer than 1 GiB";
// A multicast holds an element at least.
inline constexpr std::string_view kTooLongForMulticast = "a multicast would be longer than 16 KiB";
static_assert(sched::kMulticastBytesMax == 16 * 1024);

std::string_view unless_commutative(const Shape& shape);
std::string_view unless_multicast(const Shape& shape);
// One of a rank's receives is in vain.
std::string_view unless_met_by_multicast(const Shape& shape);
// A lane is one multicast.
std::string_view unless_one_multicast(const Shape& shape);
std::string_view if_block_too_long(const Shape& shape);

// ---- segments and lanes that several ask for ---------------------------------------------------

// A chain's time is (p - 2 + S) segments of n / S bytes each: 16 KiB make 64 of 1 MiB, so that 16
// hosts come within a quarter of the time of one link, and the start-up of a message over TCP
// (about 50 us) stays small beside the time it takes at 1 Gbit/s and below (131 us).
inline constexpr uint64_t kChainSegment = uint64_t{16} << 10;
// Where a lane ends only when its result has come back from the far end of the chain, p and more
// lanes have to be in flight to keep the links busy. 16 hosts, 1 MiB, against the lower bound
// (tutti simulate, 25 Mbit/s): reduce to rank 0 4.1 times with 4 lanes, 1.24 with 16; allreduce 4.4
// and 1.58.
inline constexpr uint32_t kReturningLanes = sched::kLanesInFlightMax;
// A ring cuts each segment into p blocks. 4 MiB: 256 KiB blocks on 16 hosts, long against any
// start-up, and both blocks that are under way at a time fit the caches.
inline constexpr uint64_t kRingSegment = uint64_t{4} << 20;

}  // namespace tutti::algo
