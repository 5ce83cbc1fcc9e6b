// SPDX-License-Identifier: BSD-3-Clause
// Facts about messages by RDMA, of a team and of a process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/facts.h"
#include "base/result.h"
#include "run/transport/verbs/device.h"

namespace tutti::networks::rdma {

struct RdmaStory {
    bool is_used = false;
    std::string obstacle;  // why not
    std::string port;      // "mlx5_0:1"
    uint64_t peers = 0;    // that this member is connected with
    uint64_t memory_bytes = 0;
    bool is_shared = false;      // connections of an earlier team
    bool polls_tails = false;    // it looks for the ends of messages in memory
    uint64_t additions = 0;      // messages as atomic additions to counters, of both directions
    uint64_t sent_straight = 0;  // long messages
    uint64_t sent_copied = 0;  // and those that it has copied, as one end could not register memory
};

// Its messages are used, or there is an obstacle.
FactRow facts_of(const RdmaStory& story, const Whose& whose);

// Of a process: how much memory it may register, its port, and whether this user can connect.
FactRow facts_of(const Result<std::shared_ptr<transport::verbs::Device>>& device);

}  // namespace tutti::networks::rdma
