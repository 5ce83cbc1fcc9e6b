// SPDX-License-Identifier: BSD-3-Clause
// A program without most of the rounds that are alike, for code that counts the others by law.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "plan/sched/program.h"

namespace tutti::sched {

// Rounds [first, first + rounds).
struct Stretch {
    uint64_t first = 0;
    uint64_t rounds = 0;
    bool operator==(const Stretch&) const = default;
};

// The program without some rounds of its stretches, which ascend: `kept` of each stay. Must not
// outlive it, but needs neither of the lists.
std::unique_ptr<Program> shortened(const Program& program, std::span<const Stretch> stretches,
                                   std::span<const uint64_t> kept);

}  // namespace tutti::sched
