// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/read_once.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace tutti::node {
namespace {

// The least of several: others may have the processor in between.
constexpr int kTrials = 3;
constexpr size_t kSizes = kMeasuredMiddle + 1;
// Two copies use three blocks, and a reading two.
constexpr size_t kBlocksATime = 5;

constexpr size_t bytes_in_all() {
    size_t bytes = 0;
    for (size_t size = 0; size < kSizes; ++size)
        bytes += kTrials * kBlocksATime * kMeasuredBytes[size];
    return bytes;
}

// 0: a trial has failed.
template <class Trial>
uint32_t least_ns(Clock& clock, Trial trial) {
    uint64_t least = UINT32_MAX;
    for (int i = 0; i < kTrials; ++i) {
        const uint64_t begin = clock.now_ns();
        if (!trial()) return 0;
        least = std::min(least, clock.now_ns() - begin);
    }
    return std::max(static_cast<uint32_t>(least), 1u);
}

}  // namespace

ReadOnce::ReadOnce() : space_(bytes_in_all()) {}

std::byte* ReadOnce::next(size_t bytes) {
    std::byte* const block = space_.data() + used_;
    used_ += bytes;
    TUTTI_ASSERT(used_ <= space_.size(), "it measures once");
    return block;
}

Times ReadOnce::measure(PeerMemory& memory, Rank own, Clock& clock) {
    Times times;
    for (size_t size = 0; size < kSizes; ++size) {
        const size_t bytes = kMeasuredBytes[size];
        times.ring[size] = least_ns(clock, [&] {
            std::byte* const shared = next(bytes);
            std::memcpy(shared, next(bytes), bytes);
            std::memcpy(next(bytes), shared, bytes);
            return true;
        });
        times.single[size] = least_ns(clock, [&] {
            std::byte* const to = next(bytes);
            return memory.read(own, to, reinterpret_cast<uint64_t>(next(bytes)), bytes);
        });
    }
    return times;
}

void take_most(Times& times, const Times& other) {
    for (size_t size = 0; size < kMeasuredBytes.size(); ++size) {
        times.ring[size] = std::max(times.ring[size], other.ring[size]);
        const bool can = times.single[size] != 0 && other.single[size] != 0;
        times.single[size] = can ? std::max(times.single[size], other.single[size]) : 0;
    }
}

}  // namespace tutti::node
