// SPDX-License-Identifier: BSD-3-Clause
// The makers that registry.cpp lists, and the few lines that they share. Inside algo/ only.
#pragma once

#include <bit>
#include <cstdint>

#include "algo/registry.h"

namespace tutti::algo {

// ceil(log2 p), p > 0.
constexpr uint32_t ceil_log2(uint64_t p) { return static_cast<uint32_t>(std::bit_width(p - 1)); }

std::unique_ptr<Program> barrier_dissemination(const Shape& shape, Rank rank, const Tuning&);

}  // namespace tutti::algo
