// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/inter_node.h"

#include <algorithm>
#include <utility>

namespace tutti::engine {

InterNode::InterNode(Context& context, topo::Placement placement, uint32_t rank,
                     const tutti_p2p& p2p, std::vector<uint32_t> peers, transport::TagLease tags)
    : context_(context),
      placement_(std::move(placement)),
      rank_(rank),
      peers_(std::move(peers)),
      tags_(std::move(tags)),
      messages_(p2p, tags_.first_tag(), peers_, tags_.kinds()),
      networks_(messages_, context.networks(), context.settings(), placement_, rank_),
      notes_(p2p, tags_.note_tag(), peers_, placement_.ranks(), rank, tags_.token()),
      notice_(notes_, placement_, rank_),
      multicast_(context.process_multicast(), placement_, rank_, context.settings().mcast.thread,
                 [this](uint32_t node) { return host_text(node); }),
      is_told_(placement_.ranks()),
      planner_(context, placement_, rank_, networks_, multicast_, log_),
      track_({context, rank_, networks_, messages_, multicast_, planner_, log_}) {
    const FaultPlan& faults = context_.settings().faults;
    if (faults.reorder == 0) return;
    faulty_ = std::make_unique<transport::Faulty>(
        networks_.routes(), transport::Faults{faults.seed + rank_, faults.reorder, 0});
}

void InterNode::attach(node::Team* node) {
    track_.attach(node, transport(), faulty_ != nullptr);
    context_.process_multicast().enroll(*this);
}

void InterNode::tell(std::vector<FactRow>& rows, const std::string& name, bool all) const {
    const Whose whose{name, rank_, placement_.ranks(), placement_.nodes()};
    const bool speaks = all || rank_ == 0;
    if (speaks) networks_.tell(rows, whose);
    const multicast::MulticastStory story = multicast_.story(planner_.message_speed());
    if (speaks || story.carried) rows.push_back(multicast::facts_of(story, whose));
}

Result<Done> InterNode::adopt_multicast(multicast::MulticastOutcome made) {
    if (made.route) track_.set_route(&made.route->route());
    multicast_.adopt(std::move(made));
    return multicast_.team() ? plan_helpers(0) : Result<Done>(Done{});
}

void InterNode::drop_multicast(std::string obstacle) {
    const multicast::MulticastOutcome dropped = multicast_.give_up(std::move(obstacle));
    if (!dropped.route) return;
    track_.set_route(nullptr);
    dropped.route->drop();
}

Result<Done> InterNode::plan_helpers(size_t card_bytes) {
    auto made = planner_.make_helpers(card_bytes);
    CallPlanner::Helpers& helpers = planner_.helpers();
    if (made && card_bytes > 0) made = track_.reserve(helpers.check);
    return made ? track_.reserve(helpers.barrier) : made;
}

Result<Done> InterNode::plan_comparison(size_t bytes) {
    auto made = planner_.make_comparison(bytes);
    return made ? track_.reserve(planner_.helpers().comparison) : made;
}

void InterNode::attend() {
    notice_.go_on();
    multicast_.attend();
}

void InterNode::tell_calls() {
    if (!notes_.is_on()) return;
    notes::Note note;
    note.kind = notes::Note::Kind::kCalls;
    note.call = call();
    note.calls = log_.tell();
    const auto tell = [&](uint32_t rank) {
        if (!is_told_[rank] && rank != rank_) is_told_[rank] = notes_.send(rank, note);
    };
    for (const uint32_t rank : track_.executor().waits_for()) tell(rank);
    // It alone knows for sure what a scatter sends.
    if (track_.has_spare_capacity()) tell(track_.root());
    const node::Op* op = track_.node_op();
    if (!op) return;
    // On the node, whoever comes next; or its leader, on whom most depends.
    const auto members = placement_.members(placement_.node_of(rank_));
    tell(members[op->awaited != node::kNoRank ? op->awaited : 0]);
}

std::string InterNode::host_text(uint32_t node) const {
    if (node < host_names_.size()) return host_names_[node];
    return "the host of rank " + std::to_string(placement_.members(node)[0]);
}

std::string InterNode::rank_text(uint32_t rank) const {
    const std::string text = "rank " + std::to_string(rank);
    const uint32_t node = placement_.node_of(rank);
    return node < host_names_.size() ? text + " (on " + host_names_[node] + ")" : text;
}

}  // namespace tutti::engine
