// SPDX-License-Identifier: BSD-3-Clause
#include "base/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace tutti {
namespace {

// end: absolute, on the monotonic clock; nullptr where nobody waits.
long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* end,
           Ringers who) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, end, nullptr,
                   who);
}

}  // namespace

uint32_t Bell::ring(Ringers who) {
    // An addition of nothing instead of a fence before a load: race detectors understand it.
    if (sleepers.fetch_add(0, std::memory_order_seq_cst) == 0) return 0;
    rung.fetch_add(1, std::memory_order_seq_cst);
    const long woken = futex(rung, FUTEX_WAKE_BITSET, INT_MAX, nullptr, who);
    return static_cast<uint32_t>(std::max(woken, 0L));
}

Sleeper::Sleeper(Bell& bell) : bell_(bell), rung_(bell.rung.load(std::memory_order_seq_cst)) {
    bell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
}

Sleeper::~Sleeper() { bell_.sleepers.fetch_sub(1, std::memory_order_seq_cst); }

bool Sleeper::sleep(uint64_t end_ns, Ringers for_whom) {
    constexpr uint64_t kSecondNs = 1'000'000'000;
    const timespec end{static_cast<time_t>(end_ns / kSecondNs),
                       static_cast<long>(end_ns % kSecondNs)};
    const long outcome = futex(bell_.rung, FUTEX_WAIT_BITSET, rung_, &end, for_whom);
    return outcome == 0 || errno != ETIMEDOUT;
}

}  // namespace tutti
