// SPDX-License-Identifier: BSD-3-Clause
// How ranks sleep until others have done something: on one futex word of memory that they share.
//
// A rank that has done something others may wait for rings; a ring costs one atomic addition where
// nobody sleeps. Nothing is lost: the sleeper counts itself before its last look, the ringer looks
// at the count after its deed, both sequentially consistent; and every sleep has an end anyway. A
// sleeper that knows which rank it waits for is woken by no other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti {

// Ringers, or those for whose ring one sleeps: a bit for each rank modulo their number.
using Ringers = uint32_t;
inline constexpr Ringers kAllRingers = ~Ringers{0};
constexpr Ringers ringer(uint32_t rank) { return Ringers{1} << rank % 32; }

struct Bell {
    // Two lines: the adjacent-line prefetcher of today's processors pulls pairs.
    static constexpr size_t kStride = 128;

    // Wakes all who sleep for one of these ringers, if any, and says how many. The deed must have
    // been stored before.
    uint32_t ring(Ringers who = kAllRingers);

    // The futex word, written by each rank that rings.
    alignas(kStride) std::atomic<uint32_t> rung{0};
    // Asleep or about to be, counted up and down by themselves.
    alignas(kStride) std::atomic<uint32_t> sleepers{0};
};

// One sleep: begins here, then a last look at what is waited for, then sleep() if it is not there.
class Sleeper {
  public:
    explicit Sleeper(Bell& bell);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    // Until one of these rings, or anybody has rung since construction; at most until end_ns on the
    // system's monotonic clock. False if that was how it ended.
    bool sleep(uint64_t end_ns, Ringers for_whom = kAllRingers);
    // Anybody has rung since construction: for those who sleep somewhere else.
    [[nodiscard]] bool has_rung() const {
        return bell_.rung.load(std::memory_order_seq_cst) != rung_;
    }

  private:
    Bell& bell_;
    uint32_t rung_;
};

}  // namespace tutti
