// SPDX-License-Identifier: BSD-3-Clause
// Connections by RDMA of earlier teams, for a team whose members make their calls in turn: it takes
// them where all have the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "run/networks/rdma/process_links.h"
#include "run/networks/rdma/rdma_network.h"
#include "run/transport/verbs/links.h"

namespace tutti::networks::rdma {

// One that would do for a member.
struct LinksOffer {
    uint64_t id = 0;                            // 0: none
    transport::verbs::LinkTeams::Numbers free;  // numbers that the team may have on them
};

// What a member says of those that would do: the newest ones, as far as they have room for a team.
// Another member may have fewer, so that one alone may not be the one. Plain data, and short, as
// each member gets all of them.
struct LinksOffers {
    static constexpr size_t kOffersMax = 4;
    uint64_t needs_none = 0;  // it has no peers
    std::array<LinksOffer, kOffersMax> of;
};

struct FoundLinks {
    std::shared_ptr<ProcessLinks> links;
    std::vector<uint32_t> link_of;  // by peer
};

// By offer.
struct Candidates {
    LinksOffers offers;
    std::array<FoundLinks, LinksOffers::kOffersMax> found;
};

// Of this member, whose peers are these (Process::member()). None where two of them, or one and
// this one, are of one context, as they cannot be told apart. sleeps: only such as whoever waits
// may sleep for. Throws std::bad_alloc.
Candidates find_links(RdmaNetwork& network, std::span<const uint64_t> peers, bool sleeps);
// Peers that can be told apart from each other and from this one.
bool are_apart(uint64_t own, std::span<const uint64_t> peers);

struct Choice {
    uint64_t id = 0;
    uint32_t number = 0;  // of the team on them
};
// The oldest that all have offered who need any, as the first of these sees it, with the lowest
// number that is free at all of them; nothing where there are none. The oldest, so that those which
// a larger team made for itself end with it.
std::optional<Choice> choose_links(std::span<const LinksOffers> members);

}  // namespace tutti::networks::rdma
