// SPDX-License-Identifier: BSD-3-Clause
#include "engine/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace tutti::engine {
namespace {

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout,
                   nullptr, 0);
}

}  // namespace

void ring(node::SliceHeader& header) {
    // An addition of nothing instead of a fence before a load: race detectors understand it.
    if (header.sleepers.fetch_add(0, std::memory_order_seq_cst) == 0) return;
    header.bell.fetch_add(1, std::memory_order_seq_cst);
    futex(header.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

Sleeper::Sleeper(node::SliceHeader& header)
    : header_(header), rung_(header.bell.load(std::memory_order_seq_cst)) {
    header_.sleepers.fetch_add(1, std::memory_order_seq_cst);
}

Sleeper::~Sleeper() { header_.sleepers.fetch_sub(1, std::memory_order_seq_cst); }

void Sleeper::sleep(uint64_t ns_max) {
    const timespec timeout{0, static_cast<long>(ns_max)};
    futex(header_.bell, FUTEX_WAIT, rung_, &timeout);
}

}  // namespace tutti::engine
