// SPDX-License-Identifier: BSD-3-Clause
// What the buffers of `tutti bench` hold, and what they must hold after the last call of a batch.
//
// Every batch has its own contents. Element j of a block is base(seed, buffer, origin) + j, so that
// a piece that ends up in a wrong place is seen. Element 0 is a stamp of the call, written
// before it, so that a call that delivers its predecessor's data is seen. All are integers small
// enough for sums of them to be exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::bench {

// Of those that are used again and again: a program's loop has one of each kind.
inline constexpr uint32_t kReusedBuffers = 1;
// Of those that are used once, at least.
inline constexpr uint32_t kFreshBuffersMin = 4;

struct BatchBuffers {
    explicit BatchBuffers(uint32_t count = kReusedBuffers) : send(count), recv(count) {}
    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(send.size()); }

    std::vector<double*> send;
    std::vector<double*> recv;
};

// A run of calls on all ranks. Call i has root i % size (or roots) and buffer i % count.
struct Batch {
    tutti_collective collective;
    uint64_t elements;  // doubles in one block, of the longest where they differ
    uint64_t seed;      // differs from batch to batch
    uint64_t first_call;
    uint64_t calls;               // with those that are not timed
    bool has_barriers = false;    // the host's, after each call
    uint32_t roots = UINT32_MAX;  // so many ranks are roots in turn, at most
    uint64_t untimed = 0;         // the first ones, until the caches hold what the others find
    bool is_ragged = false;       // blocks of vector forms differ in length
};

struct RankOfSize {
    uint32_t rank;
    uint32_t size;
};

inline uint32_t root_of(const Batch& batch, uint64_t call, uint32_t size) {
    return static_cast<uint32_t>(call % std::min(batch.roots, size));
}

// Elements of the block that a rank gives to another one. Ragged ones have a quarter of the
// longest, half of it, three quarters, all of it, in turn.
uint64_t block_elements(const Batch& batch, uint32_t from, uint32_t to);
// Where a rank's block for another one begins among those that it gives, in elements.
uint64_t input_offset(const Batch& batch, uint32_t to);

// Input blocks are numbered by rank, or by rank and block where a rank has one for every rank.
uint64_t number_of(tutti_collective collective, uint32_t rank, uint32_t block, uint32_t size);

// number: of the input block.
inline double stamp(uint64_t call, uint64_t number) {
    return static_cast<double>((call % 1021) * 4096 + number % 4096);
}

// Elements that one buffer needs on every rank: size blocks where the collective has them.
uint64_t send_elements(tutti_collective collective, uint64_t elements, uint32_t size);
uint64_t recv_elements(tutti_collective collective, uint64_t elements, uint32_t size);

// Fills the buffers that the batch will use, each with the stamp of the first call that does.
void fill(const Batch& batch, const RankOfSize& place, const BatchBuffers& buffers);

// True where what fill() stamped is right for every call. Otherwise the calls stamp as they go.
inline bool uses_each_once(const Batch& batch, const BatchBuffers& buffers) {
    return batch.calls <= buffers.count();
}

struct Mismatch {
    uint64_t call;
    uint32_t root;
    uint64_t element;  // of the whole receive buffer
    double got;
    double expected;
};
// Looks at the last result of every buffer that the batch used.
std::optional<Mismatch> verify(const Batch& batch, const RankOfSize& place,
                               const BatchBuffers& buffers);

}  // namespace tutti::bench
