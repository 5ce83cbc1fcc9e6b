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

#include "node/slice.h"

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

// How a processor best writes lines that another core has read before.
enum class CopyWay {
    kPrefetch,  // asks for the lines of the next block while it copies this one
    kString     // one string instruction: claims whole lines without reading them first
};

// What this processor does best. A private matter of each rank: no other one can tell.
//
// Measured with 2 ranks, one way, in microseconds:
//                                          plain  prefetch  string
//   Intel Xeon, 64 KiB in pieces of 8 KiB    9.9       8.0      -
//   AMD Zen 5, 16 KiB in pieces of 2 KiB     4.2       4.2    3.5
//     two dies, 256 KiB in pieces of 16 KiB 38.6      38.6   13.9
//     one die, the same                      7.1       7.6    5.3
// (Plain is a loop of vectors; memcpy itself takes the string instruction for long pieces.)
CopyWay best_copy_way();

// How a call is cut for a pipeline: so many pieces hide most of the second copy, and below a
// certain size a round costs more than the copy that it hides. Ranks must agree on it.
//
// Measured with 2 ranks on an AMD Zen 5, in microseconds. One way, 16 KiB in pieces of
//                 2 KiB  4 KiB  8 KiB  16 KiB
//     two dies      3.4    1.9    1.6     1.6
//     one die       0.8    0.6    0.55    0.6
// Gather of 256 KiB in 8 and in 4 pieces: on two dies 15.0 and 13.0, on one 7.7 and 7.4.
// Long string instructions pay; a loop with prefetches gains nothing from longer pieces.
struct PieceRule {
    size_t count;
    size_t bytes_min;
};
inline PieceRule piece_rule(CopyWay way) {
    return way == CopyWay::kString ? PieceRule{4, 8192} : PieceRule{8, 2048};
}

inline void copy_by_string(std::byte* out, const std::byte* in, size_t bytes) {
#if defined(__x86_64__) && !defined(TUTTI_SANITIZED)
    asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
#else
    std::memcpy(out, in, bytes);
#endif
}

// Copies into memory that others have read before.
inline void copy_to_shared(CopyWay way, std::byte* out, const std::byte* in, size_t bytes) {
    // Starting a string instruction costs about as much as a loop over so much.
    constexpr size_t kStringBytesMin = 1024;
    if (way == CopyWay::kString && bytes >= kStringBytesMin) return copy_by_string(out, in, bytes);
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

// From this size on a user's block does not stay in a second-level cache anyway, and writing it
// past the caches saves reading it first. Measured on 2 cores with 2 MiB each: broadcast of 4 MiB
// 640 -> 550 us, gather of 16 MiB 5.4 -> 4.3 ms; at 1 MiB it loses up to 15 %.
inline constexpr size_t kStreamBytesMin = 4u << 20;

// Copies a piece of a block of `block_bytes` into the user's memory.
inline void copy_to_user(std::byte* out, const std::byte* in, size_t bytes, size_t block_bytes) {
    if (bytes == 0) return;
#if defined(__x86_64__)
    if (block_bytes >= kStreamBytesMin) {
        constexpr size_t kVector = sizeof(__m128i);
        const size_t misaligned = reinterpret_cast<uintptr_t>(out) % kLineBytes;
        const size_t head = std::min(bytes, (kLineBytes - misaligned) % kLineBytes);
        std::memcpy(out, in, head);
        size_t at = head;
        for (; at + kLineBytes <= bytes; at += kLineBytes) {
            for (size_t part = at; part < at + kLineBytes; part += kVector) {
                const auto value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + part));
                _mm_stream_si128(reinterpret_cast<__m128i*>(out + part), value);
            }
        }
        std::memcpy(out + at, in + at, bytes - at);
        // Streaming stores are not ordered with what follows, and another thread may read next.
        _mm_sfence();
        return;
    }
#endif
    static_cast<void>(block_bytes);
    std::memcpy(out, in, bytes);
}

}  // namespace tutti::node
