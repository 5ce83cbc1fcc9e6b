// SPDX-License-Identifier: BSD-3-Clause
// The copies of the node level: into memory that others read, and out of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "run/node/kernels/kernels.h"
#include "run/node/slice.h"
#include "run/node/tuning.h"

namespace tutti::node {

// Asks for a line in order to write it. The readers of its former content hold copies, and taking
// those away costs as much as the readers' miss itself; done early, it costs nobody anything.
inline void prefetch_for_write(const std::byte* line) {
#if defined(__x86_64__)
    // gcc's builtin is a prefetch for reading unless -mprfchw; older processors take this as a
    // no-op.
    asm volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1, 3);
#endif
}

inline void prefetch_lines(const std::byte* data, size_t bytes) {
    for (size_t at = 0; at < bytes; at += kLineBytes) prefetch_for_write(data + at);
}

inline void copy_by_string(std::byte* out, const std::byte* in, size_t bytes) {
#if defined(__x86_64__) && !defined(TUTTI_SANITIZED)
    asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
#else
    std::memcpy(out, in, bytes);
#endif
}

inline void copy_by_prefetch(std::byte* out, const std::byte* in, size_t bytes) {
    constexpr size_t kBlock = 2048;
    prefetch_lines(out, std::min(bytes, kBlock));
    while (bytes > kBlock) {
        prefetch_lines(out + kBlock, std::min(bytes - kBlock, kBlock));
        std::memcpy(out, in, kBlock);
        out += kBlock;
        in += kBlock;
        bytes -= kBlock;
    }
    if (bytes > 0) std::memcpy(out, in, bytes);
}

// Whole lines past the caches. Asks for lines ahead, as copy_ahead() does.
inline void copy_by_stream(std::byte* out, const std::byte* in, size_t bytes) {
#if defined(__x86_64__)
    constexpr size_t kAhead = 16 * kLineBytes;
    constexpr size_t kVector = sizeof(__m128i);
    const size_t misaligned = reinterpret_cast<uintptr_t>(out) % kLineBytes;
    const size_t head = std::min(bytes, (kLineBytes - misaligned) % kLineBytes);
    std::memcpy(out, in, head);
    size_t at = head;
    for (; at + kLineBytes <= bytes; at += kLineBytes) {
        __builtin_prefetch(in + std::min(at + kAhead, bytes - 1));
        for (size_t part = at; part < at + kLineBytes; part += kVector) {
            const auto value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + part));
            _mm_stream_si128(reinterpret_cast<__m128i*>(out + part), value);
        }
    }
    std::memcpy(out + at, in + at, bytes - at);
    // Streaming stores are not ordered with what follows, and another thread may read next.
    _mm_sfence();
#else
    std::memcpy(out, in, bytes);
#endif
}

// A loop of vectors, whatever the library's memcpy takes for long pieces.
inline void copy_plainly(std::byte* out, const std::byte* in, size_t bytes) {
    constexpr size_t kBlock = 2048;
    for (; bytes > kBlock; bytes -= kBlock, out += kBlock, in += kBlock) {
        std::memcpy(out, in, kBlock);
    }
    std::memcpy(out, in, bytes);
}

// Copies into memory that others have read before.
inline void copy_to_shared(CopyWay way, std::byte* out, const std::byte* in, size_t bytes) {
    // Starting a string instruction, or streams, costs about as much as a loop over so much.
    constexpr size_t kLongBytesMin = 1024;
    if (bytes == 0) return;
    if (way == CopyWay::kPlain) return copy_plainly(out, in, bytes);
    if (way == CopyWay::kPrefetch || bytes < kLongBytesMin) return copy_by_prefetch(out, in, bytes);
    way == CopyWay::kString ? copy_by_string(out, in, bytes) : copy_by_stream(out, in, bytes);
}

// Copies into the user's memory, out of what another core has written. is_past_caches: writing it
// past the caches saves reading it first.
inline void copy_to_user(CopyAhead copy_ahead, std::byte* out, const std::byte* in, size_t bytes,
                         bool is_past_caches) {
    constexpr size_t kShort = 1024;
    if (bytes == 0) return;
    if (is_past_caches) return copy_by_stream(out, in, bytes);
    if (bytes < kShort) {
        std::memcpy(out, in, bytes);
    } else {
        copy_ahead(out, in, bytes);
    }
}

}  // namespace tutti::node
