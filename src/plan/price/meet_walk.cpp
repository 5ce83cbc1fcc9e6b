// SPDX-License-Identifier: BSD-3-Clause
// Those who meet, each from when it comes: run/adapt/saturation.h with the network's times. Those
// who are fed, as if all came at once.
#include <algorithm>

#include "base/amounts.h"
#include "plan/price/lane_walk.h"

namespace tutti::price {

using sched::OperationKind;
using sched::Rank;

namespace {

// A vector of more pieces is followed as so many longer ones: the pipeline is a little coarser.
constexpr uint64_t kFedPiecesMax = 256;

struct Edge {
    Rank from;
    Rank to;
};

}  // namespace

void LaneWalk::post_meet(const End& end, const sched::Operation& op) {
    meeters_.resize(lanes_.participants);
    Meeter& own = meeters_[end.participant];
    own.ends.push_back(end);
    own.at_ns = std::max(own.at_ns, end.ready_ns);
    if (op.kind == OperationKind::kMeetWith) {
        // A receive for each.
        if (!sched::is_near(op)) {
            own.at_ns = serve(posters_[end.participant], own.at_ns, network_.message_ns);
        }
        if (op.incoming == sched::Incoming::kRight) {
            own.children.push_back(op.peer);
        } else {
            own.parent = op.peer;
            own.is_top = false;
            own.is_near = sched::is_near(op);
        }
        return;
    }
    const bool feeds = op.kind == OperationKind::kFeed;
    own.fed = op.order;
    piece_bytes_ = feeds ? op.right.bytes : 0;
    meet_bytes_ = feeds ? sched::fed_block(op).bytes : op.left.bytes;
    meets_by_multicast_ = op.kind == OperationKind::kMeetMulticast;
    if (++meeting_count_ < lanes_.participants) return;
    if (feeds) {
        go_through_feed();
    } else {
        go_through_meet();
    }
}

// Parts flow towards those who are late, and whoever has everything releases all.
void LaneWalk::go_through_meet() {
    for (Rank rank = 0; rank < lanes_.participants; ++rank) {
        Meeter& own = meeters_[rank];
        if (!own.is_top) own.unheard = own.parent;
        for (const Rank child : own.children) own.unheard ^= child;
        coming_.push({own.at_ns, coming_count_++, Comes::kItself, rank, rank});
    }
    while (!coming_.empty()) {
        const Coming next = coming_.top();
        coming_.pop();
        come(next);
    }
    end_meet();
}

void LaneWalk::come(const Coming& coming) {
    Meeter& own = meeters_[coming.to];
    if (coming.what == Comes::kRelease) {
        own.at_ns = coming.at_ns;
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
    if (!own.has_arrived) return;
    const uint64_t fold_ns = bytes_ns(meet_bytes_, node_.reduce_bytes_per_s);
    own.at_ns = std::max(own.at_ns, serve(movers_[coming.to], coming.at_ns, folds * fold_ns));
    if (own.heard == own.neighbours()) return release(coming.to, own.sent_to);
    if (own.heard + 1 < own.neighbours() || own.sent_to) return;
    own.sent_to = own.unheard;
    send_meet(Comes::kPart, coming.to, own.unheard);
}

// All but that neighbour, who has everything itself, or has sent the release. Of two who both have
// everything the parent multicasts.
void LaneWalk::release(Rank rank, std::optional<Rank> but) {
    const Meeter& own = meeters_[rank];
    if (meets_by_multicast_) {
        if (but && !own.is_top && *but == own.parent) return;
        // Short, so it is not followed along links: behind a part that crossed, if there is one.
        const uint64_t ready_ns = std::max(own.at_ns, posters_[rank].busy_until_ns);
        const uint64_t ns = network_.multicast_ns(sched::meet_multicast_bytes(meet_bytes_));
        const uint64_t come_ns = serve(multicast_, ready_ns, ns) + network_.multicast.latency_ns;
        for (Rank other = 0; other < lanes_.participants; ++other) {
            if (other != rank && other != but) meeters_[other].at_ns = come_ns;
        }
        return;
    }
    if (!own.is_top && but != own.parent) send_meet(Comes::kRelease, rank, own.parent);
    for (const Rank child : own.children) {
        if (but != child) send_meet(Comes::kRelease, rank, child);
    }
}

void LaneWalk::send_meet(Comes what, Rank from, Rank to) {
    const uint64_t come_ns = pass_meet(from, to, meeters_[from].at_ns);
    coming_.push({come_ns, coming_count_++, what, to, from});
}

void LaneWalk::end_meet() {
    const std::vector<Meeter> all = std::move(meeters_);
    meeters_.clear();
    meeting_count_ = 0;
    for (const Meeter& one : all) {
        for (const End& end : one.ends) complete(end, one.at_ns);
    }
}

// Words to the middle and back; then pieces, from each to those whom it feeds.
void LaneWalk::go_through_feed() {
    if (!lanes_.late_ns.empty()) {
        is_unknown_ = true;
        return;
    }
    const auto top = static_cast<Rank>(
        std::ranges::find_if(meeters_, [](const Meeter& one) { return one.is_top; }) -
        meeters_.begin());
    Meeter& middle = meeters_[top];
    for (const Rank rank : middle.children) {
        const uint64_t come_ns = pass_meet(rank, top, meeters_[rank].at_ns);
        middle.at_ns = std::max(middle.at_ns, serve(posters_[top], come_ns, network_.message_ns));
    }
    // The middle's order, in which each takes the next ones in turn with all that is below them.
    std::vector<Edge> edges;
    std::vector<std::pair<Rank, uint64_t>> feeders{{top, middle.fed}};
    for (const Rank rank : middle.children) {
        meeters_[rank].at_ns = pass_meet(top, rank, middle.at_ns);
        while (feeders.size() > 1 && feeders.back().second == 0) feeders.pop_back();
        --feeders.back().second;
        edges.push_back({feeders.back().first, rank});
        feeders.emplace_back(rank, meeters_[rank].fed);
    }
    const uint64_t piece =
        std::max(piece_bytes_, (meet_bytes_ + kFedPiecesMax - 1) / kFedPiecesMax);
    for (uint64_t left = meet_bytes_; left > 0;) {
        const uint64_t bytes = std::min(left, piece);
        left -= bytes;
        std::vector<uint64_t> has_ns(meeters_.size(), middle.at_ns);
        for (const auto& [from, to] : edges) {
            const uint64_t at_ns = std::max(has_ns[from], meeters_[to].at_ns);
            const uint64_t posted_ns = serve(posters_[from], at_ns, network_.message_ns);
            has_ns[to] = pass(lanes_.host_of[from], lanes_.host_of[to], bytes, posted_ns).come_ns;
            if (left == 0) meeters_[to].at_ns = has_ns[to];
        }
    }
    for (const auto& [from, to] : edges) {
        meeters_[from].at_ns = std::max(meeters_[from].at_ns, meeters_[to].at_ns);
    }
    end_meet();
}

uint64_t LaneWalk::pass_meet(Rank from, Rank to, uint64_t at_ns) {
    const uint64_t bytes =
        piece_bytes_ > 0 ? sched::kFeedMessageBytes : sched::meet_message_bytes(meet_bytes_);
    const bool goes_up = !meeters_[from].is_top && meeters_[from].parent == to;
    if (meeters_[goes_up ? from : to].is_near) {
        const uint64_t copy_ns = bytes_ns(bytes, node_.copy_bytes_per_s);
        return serve(posters_[from], at_ns, copy_ns) + node_.flag_ns + copy_ns;
    }
    const uint64_t posted_ns = serve(posters_[from], at_ns, network_.message_ns);
    return pass(lanes_.host_of[from], lanes_.host_of[to], bytes, posted_ns).come_ns;
}

}  // namespace tutti::price
