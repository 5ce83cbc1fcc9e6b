// SPDX-License-Identifier: BSD-3-Clause
// The private memory of the other ranks of a team, as far as this rank may read it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/node/layout.h"

namespace tutti::node {

// Of one rank at a time, as offers count them (offer.h); and the last call of a team that they
// tell apart from others.
inline constexpr uint64_t kReadersMax = 2047;
inline constexpr uint64_t kOfferNumberMax = (uint64_t{1} << 40) - 1;

// Which rank may not read which other's memory, now and later, and why.
struct Denial {
    int32_t failure = 0;  // an errno; 0: nobody is denied anything
    Rank reader = kNoRank;
    Rank of = kNoRank;
};

class PeerMemory {
  public:
    PeerMemory() = default;
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;
    virtual ~PeerMemory() = default;

    // Copies `bytes` bytes at `address` of `rank`, as that process numbers its memory, to `out`.
    // False where they cannot all be read; then `out` may hold some of them.
    virtual bool read(Rank rank, std::byte* out, uint64_t address, size_t bytes) = 0;
    // What has been denied to this process, whose rank it need not know.
    [[nodiscard]] virtual Denial denial() const { return {}; }
};

}  // namespace tutti::node
