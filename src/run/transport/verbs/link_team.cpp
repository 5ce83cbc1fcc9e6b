// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/verbs/link_team.h"

#include <algorithm>

#include "base/assert.h"

namespace tutti::transport::verbs {

LinkTeam::LinkTeam(Links& links, uint32_t number, std::vector<Rank> ranks,
                   std::span<const uint32_t> link_of, size_t direct_bytes)
    : links_(links),
      ranks_(std::move(ranks)),
      unexpected_(
          std::make_unique_for_overwrite<std::byte[]>(ranks_.size() * kSlotsMax * kSlotBytes)),
      share_(links.endpoint(), number, direct_bytes, static_cast<uint32_t>(ranks_.size())) {
    TUTTI_ASSERT(std::ranges::is_sorted(ranks_), "peers ascend");
    peers_.reserve(ranks_.size());
    for (uint32_t index = 0; index < ranks_.size(); ++index) {
        std::byte* unexpected = unexpected_.get() + size_t{index} * kSlotsMax * kSlotBytes;
        peers_.emplace_back(share_, index, ranks_[index], links_.at(link_of[index]), unexpected);
    }
    links_.join(*this);
    for (TeamPeer& peer : peers_) peer.link().peers().join(number, peer);
}

// Operations that are not under way have none registered.
LinkTeam::~LinkTeam() {
    for (TeamPeer& peer : peers_) peer.receives().drop_pieces();
    share_.pool.for_all([&](Operation& one) { share_.exposures.give_back(one.lease); });
    share_.exposures.conceal_all();
    for (TeamPeer& peer : peers_) peer.link().peers().forget(number());
    links_.forget(*this);
}

const TeamPeer* LinkTeam::find(Rank rank) const {
    const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
    return found != ranks_.end() && *found == rank ? &peers_[found - ranks_.begin()] : nullptr;
}

TeamPeer& LinkTeam::peer(Rank rank) {
    const TeamPeer* found = find(rank);
    TUTTI_ASSERT(found, "the peer is connected");
    return peers_[found - peers_.data()];
}

void LinkTeam::drop_unwanted() {
    for (TeamPeer& peer : peers_) peer.receives().drop_unwanted();
}

void LinkTeam::close() {
    if (share_.is_closing) return;
    share_.is_closing = true;
    for (TeamPeer& peer : peers_) peer.close();
    drop_unwanted();
    links_.leave(*this);
}

// A write of another team's that is still to be sent would fail with what is given up.
void LinkTeam::give_up() {
    if (!share_.is_closing && !share_.is_given_up) {
        share_.is_given_up = true;
        drop_unwanted();
        links_.fail(*this);
    }
    if (links_.has_others(*this)) return;
    share_.pool.for_all([&](Operation& one) {
        if (one.is_given_up) share_.exposures.give_back(one.lease);
    });
}

bool LinkTeam::is_read_from() const {
    if (!links_.has_others(*this)) return false;
    bool is_read = false;
    share_.pool.for_all(
        [&](const Operation& one) { is_read |= one.is_given_up && one.is_registered(); });
    return is_read;
}

bool LinkTeam::has_gone() const { return std::ranges::all_of(peers_, &TeamPeer::has_gone); }

bool LinkTeam::has_parted() const {
    if (!share_.is_used && !share_.is_closing) return true;
    return share_.is_closing && has_gone() && std::ranges::all_of(peers_, &TeamPeer::has_parted);
}

}  // namespace tutti::transport::verbs
