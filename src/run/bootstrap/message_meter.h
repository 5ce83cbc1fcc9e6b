// SPDX-License-Identifier: BSD-3-Clause
// How fast the embedder's messages are between two hosts: what multicast has to beat.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "plan/sched/shape.h"
#include "run/bootstrap/peer_pair.h"
#include "run/engine/inter_node.h"

namespace tutti::bootstrap {

// One rank's end. Both ends measure at the same time, and nothing else of the team is under way.
// All memory is made here.
class MessageMeter {
  public:
    // The ranks `own` and `partner` of the team, whose way to other nodes it is.
    MessageMeter(engine::InterNode& inter_node, Clock& clock, uint32_t own, uint32_t partner);
    // speed: what this end knows of the other from an earlier time, or 0; then what both know.
    // Where one of them knows nothing, they measure: some 50 messages up and down, some 10 ms where
    // they are slow. False where a message failed; then let_go() is to be kept for good.
    bool measure(sched::Speed& speed);
    [[nodiscard]] std::unique_ptr<PeerGather> let_go() { return pair_.let_go(); }

  private:
    bool measure_latency(uint64_t& latency_ns);
    // ns: becomes that time if it is shorter.
    bool time_exchange(size_t bytes, uint64_t& ns);
    bool measure_rate(uint64_t latency_ns, uint64_t& mbit);

    Clock& clock_;
    PeerPair pair_;
};

}  // namespace tutti::bootstrap
