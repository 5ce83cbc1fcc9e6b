// SPDX-License-Identifier: BSD-3-Clause
#include "lab/simulate/alike_rounds.h"

#include <algorithm>

namespace tutti::simulate {
namespace {

using sched::Operation;
using sched::Program;
using sched::Round;

// Pieces of a vector differ by an element, of 16 bytes at most that are ours.
constexpr uint64_t kElementBytes = 16;

bool are_alike(uint64_t a, uint64_t b) { return std::max(a, b) - std::min(a, b) <= kElementBytes; }

bool are_alike(const Operation& a, const Operation& b) {
    return a.kind == b.kind && a.incoming == b.incoming && a.peer == b.peer && a.after == b.after &&
           a.order == b.order && are_alike(a.to.bytes, b.to.bytes) &&
           are_alike(a.left.bytes, b.left.bytes) && are_alike(a.right.bytes, b.right.bytes);
}

bool are_alike(const Round& a, const Round& b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const Operation& one, const Operation& other) { return are_alike(one, other); });
}

}  // namespace

std::vector<Stretch> alike_stretches(std::span<const std::unique_ptr<Program>> programs,
                                     uint64_t shortest) {
    const sched::Extent extent = programs.front()->extent();
    if (extent.rounds < shortest) return {};
    // Whether a round is as the one before, on all ranks so far.
    std::vector<bool> goes_on(extent.rounds, true);
    Round before;
    Round now;
    for (const auto& program : programs) {
        const sched::Extent own = program->extent();
        if (own.lanes != 1 || own.rounds != extent.rounds || own.multicasts != 0) return {};
        program->read(0, 0, before);
        for (uint64_t round = 1; round < own.rounds; ++round) {
            program->read(0, round, now);
            if (goes_on[round] && !are_alike(before, now)) goes_on[round] = false;
            std::swap(before, now);
        }
    }
    std::vector<Stretch> found;
    for (uint64_t first = 0; first < extent.rounds;) {
        uint64_t end = first + 1;
        while (end < extent.rounds && goes_on[end]) ++end;
        if (end - first >= shortest) found.push_back({first, end - first});
        first = end;
    }
    return found;
}

}  // namespace tutti::simulate
