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
    if (!connected_.messages) return {};
    return connected_.messages->peers();
}

// What was sent may be on its way, and the other ends may still give slots back.
bool TeamRdma::close() {
    connected_.messages->close();
    return connected_.messages->is_closed();
}

// A queue pair gives up a peer that is gone, so this ends. Nobody waits for what a failed team has
// sent. But the device may still read it, by connections that other teams share: they would fail if
// its memory went.
bool TeamRdma::has_settled(bool is_sound) {
    transport::verbs::Rc& messages = *connected_.messages;
    if (is_sound) {
        messages.close();
        return messages.has_left();
    }
    messages.poll();
    return !messages.is_read_from();
}

FactRow TeamRdma::facts(const Whose& whose) const {
    RdmaStory story;
    story.is_used = true;
    story.port = connected_.port;
    story.memory_bytes = connected_.memory_bytes;
    story.is_shared = connected_.is_shared;
    if (connected_.messages) {
        const transport::verbs::Rc& messages = *connected_.messages;
        const auto own = std::ranges::count(messages.peers(), rank_);
        story.peers = messages.peers().size() - static_cast<size_t>(own);
        story.polls_tails = messages.polls_tails();
        story.additions = messages.additions();
        story.sent_straight = messages.sent_straight();
        story.sent_copied = messages.sent_copied();
    }
    return facts_of(story, whose);
}

}  // namespace tutti::networks::rdma
