// SPDX-License-Identifier: BSD-3-Clause
// How long an amount takes at a rate, in integers: prices that decide are the same on every
// machine.
#pragma once

#include <cstdint>

namespace tutti {

// Nanoseconds for so many, rounded up. In three steps of a thousand, since in one the product would
// be too large from 18 GB on, which a node may well copy. At most 2^54 a second.
constexpr uint64_t amount_ns(uint64_t amount, uint64_t amount_per_s) {
    uint64_t ns = amount / amount_per_s;
    uint64_t rest = amount % amount_per_s;
    for (int step = 0; step < 3; ++step) {
        rest *= 1000;
        ns = ns * 1000 + rest / amount_per_s;
        rest %= amount_per_s;
    }
    return rest == 0 ? ns : ns + 1;
}
constexpr uint64_t bits_ns(uint64_t bytes, uint64_t bits_per_s) {
    return amount_ns(bytes * 8, bits_per_s);
}
constexpr uint64_t bytes_ns(uint64_t bytes, uint64_t bytes_per_s) {
    return amount_ns(bytes, bytes_per_s);
}

}  // namespace tutti
