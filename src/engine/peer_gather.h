// SPDX-License-Identifier: BSD-3-Clause
// An allgather among a few ranks of a team by messages, for the time before there is a team: the
// members of one node tell each other what the other nodes need not know.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "transport/transport.h"

namespace tutti::engine {

class PeerGather {
  public:
    // members: ranks of the team, ascending; index: the own one among them. All memory is made
    // here, for rounds of at most kBytesMax a member.
    PeerGather(transport::Transport& network, std::span<const uint32_t> members, uint32_t index);
    ~PeerGather();
    PeerGather(const PeerGather&) = delete;
    PeerGather& operator=(const PeerGather&) = delete;

    static constexpr size_t kBytesMax = 512;
    // A callback as in tutti_team_params; `self` is a PeerGather. Waits, yielding.
    static int allgather(void* self, const void* in, void* out, size_t bytes);

  private:
    struct Messages;
    int gather(const void* in, void* out, size_t bytes);
    void post(size_t bytes);
    bool complete();

    transport::Transport& network_;
    std::span<const uint32_t> members_;
    uint32_t index_;
    std::unique_ptr<Messages> messages_;  // none after a failure
};

}  // namespace tutti::engine
