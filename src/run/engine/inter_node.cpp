// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/inter_node.h"

#include <utility>

#include "base/assert.h"

namespace tutti::engine {
namespace {

std::vector<std::unique_ptr<TrackMessages>> make_messages(const tutti_p2p& p2p,
                                                          const transport::TagLease& tags,
                                                          std::span<const uint32_t> peers,
                                                          const topo::Placement& placement,
                                                          uint32_t rank) {
    std::vector<std::unique_ptr<TrackMessages>> made;
    for (uint32_t range = 0; range < tags.ranges(); ++range) {
        made.push_back(std::make_unique<TrackMessages>(p2p, tags, range, peers, placement, rank));
    }
    return made;
}

std::vector<transport::Transport*> plain_of(
    const std::vector<std::unique_ptr<TrackMessages>>& messages) {
    std::vector<transport::Transport*> plain;
    for (const auto& one : messages) plain.push_back(&one->plain());
    return plain;
}

}  // namespace

InterNode::InterNode(Context& context, topo::Placement placement, uint32_t rank,
                     const tutti_p2p& p2p, std::vector<uint32_t> peers, transport::TagLease tags)
    : context_(context),
      placement_(std::move(placement)),
      rank_(rank),
      peers_(std::move(peers)),
      tags_(std::move(tags)),
      messages_(make_messages(p2p, tags_, peers_, placement_, rank_)),
      networks_(plain_of(messages_), context.networks(), context.settings(), placement_, rank_),
      multicast_(context.process_multicast(), placement_, rank_, context.settings().mcast.thread,
                 [this](uint32_t node) { return host_text(node); }) {
    for (uint32_t number = 0; number < messages_.size(); ++number) {
        const CallTrack::Means means{context_,           placement_, rank_,
                                     *messages_[number], networks_,  multicast_};
        tracks_.push_back(std::make_unique<CallTrack>(number, means));
    }
}

void InterNode::attach(std::span<node::Team* const> nodes) {
    TUTTI_ASSERT(nodes.size() == tracks_.size(), "each track has its part of the node");
    for (size_t number = 0; number < tracks_.size(); ++number) {
        tracks_[number]->attach(nodes[number]);
    }
    context_.process_multicast().enroll(*this);
}

void InterNode::tell(std::vector<FactRow>& rows, const std::string& name) const {
    const Whose whose{name, rank_, placement_.ranks(), placement_.nodes()};
    networks_.tell(rows, whose);
    const sched::Speed speed = tracks_.front()->planner().message_speed();
    rows.push_back(multicast::facts_of(multicast_.story(speed), whose));
}

Result<Done> InterNode::adopt_multicast(multicast::MulticastOutcome made) {
    if (made.route) first().set_route(&made.route->route());
    multicast_.adopt(std::move(made));
    return multicast_.team() ? first().plan_helpers(0) : Result<Done>(Done{});
}

void InterNode::drop_multicast(std::string obstacle) {
    const multicast::MulticastOutcome dropped = multicast_.give_up(std::move(obstacle));
    if (!dropped.route) return;
    first().set_route(nullptr);
    dropped.route->drop();
}

void InterNode::adopt_speed(const sched::Speed& speed) {
    const auto held = hold();
    for (const auto& track : tracks_) track->planner().adopt_speed(speed);
}

void InterNode::attend() {
    for (const auto& one : messages_) one->notice().go_on();
    multicast_.attend();
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
