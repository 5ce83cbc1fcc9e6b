// SPDX-License-Identifier: BSD-3-Clause
// An allgather among a few ranks of a team by messages, for the time before there is a team: the
// members of one node tell each other what the other nodes need not know.
#pragma once

#include <cstdint>
#include <span>

#include "transport/transport.h"

namespace tutti::engine {

struct PeerGather {
    transport::Transport* network = nullptr;
    std::span<const uint32_t> members;  // ranks of the team, ascending
    uint32_t index = 0;                 // the own one among them

    // A callback as in tutti_team_params; `self` is a PeerGather. Waits, yielding.
    static int allgather(void* self, const void* in, void* out, size_t bytes);
};

}  // namespace tutti::engine
