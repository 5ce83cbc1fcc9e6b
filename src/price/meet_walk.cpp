// SPDX-License-Identifier: BSD-3-Clause
// Those who meet, as if all came when they are ready to: parts go up to the top of their tree, and
// the release down from there. Likewise those who are fed.
#include <algorithm>

#include "base/amounts.h"
#include "price/lane_walk.h"

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
        own.at_ns = serve(posters_[end.participant], own.at_ns, network_.message_ns);
        if (op.incoming == sched::Incoming::kRight) {
            own.children.push_back(op.peer);
        } else {
            own.parent = op.peer;
            own.is_top = false;
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

void LaneWalk::go_through_meet() {
    std::vector<Rank> downwards;
    for (Rank rank = 0; rank < lanes_.participants; ++rank) {
        if (meeters_[rank].is_top) downwards.push_back(rank);
    }
    for (size_t next = 0; next < downwards.size(); ++next) {
        const std::vector<Rank>& children = meeters_[downwards[next]].children;
        downwards.insert(downwards.end(), children.begin(), children.end());
    }
    const uint64_t fold_ns = bytes_ns(meet_bytes_, node_.reduce_bytes_per_s);
    for (size_t behind = downwards.size(); behind > 0; --behind) {
        const Rank rank = downwards[behind - 1];
        const Meeter& one = meeters_[rank];
        if (one.is_top) continue;
        Meeter& parent = meeters_[one.parent];
        const uint64_t come_ns = pass_meet(rank, one.parent, one.at_ns);
        parent.at_ns = std::max(parent.at_ns, serve(movers_[one.parent], come_ns, fold_ns));
    }
    if (meets_by_multicast_) {
        const Rank top = downwards.front();
        const uint64_t come_ns = pass_multicast(
            lanes_.host_of[top], sched::meet_multicast_bytes(meet_bytes_), meeters_[top].at_ns);
        for (Meeter& one : meeters_) one.at_ns = come_ns;
        downwards.clear();
    }
    for (const Rank rank : downwards) {
        for (const Rank child : meeters_[rank].children) {
            meeters_[child].at_ns = pass_meet(rank, child, meeters_[rank].at_ns);
        }
    }
    end_meet();
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
    const uint64_t posted_ns = serve(posters_[from], at_ns, network_.message_ns);
    const uint64_t bytes =
        piece_bytes_ > 0 ? sched::kFeedMessageBytes : sched::meet_message_bytes(meet_bytes_);
    return pass(lanes_.host_of[from], lanes_.host_of[to], bytes, posted_ns).come_ns;
}

}  // namespace tutti::price
