// SPDX-License-Identifier: BSD-3-Clause
// One rank's end of an exchange of messages with a rank of another host. Nothing else of the team
// is under way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "run/bootstrap/peer_gather.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/inter_node.h"

namespace tutti::bootstrap {

// For a team whose ranks cannot talk to each other any more. Why, by what this one has seen; that
// may be nothing.
inline Error cut_off(const transport::Transport& transport) {
    const std::string why = transport.error();
    return {ErrorCode::kBootstrap,
            "a message to another host failed" + (why.empty() ? "" : ": " + why)};
}

class PeerPair {
  public:
    // The ranks `own` and `partner` of the team, whose way to other nodes it is. All memory is made
    // here.
    PeerPair(engine::InterNode& inter_node, uint32_t own, uint32_t partner,
             size_t bytes_max = PeerGather::kBytesMax)
        : ranks_{std::min(own, partner), std::max(own, partner)},
          place_(own < partner ? 0 : 1),
          gather_(std::make_unique<PeerGather>(inter_node.first().transport(),
                                               inter_node.first().messages().notes(), ranks_,
                                               place_, bytes_max)),
          both_(place_, 2, PeerGather::allgather, gather_.get()) {}
    PeerPair(const PeerPair&) = delete;
    PeerPair& operator=(const PeerPair&) = delete;

    // The own one of the two, in the order of their ranks.
    [[nodiscard]] uint32_t place() const { return place_; }
    Circle& both() { return both_; }
    PeerGather& gather() { return *gather_; }
    // Where a message has failed, it is to be kept for good.
    [[nodiscard]] std::unique_ptr<PeerGather> let_go() { return std::move(gather_); }

  private:
    std::array<uint32_t, 2> ranks_;  // ascending
    uint32_t place_;
    std::unique_ptr<PeerGather> gather_;
    Circle both_;  // by its way
};

}  // namespace tutti::bootstrap
