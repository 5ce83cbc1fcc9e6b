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

// Runs of one length at equal distances.
struct Rows {
    size_t offset = 0;
    size_t width = 0;
    size_t pitch = 0;  // 0 where there is one
    size_t count = 0;
};

// Calls `take(rows)` for the runs of a mask, together where they are alike.
template <class Take>
bool for_each_rows(const unsigned char* mask, size_t bytes, Take take) {
    Rows rows;
    const auto add = [&](size_t offset, size_t width) {
        // From the last one on; with one alone its pitch is 0.
        const size_t distance = offset - rows.offset - rows.pitch * (rows.count - 1);
        const bool fits =
            rows.count > 0 && width == rows.width && (rows.count == 1 || distance == rows.pitch);
        if (fits) {
            rows.pitch = distance;
            ++rows.count;
            return true;
        }
        const bool goes_on = rows.count == 0 || take(rows);
        rows = {offset, width, 0, 1};
        return goes_on;
    };
    return for_each_run(mask, bytes, add) && (rows.count == 0 || take(rows));
}

}  // namespace tutti::mpi::device
