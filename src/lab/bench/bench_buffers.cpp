// SPDX-License-Identifier: BSD-3-Clause
#include "lab/bench/bench_buffers.h"

#include <algorithm>
#include <utility>

#include "base/prng.h"

namespace tutti::bench {
namespace {

// What aligns a buffer and what a cache moves; where lines are longer, some are flushed twice.
constexpr uint64_t kLineBytes = 64;
// A call of 8 bytes takes a quarter of a microsecond or more: so many of them can be timed.
constexpr uint64_t kFreshBuffersMax = 512;
// Of one rank. From some KiB on, a batch is long enough with fewer calls.
constexpr uint64_t kFreshBytesMax = 16u << 20;
// Between fresh buffers, so that who fetches one's neighbouring lines ahead fetches nothing of
// another. A line more than a page, or all would share one set of a cache.
constexpr uint64_t kGapBytes = 4096 + kLineBytes;

uint64_t place_bytes(uint64_t bytes, bool fresh) {
    if (bytes == 0) return 0;
    return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes + (fresh ? kGapBytes : 0);
}

void flush_line([[maybe_unused]] const char* line) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(line);
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
}

void flush_lines(const double* memory, uint64_t bytes) {
    const char* start = reinterpret_cast<const char*>(memory);
    for (uint64_t offset = 0; offset < bytes; offset += kLineBytes) flush_line(start + offset);
}

// A processor learns a constant distance, across pages too: on an AMD EPYC flushed lines in the
// order of their addresses took 1 ns more than cached ones, in this order 135 ns.
void shuffle(std::vector<double*>& buffers, Prng& prng) {
    for (size_t left = buffers.size(); left > 1; --left) {
        std::swap(buffers[left - 1], buffers[prng.below(left)]);
    }
}

// Flushes are done when this returns.
void wait_for_flushes() {
#if defined(__x86_64__)
    __builtin_ia32_mfence();
#elif defined(__aarch64__)
    asm volatile("dsb sy" : : : "memory");
#endif
}

}  // namespace

bool caches_can_be_flushed() {
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

uint32_t fresh_buffer_count(const CallBytes& bytes) {
    const uint64_t one = place_bytes(bytes.send, true) + place_bytes(bytes.recv, true);
    if (one == 0) return kFreshBuffersMin;
    return static_cast<uint32_t>(
        std::clamp<uint64_t>(kFreshBytesMax / one, kFreshBuffersMin, kFreshBuffersMax));
}

uint64_t Buffers::bytes_of_all(const CallBytes& bytes, uint32_t count, bool fresh) {
    return count * (place_bytes(bytes.send, fresh) + place_bytes(bytes.recv, fresh));
}

bool Buffers::allocate(const CallBytes& bytes, uint32_t count, bool fresh) {
    bytes_ = bytes;
    view_ = BatchBuffers(count);
    for (uint32_t k = 0; k < count; ++k) {
        view_.send[k] = allocate_one(bytes.send, fresh);
        view_.recv[k] = allocate_one(bytes.recv, fresh);
        if ((bytes.send && !view_.send[k]) || (bytes.recv && !view_.recv[k])) return false;
    }
    if (!fresh) return true;
    Prng prng(count);
    shuffle(view_.send, prng);
    shuffle(view_.recv, prng);
    return true;
}

double* Buffers::allocate_one(uint64_t bytes, bool fresh) {
    if (bytes == 0) return nullptr;
    owned_.emplace_back(
        static_cast<double*>(std::aligned_alloc(kLineBytes, place_bytes(bytes, fresh))));
    if (owned_.back()) std::fill_n(owned_.back().get(), bytes / sizeof(double), -1.0);
    return owned_.back().get();
}

void Buffers::flush(const Batch& batch) const {
    for (uint64_t i = 0; i < std::min<uint64_t>(batch.calls, view_.count()); ++i) {
        const uint64_t k = (batch.first_call + i) % view_.count();
        flush_lines(view_.send[k], bytes_.send);
        flush_lines(view_.recv[k], bytes_.recv);
    }
    wait_for_flushes();
}

}  // namespace tutti::bench
