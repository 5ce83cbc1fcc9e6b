// SPDX-License-Identifier: BSD-3-Clause
// Those who meet, as if all came when they are ready to: parts go up to the top of their tree, and
// the release down from there.
#include <algorithm>

#include "base/amounts.h"
#include "price/lane_walk.h"

namespace tutti::price {

using sched::OperationKind;
using sched::Rank;

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
    meet_bytes_ = op.left.bytes;
    meets_by_multicast_ = op.kind == OperationKind::kMeetMulticast;
    if (++meeting_count_ == lanes_.participants) go_through_meet();
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
    const std::vector<Meeter> all = std::move(meeters_);
    meeters_.clear();
    meeting_count_ = 0;
    for (const Meeter& one : all) {
        for (const End& end : one.ends) complete(end, one.at_ns);
    }
}

uint64_t LaneWalk::pass_meet(Rank from, Rank to, uint64_t at_ns) {
    const uint64_t posted_ns = serve(posters_[from], at_ns, network_.message_ns);
    const uint64_t bytes = sched::meet_message_bytes(meet_bytes_);
    return pass(lanes_.host_of[from], lanes_.host_of[to], bytes, posted_ns).come_ns;
}

}  // namespace tutti::price
