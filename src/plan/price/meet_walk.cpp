// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/meet_walk.h"

#include <algorithm>
#include <utility>

#include "base/amounts.h"
#include "base/assert.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::price {

using sched::Rank;

namespace {

// A vector of more pieces is followed as so many longer ones: the pipeline is a little coarser.
constexpr uint64_t kFedPiecesMax = 256;

struct Edge {
    Rank from;
    Rank to;
};

}  // namespace

MeetWalk::MeetWalk(const NodeParameters& node, const Lanes& lanes, LaneServers& servers)
    : node_(node), lanes_(lanes), servers_(servers) {}

MeetWalk::Outcome MeetWalk::begin(Rank rank, const sched::Operation& op, uint64_t ready_ns) {
    meeters_.resize(lanes_.participants);
    Meeter& own = meeters_[rank];
    own.at_ns = std::max(own.at_ns, ready_ns);
    if (sched::is_neighbour(op)) {
        add_neighbour(rank, op);
        return Outcome::kWaits;
    }
    const bool feeds = sched::is_feed(op);
    own.fed = op.order;
    piece_bytes_ = feeds ? op.right.bytes : 0;
    bytes_ = feeds ? sched::fed_block(op).bytes : op.left.bytes;
    is_by_multicast_ = sched::is_meet_multicast(op);
    if (++begun_ < lanes_.participants) return Outcome::kWaits;
    if (feeds && !lanes_.late_ns.empty()) return Outcome::kUnknown;
    if (feeds) {
        feed();
    } else {
        meet();
    }
    return Outcome::kDone;
}

std::vector<uint64_t> MeetWalk::take_ends_ns() {
    TUTTI_ASSERT(begun_ == lanes_.participants, "all have met");
    std::vector<uint64_t> ends_ns;
    for (const Meeter& one : meeters_) ends_ns.push_back(one.at_ns);
    meeters_.clear();
    begun_ = 0;
    return ends_ns;
}

void MeetWalk::add_neighbour(Rank rank, const sched::Operation& op) {
    Meeter& own = meeters_[rank];
    // A receive for each.
    if (!sched::is_near(op)) own.at_ns = servers_.post(rank, own.at_ns);
    if (op.incoming == sched::Incoming::kRight) {
        own.children.push_back(op.peer);
    } else {
        own.parent = op.peer;
        own.is_top = false;
        own.is_near = sched::is_near(op);
    }
}

// Parts flow towards those who are late, and whoever has everything releases all.
void MeetWalk::meet() {
    for (Rank rank = 0; rank < lanes_.participants; ++rank) {
        Meeter& own = meeters_[rank];
        if (!own.is_top) own.unheard = own.parent;
        for (const Rank child : own.children) own.unheard ^= child;
        coming_.push(own.at_ns, {Comes::kItself, rank, rank});
    }
    while (!coming_.empty()) {
        const auto next = coming_.pop();
        come(next.what, next.at_ns);
    }
}

void MeetWalk::come(const Coming& coming, uint64_t at_ns) {
    Meeter& own = meeters_[coming.to];
    if (coming.what == Comes::kRelease) {
        own.at_ns = at_ns;
        return release(coming.to, coming.from);
    }
    uint64_t folds = 0;
    if (coming.what == Comes::kItself) {
        own.has_arrived = true;
        folds = own.heard;
    } else {
        ++own.heard;
        own.unheard ^= coming.from;
        folds = 1;
    }
    TUTTI_ASSERT(own.heard <= own.neighbours(), "one part over each edge");
    if (!own.has_arrived) return;
    const uint64_t fold_ns = bytes_ns(bytes_, node_.reduce_bytes_per_s);
    own.at_ns = std::max(own.at_ns, servers_.move(coming.to, at_ns, folds * fold_ns));
    if (own.heard == own.neighbours()) return release(coming.to, own.sent_to);
    if (own.heard + 1 < own.neighbours() || own.sent_to) return;
    own.sent_to = own.unheard;
    send(Comes::kPart, coming.to, own.unheard);
}

// All but that neighbour, who has everything itself, or has sent the release. Of two who both have
// everything the parent multicasts.
void MeetWalk::release(Rank rank, std::optional<Rank> but) {
    const Meeter& own = meeters_[rank];
    if (is_by_multicast_) {
        if (but && !own.is_top && *but == own.parent) return;
        // Short, so it is not followed along links: behind a part that crossed, if there is one.
        const uint64_t ready_ns = std::max(own.at_ns, servers_.posting_until_ns(rank));
        const uint64_t come_ns =
            servers_.pass_short_multicast(sched::meet_multicast_bytes(bytes_), ready_ns);
        for (Rank other = 0; other < lanes_.participants; ++other) {
            if (other != rank && other != but) meeters_[other].at_ns = come_ns;
        }
        return;
    }
    if (!own.is_top && but != own.parent) send(Comes::kRelease, rank, own.parent);
    for (const Rank child : own.children) {
        if (but != child) send(Comes::kRelease, rank, child);
    }
}

void MeetWalk::send(Comes what, Rank from, Rank to) {
    coming_.push(pass(from, to, meeters_[from].at_ns), {what, to, from});
}

// Words to the middle and back; then pieces, from each to those whom it feeds.
void MeetWalk::feed() {
    const auto top = static_cast<Rank>(
        std::ranges::find_if(meeters_, [](const Meeter& one) { return one.is_top; }) -
        meeters_.begin());
    Meeter& middle = meeters_[top];
    for (const Rank rank : middle.children) {
        const uint64_t come_ns = pass(rank, top, meeters_[rank].at_ns);
        middle.at_ns = std::max(middle.at_ns, servers_.post(top, come_ns));
    }
    // The middle's order, in which each takes the next ones in turn with all that is below them.
    std::vector<Edge> edges;
    std::vector<std::pair<Rank, uint64_t>> feeders{{top, middle.fed}};
    for (const Rank rank : middle.children) {
        meeters_[rank].at_ns = pass(top, rank, middle.at_ns);
        while (feeders.size() > 1 && feeders.back().second == 0) feeders.pop_back();
        --feeders.back().second;
        edges.push_back({feeders.back().first, rank});
        feeders.emplace_back(rank, meeters_[rank].fed);
    }
    const uint64_t piece = std::max(piece_bytes_, (bytes_ + kFedPiecesMax - 1) / kFedPiecesMax);
    for (uint64_t left = bytes_; left > 0;) {
        const uint64_t bytes = std::min(left, piece);
        left -= bytes;
        std::vector<uint64_t> has_ns(meeters_.size(), middle.at_ns);
        for (const auto& [from, to] : edges) {
            const uint64_t at_ns = std::max(has_ns[from], meeters_[to].at_ns);
            has_ns[to] = servers_.pass(from, to, bytes, servers_.post(from, at_ns)).come_ns;
            if (left == 0) meeters_[to].at_ns = has_ns[to];
        }
    }
    for (const auto& [from, to] : edges) {
        meeters_[from].at_ns = std::max(meeters_[from].at_ns, meeters_[to].at_ns);
    }
}

uint64_t MeetWalk::pass(Rank from, Rank to, uint64_t at_ns) {
    const uint64_t bytes =
        piece_bytes_ > 0 ? sched::kFeedMessageBytes : sched::meet_message_bytes(bytes_);
    const bool goes_up = !meeters_[from].is_top && meeters_[from].parent == to;
    if (meeters_[goes_up ? from : to].is_near) {
        const uint64_t copy_ns = bytes_ns(bytes, node_.copy_bytes_per_s);
        return servers_.post(from, at_ns, copy_ns) + node_.flag_ns + copy_ns;
    }
    return servers_.pass(from, to, bytes, servers_.post(from, at_ns)).come_ns;
}

}  // namespace tutti::price
