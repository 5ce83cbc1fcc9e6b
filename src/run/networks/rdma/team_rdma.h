// SPDX-License-Identifier: BSD-3-Clause
// A team's messages by RDMA writes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/facts.h"
#include "run/networks/message_network.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/transport/verbs/rc.h"

namespace tutti::networks::rdma {

// As members have connected (connect.h).
struct Connected {
    std::unique_ptr<transport::verbs::Rc> messages;  // none where this member has no such peer
    uint64_t memory_bytes = 0;                       // registered for it; 0 where it shares
    bool is_shared = false;                          // by links that an earlier team has made
    std::string port;                                // "mlx5_0:1"
};

class TeamRdma final : public TeamNetwork {
  public:
    // network and placement outlive this.
    TeamRdma(RdmaNetwork& network, const topo::Placement& placement, uint32_t rank)
        : network_(network), placement_(placement), rank_(rank) {}
    Result<Done> make(agree::Circle& all, const TeamTraits& traits) override;

    [[nodiscard]] transport::Transport* messages() override { return connected_.messages.get(); }
    [[nodiscard]] std::span<const transport::Rank> peers() const override;
    bool close() override;
    void give_up() override { connected_.messages->give_up(); }
    bool has_settled(bool is_sound) override;
    [[nodiscard]] FactRow facts(const Whose& whose) const override;

  private:
    RdmaNetwork& network_;
    const topo::Placement& placement_;
    const uint32_t rank_;
    Connected connected_;
};

}  // namespace tutti::networks::rdma
