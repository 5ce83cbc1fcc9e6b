// SPDX-License-Identifier: BSD-3-Clause
// What a survey of a network asks for, and what comes back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::survey {

struct Transfer {
    uint32_t from = 0;
    uint32_t to = 0;
};

// Transfers that begin together. Each host sends to at most one other and receives from at most
// one.
struct Experiment {
    enum class Kind : uint8_t {
        kTransfers,  // the time of each: from the common start until its last byte has come
        // The same in pieces of kPieceBytes that all begin at once. The answer to a long message's
        // request can wait behind all that the receiver itself sends; then only the first pieces'.
        kStreams,
        kRoundTrips,  // the median of so many round trips between the two; each host is in one pair
        kPosts,    // the median of what so many messages, one after the other, hold up their sender
        kUnasked,  // until a message that nobody asks for has left; missing: it waits to be asked
    };
    Kind kind = Kind::kTransfers;
    uint64_t bytes = 0;
    uint32_t round_trips = 0;  // or messages
    std::vector<Transfer> transfers;
};

inline constexpr uint64_t kPieceBytes = 32u << 10;

// Instead of a time: that transfer did not end in time.
inline constexpr uint64_t kMissingNs = UINT64_MAX;
// A transfer with less of a host link's speed than this is slow. Times that vary by 20 % leave
// medians of three above it; an uplink with half of what its hosts could send leaves 0.5.
inline constexpr double kSlow = 0.75;

// Instead of a speed.
inline constexpr double kNoSpeed = -1;

// The value below which this share of all lie; `values` is not empty.
inline double quantile(std::vector<double> values, double share) {
    const auto place = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
    const auto at = values.begin() + static_cast<ptrdiff_t>(place);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// Transfers that were made at once, and bytes per nanosecond of each (medians of the trials).
struct Observation {
    std::vector<Transfer> transfers;
    std::vector<double> speeds;
};

}  // namespace tutti::survey
