// SPDX-License-Identifier: BSD-3-Clause
// Memory of simulated ranks, which all stands in one process.
#pragma once

#include <cstring>
#include <memory>

#include "base/prng.h"
#include "run/node/peer_memory.h"

namespace tutti::test {

class OwnMemory final : public node::PeerMemory {
  public:
    bool read(node::Rank, std::byte* out, uint64_t address, size_t bytes) override {
        std::memcpy(out, reinterpret_cast<const std::byte*>(address), bytes);
        return true;
    }
};

class NoMemory final : public node::PeerMemory {
  public:
    bool read(node::Rank, std::byte*, uint64_t, size_t) override { return false; }
};

// Now and then something cannot be read, or only in part.
class FaultyMemory final : public node::PeerMemory {
  public:
    explicit FaultyMemory(uint64_t seed) : prng_(seed) {}
    bool read(node::Rank, std::byte* out, uint64_t address, size_t bytes) override {
        const bool fails = prng_.below(4) == 0;
        std::memcpy(out, reinterpret_cast<const std::byte*>(address), fails ? bytes / 2 : bytes);
        return !fails;
    }

  private:
    Prng prng_;
};

inline std::shared_ptr<node::PeerMemory> all_read(node::Rank) {
    return std::make_shared<OwnMemory>();
}
inline std::shared_ptr<node::PeerMemory> rank_0_cannot_read(node::Rank rank) {
    if (rank == 0) return std::make_shared<NoMemory>();
    return std::make_shared<OwnMemory>();
}
inline std::shared_ptr<node::PeerMemory> rank_1_cannot_read(node::Rank rank) {
    if (rank == 1) return std::make_shared<NoMemory>();
    return std::make_shared<OwnMemory>();
}
inline std::shared_ptr<node::PeerMemory> reads_fail(node::Rank rank) {
    return std::make_shared<FaultyMemory>(rank + 1);
}

}  // namespace tutti::test
