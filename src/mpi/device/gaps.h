// SPDX-License-Identifier: BSD-3-Clause
// Where the data of elements with gaps lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::mpi::device {

// Bytes from the first to the last of some elements, relative to the buffer's address.
struct Span {
    ptrdiff_t low = 0;
    size_t bytes = 0;
};

// Of `count` elements from number `first` on. The extent may be negative, or smaller than what an
// element covers.
inline Span span_of(ptrdiff_t extent, ptrdiff_t true_lb, ptrdiff_t true_extent, uint64_t first,
                    uint64_t count) {
    if (count == 0) return {};
    const ptrdiff_t begin = static_cast<ptrdiff_t>(first) * extent;
    const ptrdiff_t last = static_cast<ptrdiff_t>(first + count - 1) * extent;
    const ptrdiff_t low = std::min(begin, last), high = std::max(begin, last);
    return {low + true_lb, static_cast<size_t>(high - low + true_extent)};
}

inline constexpr unsigned char kData = 0xFF;  // in a mask; gaps are 0

// Calls `take(offset, bytes)`, which returns false to stop, for each run of data in the mask of an
// element. False where it was stopped.
template <class Take>
bool for_each_run(const unsigned char* mask, size_t bytes, Take take) {
    size_t begin = 0;
    while (begin < bytes) {
        const void* data = memchr(mask + begin, kData, bytes - begin);
        if (data == nullptr) return true;
        begin = static_cast<size_t>(static_cast<const unsigned char*>(data) - mask);
        const void* gap = memchr(mask + begin, 0, bytes - begin);
        const size_t end = gap == nullptr
                               ? bytes
                               : static_cast<size_t>(static_cast<const unsigned char*>(gap) - mask);
        if (!take(begin, end - begin)) return false;
        begin = end;
    }
    return true;
}

}  // namespace tutti::mpi::device
