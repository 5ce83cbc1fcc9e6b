// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/block_places.h"

#include <cstring>

#include "base/collectives.h"

namespace tutti::engine {
namespace {

// More is given back at the end of the call.
constexpr uint64_t kKeptBytesMax = uint64_t{16} << 20;

bool has_places(const node::Call& call) {
    const Collective& what = facts(call.collective);
    return call.blocks && what.lengths == Lengths::kKnownToAll && what.output.holds == Holds::kAll;
}

}  // namespace

void BlockPlaces::begin(const node::Call& call, uint32_t ranks) {
    is_elsewhere_ = false;
    offset_ = 0;
    if (!has_places(call)) return;
    uint64_t before = 0;
    bool are_apart = false;
    for (uint32_t i = 0; i < ranks; ++i) {
        const uint64_t bytes = call.blocks->recv_bytes[i];
        const uint64_t offset = call.blocks->recv_offsets[i];
        if (bytes == 0) continue;
        if (before == 0) offset_ = offset;
        are_apart |= offset != offset_ + before;
        before += bytes;
    }
    if (are_apart && bytes_ < before) {
        bytes_ = 0;
        memory_ = std::make_unique_for_overwrite<std::byte[]>(before);
        bytes_ = before;
    }
    is_elsewhere_ = are_apart;
}

void BlockPlaces::end(const node::Call& call, uint32_t rank, uint32_t ranks) {
    is_elsewhere_ = false;
    const std::byte* block = memory_.get();
    for (uint32_t i = 0; i < ranks; ++i) {
        const uint64_t bytes = call.blocks->recv_bytes[i];
        // In place the own one is there already.
        const bool is_there = i == rank && !call.send;
        if (bytes > 0 && !is_there) {
            std::memcpy(call.recv + call.blocks->recv_offsets[i], block, bytes);
        }
        block += bytes;
    }
    if (bytes_ <= kKeptBytesMax) return;
    memory_.reset();
    bytes_ = 0;
}

}  // namespace tutti::engine
