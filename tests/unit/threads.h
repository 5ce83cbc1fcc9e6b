// SPDX-License-Identifier: BSD-3-Clause
// Threads as ranks, and the time until which they may sleep.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tutti::test {

// Runs body(rank) on so many threads and joins them.
inline void run_threads(uint32_t count, const std::function<void(uint32_t)>& body) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < count; ++rank) threads.emplace_back([&, rank] { body(rank); });
    for (std::thread& thread : threads) thread.join();
}

// Polls until it is so; false after long enough for any machine. Other threads do the work.
inline bool eventually(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!is_so()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

// So long from now, on the system's monotonic clock.
inline uint64_t after_ns(uint64_t ns) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) + ns;
}

}  // namespace tutti::test
