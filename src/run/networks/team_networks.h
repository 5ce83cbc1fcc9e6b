// SPDX-License-Identifier: BSD-3-Clause
// The networks of a team across hosts: by which one the messages of each of its tracks go to each
// peer. Tracks may share connections (RDMA), or have their own (loopback).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/facts.h"
#include "base/networks.h"
#include "run/networks/message_network.h"
#include "run/transport/faulty/faulty.h"
#include "run/transport/routes/routes.h"

namespace tutti::networks {

// Of a process, by number (base/networks.h).
using Networks = std::vector<std::unique_ptr<Network>>;

class TeamNetworks {
  public:
    // plain: the embedder's messages of each track, always there. Of `all` those that the settings
    // want are tried. These and the placement outlive this. Throws std::bad_alloc.
    TeamNetworks(const std::vector<transport::Transport*>& plain, const Networks& all,
                 const Settings& settings, const topo::Placement& placement, uint32_t rank);
    TeamNetworks(const TeamNetworks&) = delete;
    TeamNetworks& operator=(const TeamNetworks&) = delete;

    // One that the settings want.
    struct Part {
        size_t number = 0;
        Network* network = nullptr;
        std::unique_ptr<TeamNetwork> team;  // none: it was dropped
        bool is_used = false;
        std::string obstacle;  // without: why; the same text on all members
    };
    // In the order in which they are tried, while the team is made.
    [[nodiscard]] std::span<Part> parts() { return parts_; }
    // It is made: messages go by it to the peers that it reaches and no earlier one does. Allocates
    // nothing.
    void use(Part& part);
    // It is not. Allocates nothing.
    static void drop(Part& part, std::string obstacle);

    // By which a track's messages go to each peer; held back on the way under TUTTI_FAULTS.
    [[nodiscard]] transport::Transport& transport(uint32_t track);
    // A call may give back its receives. What is held back cannot be withdrawn.
    [[nodiscard]] bool can_withdraw_receives() const { return faulty_.empty() && gives_back(); }
    // The same without regard to TUTTI_FAULTS, so that plans are the same with and without.
    [[nodiscard]] bool gives_back() const { return routes_.front().can_withdraw_receives(); }
    // This member reaches peers by one of them.
    [[nodiscard]] bool has_messages() const;
    // Those in use; alike on all members.
    [[nodiscard]] NetworkSet in_use() const;

    // ---- as TeamNetwork says, of all that this member reaches peers by ----
    [[nodiscard]] bool close();
    void give_up();
    [[nodiscard]] bool has_settled(bool is_sound);

    void tell(std::vector<FactRow>& rows, const Whose& whose) const;

  private:
    // Those with messages.
    template <class Do>
    void for_each_used(Do what);

    std::deque<transport::Routes> routes_;  // by track; they stay where they are
    std::deque<transport::Faulty> faulty_;  // likewise, where faults are wanted
    std::vector<Part> parts_;
};

}  // namespace tutti::networks
