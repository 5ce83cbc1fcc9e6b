// SPDX-License-Identifier: BSD-3-Clause
// Exact numbers of a schedule: rounds, messages and bytes. Nothing here is an estimate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/topo/placement.h"
#include "plan/sched/program.h"

namespace tutti::check {

using sched::Program;
using sched::Rank;

// Of one rank, all lanes together. A bundle counts at the leaders that carry it, where these have
// messages in it themselves; its bytes count at the ranks whose messages they are.
struct Count {
    uint64_t rounds = 0;  // of the longest lane, up to the last that is not empty
    uint64_t messages_sent = 0;
    uint64_t bytes_sent = 0;
    uint64_t messages_received = 0;
    uint64_t bytes_received = 0;
    uint64_t node_operations = 0;
    // Results of kReduce and kRecvReduce, and a vector for each kMeetWith; the node's folds are not
    // here.
    uint64_t reduced_bytes = 0;
    // A multicast is none of the messages above, and is sent once, however many receive it.
    uint64_t multicasts_sent = 0;
    uint64_t multicast_bytes_sent = 0;
    uint64_t multicasts_received = 0;
    uint64_t multicast_bytes_received = 0;
    bool operator==(const Count&) const = default;
};

Count count(const Program& program);
// The largest of each number by itself.
Count maximum(std::span<const Count> counts);

// One message of a step, or one multicast with all its receivers.
struct Passage {
    Rank sender = 0;
    Rank receiver = 0;  // of a multicast 0: all but the sender receive it
    uint64_t bytes = 0;
    uint64_t lane = 0;     // of a multicast: at its sender
    uint64_t message = 0;  // its number; of a multicast: its order
    bool is_multicast = false;
    bool operator==(const Passage&) const = default;
};

// The messages of each global step, in the order of sender, receiver, lane and message, multicasts
// behind a sender's messages. A bundle is one message between its leaders. A message's step is the
// length of the longest chain of messages before it, each of which had to be complete at one end of
// the next before that was posted there; a multicast is a message with many ends. Node operations
// cost no step, but chains go through them. Programs that prove() finds fault with give the steps
// as far as they get.
std::vector<std::vector<Passage>> steps(const topo::Placement& placement,
                                        std::span<const std::unique_ptr<Program>> programs);

// The longest chain of dependent messages: the number of steps.
uint64_t critical_rounds(const topo::Placement& placement,
                         std::span<const std::unique_ptr<Program>> programs);

}  // namespace tutti::check
