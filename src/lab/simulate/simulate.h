// SPDX-License-Identifier: BSD-3-Clause
// How long would this call take on that cluster? The schedule and the code are the real ones, run
// by every rank in one thread and in virtual time (lab/simulate/cluster_simulator.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/topo/placement.h"
#include "lab/simulate/background.h"
#include "plan/algo/plan.h"
#include "plan/price/cluster_parameters.h"
#include "run/transport/sim/cluster.h"

namespace tutti::simulate {

struct SimulationRequest {
    const algo::Algorithm* algorithm = nullptr;
    sched::Shape shape;  // shape.nodes is not set
    const topo::Placement* placement = nullptr;
    algo::Tuning tuning;
    transport::sim::Cluster cluster;  // a host for every node of the placement
    price::NodeParameters costs;
    // Every rank has buffers of its own and the results are compared with a direct computation.
    // Without: all ranks share one set of buffers, and only time and counts mean something.
    bool has_data = true;
    uint64_t seed = 1;
    // By rank: it comes so long after the first one could. Empty: all come together. Else there is
    // no simulation by law.
    std::vector<uint64_t> late_ns = {};
    // Foreign ranks, on hosts behind those of the placement.
    BackgroundLoad background = {};
    // Schedules of more rounds, of all ranks together, are simulated by law where they have rounds
    // that are alike (alike_rounds.h), all links have one latency, and there are neither data nor a
    // background. Where latencies differ, a round's delay goes around a ring host by host, and a
    // few rounds say nothing of the others.
    uint64_t rounds_max = uint64_t{4} << 20;
    bool only_by_law = false;  // an error of code kOff where there is none
};

struct SimulationResult {
    uint64_t time_ns = 0;           // until the last rank was done; all began together
    std::vector<uint64_t> rank_ns;  // until each was
    uint64_t last_arrival_ns = 0;   // see SimulationRequest::late_ns
    uint64_t inside_ns = 0;         // from its arrival until it was done: the mean of all ranks
    uint64_t messages = 0;          // between ranks of different hosts, without the background's
    uint64_t bytes = 0;             // of these
    uint64_t multicasts = 0;        // each counted once
    uint64_t multicast_bytes = 0;   // of these
    uint64_t memory_messages = 0;   // between ranks of one host that the schedule sends
    uint64_t memory_bytes = 0;
    std::vector<uint64_t> link_bytes;  // by link, see topo::Fabric::links; with the background's
    // Of rounds that are alike some were simulated, and the others counted as the last of these.
    // Then there is no rank_ns: what is seen of a few rounds holds for the slowest rank.
    bool is_by_law = false;

    // From the last arrival until the last rank was done.
    [[nodiscard]] uint64_t delay_ns() const { return time_ns - last_arrival_ns; }
};

// An error if the algorithm cannot run here, if ranks are stuck or if a result is wrong.
Result<SimulationResult> run(const SimulationRequest& request);

}  // namespace tutti::simulate
