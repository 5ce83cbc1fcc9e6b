// SPDX-License-Identifier: BSD-3-Clause
// Long schedules by law. A ring of 4,096 ranks sends 33 million messages, but its rounds are alike:
// each rank does in each the same as in the one before, and after some of them every further one
// takes as long as the last. So a few are simulated, and the rest is counted.
//
// A *stretch* is a run of rounds that are alike on every rank: the same operations with the same
// peers, as long as in the round before but for the element that does not divide, waiting for the
// same of it.
// Keeping the first K rounds of each stretch (plan/sched/shortened.h) leaves a schedule in which
// every message still has both its ends, since all ranks take away the same rounds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/sched/program.h"
#include "plan/sched/shortened.h"

namespace tutti::simulate {

using sched::Stretch;

// Those of at least `shortest` rounds, ascending, the same for all ranks. None where ranks have
// different numbers of rounds, or several lanes: these take turns on a link, and how often does not
// fall in step with the rounds. Reads every round of every rank.
std::vector<Stretch> alike_stretches(std::span<const std::unique_ptr<sched::Program>> programs,
                                     uint64_t shortest);

}  // namespace tutti::simulate
