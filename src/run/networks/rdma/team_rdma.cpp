// SPDX-License-Identifier: BSD-3-Clause
#include "run/networks/rdma/team_rdma.h"

#include <algorithm>

#include "run/networks/rdma/connect.h"
#include "run/networks/rdma/rdma_facts.h"

namespace tutti::networks::rdma {

Result<Done> TeamRdma::make(agree::Circle& all, const TeamTraits& traits) {
    return connect(network_, placement_, traits, all, connected_);
}

std::span<const transport::Rank> TeamRdma::peers() const {
    if (connected_.messages.empty()) return {};
    return connected_.messages.front()->peers();
}

// What was sent may be on its way, and the other ends may still give slots back.
bool TeamRdma::close() {
    bool are_closed = true;
    for (const auto& one : connected_.messages) {
        one->close();
        are_closed &= one->is_closed();
    }
    return are_closed;
}

void TeamRdma::give_up() {
    for (const auto& one : connected_.messages) one->give_up();
}

// A queue pair gives up a peer that is gone, so this ends. Nobody waits for what a failed team has
// sent. But the device may still read it, by connections that other teams share: they would fail if
// its memory went.
bool TeamRdma::has_settled(bool is_sound) {
    bool have_settled = true;
    for (const auto& one : connected_.messages) {
        is_sound ? one->close() : one->poll();
        have_settled &= is_sound ? one->has_left() : !one->is_read_from();
    }
    return have_settled;
}

FactRow TeamRdma::facts(const Whose& whose) const {
    RdmaStory story;
    story.is_used = true;
    story.port = connected_.port;
    story.memory_bytes = connected_.memory_bytes;
    story.is_shared = connected_.is_shared;
    const auto own = std::ranges::count(peers(), rank_);
    story.peers = peers().size() - static_cast<size_t>(own);
    for (const auto& one : connected_.messages) {
        story.polls_tails = one->polls_tails();
        story.additions += one->additions();
        story.sent_straight += one->sent_straight();
        story.sent_copied += one->sent_copied();
    }
    return facts_of(story, whose);
}

}  // namespace tutti::networks::rdma
