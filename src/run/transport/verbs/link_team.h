// SPDX-License-Identifier: BSD-3-Clause
// A team on links, from when it joins them until they forget it: its peers, what these share, and
// its end, by leaving or by failing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "run/transport/verbs/links.h"
#include "run/transport/verbs/team_peer.h"
#include "run/transport/verbs/team_share.h"

namespace tutti::transport::verbs {

class LinkTeam {
  public:
    // As Rc has them. Joins the links, which forget it at its end.
    LinkTeam(Links& links, uint32_t number, std::vector<Rank> ranks,
             std::span<const uint32_t> link_of, size_t direct_bytes);
    ~LinkTeam();
    LinkTeam(const LinkTeam&) = delete;
    LinkTeam& operator=(const LinkTeam&) = delete;

    [[nodiscard]] TeamShare& share() { return share_; }
    [[nodiscard]] const TeamShare& share() const { return share_; }
    // Of the peers.
    [[nodiscard]] std::span<const Rank> ranks() const { return ranks_; }
    [[nodiscard]] std::span<TeamPeer> peers() { return peers_; }
    [[nodiscard]] TeamPeer& peer(Rank rank);
    // nullptr: that rank is none.
    [[nodiscard]] const TeamPeer* find(Rank rank) const;

    // See Rc.
    void close();
    void give_up();
    [[nodiscard]] bool is_read_from() const;

    // ---- for Links ----
    [[nodiscard]] uint32_t number() const { return share_.number; }
    [[nodiscard]] bool has_closed() const { return share_.is_closing; }
    [[nodiscard]] bool has_given_up() const { return share_.is_given_up; }
    // What was sent is there.
    [[nodiscard]] bool has_gone() const;
    // Nothing more comes, nor goes.
    [[nodiscard]] bool has_parted() const;

  private:
    void drop_unwanted();

    Links& links_;
    const std::vector<Rank> ranks_;
    // A slot for each stream of each peer; untouched at first.
    const std::unique_ptr<std::byte[]> unexpected_;
    TeamShare share_;
    std::vector<TeamPeer> peers_;  // by rank; they stay where they are
};

}  // namespace tutti::transport::verbs
