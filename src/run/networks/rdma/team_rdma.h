// SPDX-License-Identifier: BSD-3-Clause
// A team's messages by RDMA writes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/facts.h"
#include "run/networks/message_network.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/transport/verbs/rc.h"

namespace tutti::networks::rdma {

// As members have connected (connect.h).
struct Connected {
    // Of each track, on the same connections; none where this member has no such peer.
    std::vector<std::unique_ptr<transport::verbs::Rc>> messages;
    uint64_t memory_bytes = 0;  // registered for it; 0 where it shares
    bool is_shared = false;     // by links that an earlier team has made
    std::string port;           // "mlx5_0:1"
};

class TeamRdma final : public TeamNetwork {
  public:
    // network and placement outlive this.
    TeamRdma(RdmaNetwork& network, const topo::Placement& placement, uint32_t rank)
        : network_(network), placement_(placement), rank_(rank) {}
    Result<Done> make(agree::Circle& all, const TeamTraits& traits) override;

    [[nodiscard]] transport::Transport* messages(uint32_t track) override {
        return connected_.messages.empty() ? nullptr : connected_.messages[track].get();
    }
    [[nodiscard]] std::span<const transport::Rank> peers() const override;
    bool close() override;
    void give_up() override;
    bool has_settled(bool is_sound) override;
    [[nodiscard]] FactRow facts(const Whose& whose) const override;

  private:
    RdmaNetwork& network_;
    const topo::Placement& placement_;
    const uint32_t rank_;
    Connected connected_;
};

}  // namespace tutti::networks::rdma
