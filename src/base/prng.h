// SPDX-License-Identifier: BSD-3-Clause
// Seeded random numbers: the same sequence on every machine and compiler.
// Source: SplitMix64, Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195.
#pragma once

#include <cstdint>

namespace tutti {

class Prng {
  public:
    explicit constexpr Prng(uint64_t seed) : state_(seed) {}

    constexpr uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // Uniform enough in [0, bound) for tests and simulations; bound > 0.
    constexpr uint64_t below(uint64_t bound) { return next() % bound; }

  private:
    uint64_t state_;
};

}  // namespace tutti
