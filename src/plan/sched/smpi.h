// SPDX-License-Identifier: BSD-3-Clause
// Schedules as time-independent traces, which SimGrid's `smpirun -replay` runs on a platform.
//
// Source: Casanova, Desprez, Markomanolis, Suter 2015, "Simulation of MPI applications with
// time-independent traces", doi:10.1002/cpe.3278; how `wait` names a request, and that a receive of
// no bytes blocks: src/smpi/internals/smpi_replay.cpp of SimGrid 3.32.
//
// A trace is one sequence a rank, and knows no "whichever comes first". What is said of it:
//   - A send or receive is begun (isend, irecv) as soon as what it depends on has been waited for,
//     by single waits; so lanes overlap.
//   - Who depends on several waits for them, and begins what is ready at once, in the order in
//     which they would come at the speeds of TraceCosts. So a replay on a platform of other speeds,
//     or with congestion, may wait for a lane's message while another's is there already.
//   - From one rank to another on another host no more messages are under way than keep the link
//     full for most of the time, at these speeds: one, if its bytes take twice its latency or more.
//   - Folds and copies are `compute`, one after the other, and hold up the rank's messages.
//   - A message of no bytes is one of one byte.
//   - Operations of a node are messages between its ranks, see the page docs/formats/smpi.md.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/sched/program.h"

namespace tutti::sched {

// The amount of `compute` is nanoseconds: that of a core which does so many of them a second.
inline constexpr uint64_t kTraceFlopsPerS = 1'000'000'000;

// Actions of all ranks: ends of messages, computations, and joints, which take no time. Whether
// they are an operation of the schedule or one of a hundred that an operation of a node is taken
// apart into, each takes some 110 bytes of memory, with its line and what it waits for: an
// allreduce of 16 MiB of 1,024 ranks on 256 hosts is 1.9 million, and 202 MB.
inline constexpr uint32_t kTraceActionsMax = 10'000'000;

struct TraceCosts {
    double reduce_ns_per_byte = 0;
    double copy_ns_per_byte = 0;
    // These say in which order things are waited for, no more: one way between two hosts, and
    // within one.
    uint64_t message_ns = 1000;
    double message_ns_per_byte = 0.08;  // 100 Gbit/s
    uint64_t flag_ns = 100;
    double memory_ns_per_byte = 0.125;
};

// By rank, the Programs of all ranks. An error names what traces cannot say: multicasts,
// those who meet, numbers of messages beyond 31 bits; more than so many actions; or Programs that
// wait for each other.
Result<std::vector<std::string>> print_smpi(std::span<const std::unique_ptr<Program>> programs,
                                            const topo::Placement& placement,
                                            const TraceCosts& costs,
                                            uint32_t actions_max = kTraceActionsMax);

}  // namespace tutti::sched
