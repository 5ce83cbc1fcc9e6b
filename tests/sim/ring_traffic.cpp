// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ring_traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::test {

using mcast::kNever;
using mcast::Member;
using transport::Rank;
using transport::State;
using transport::udp::Feed;
using transport::udp::kRingTeam;
using transport::udp::Route;

namespace {

// From a wake to the service's first look.
constexpr uint64_t kWakeNsMax = 50'000;
constexpr uint64_t kNapNs = 1'000'000;

}  // namespace

RingTraffic::RingTraffic(McastWorld& world, const RingPlan& plan, uint64_t seed)
    : world_(world), plan_(plan), prng_(seed), actors_(plan.member_of_rank.size()) {
    for (Member member = 0; member < world_.members(); ++member) {
        const auto ranks = static_cast<uint32_t>(
            std::count(plan_.member_of_rank.begin(), plan_.member_of_rank.end(), member));
        const transport::udp::RingParams params{plan_.slots, ranks, world_.members()};
        nodes_.push_back(std::make_unique<Node>(*this, member, params));
        EXPECT_TRUE(world_.group(member).open_team(kRingTeam));
        nodes_.back()->feed =
            std::make_unique<Feed>(nodes_.back()->memory.ring(), world_.group(member));
    }
    for (Rank rank = 0; rank < actors_.size(); ++rank) {
        Actor& actor = actors_[rank];
        actor.rank = rank;
        actor.member = plan_.member_of_rank[rank];
        Node& node = *nodes_[actor.member];
        node.ranks.push_back(rank);
        actor.wake_ns = world_.now_ns() + prng_.below(plan_.poll_ns_max);
        actor.route = std::make_unique<Route>(
            node.memory.ring(), node, transport::udp::RouteParams{rank, plan_.member_of_rank});
    }
    world_.set_service([this](Member member) { serve(member); });
    world_.set_app([this](Member member) { app(member); });
    for (Member member = 0; member < world_.members(); ++member) {
        serve(member);
        world_.wake_app(member, world_.now_ns());
    }
}

RingTraffic::~RingTraffic() {
    world_.set_service({});
    world_.set_app({});
}

template <class Call>
auto RingTraffic::counted(Call call) {
    struct Add {
        uint64_t& sum;
        uint64_t before = allocations_so_far();
        ~Add() { sum += allocations_so_far() - before; }
    } add{allocations_};
    return call();
}

void RingTraffic::Node::wake() {
    const uint64_t at_ns = traffic.world_.now_ns() + traffic.prng_.below(kWakeNsMax);
    service_ns = std::min(service_ns, at_ns);
}

void RingTraffic::pause(Rank rank, uint64_t until_ns) { actors_[rank].paused_ns = until_ns; }

void RingTraffic::serve(Member member) {
    Node& node = *nodes_[member];
    node.service_ns = kNever;
    counted([&] {
        node.feed->wake_up();
        do {
            node.feed->advance(world_.now_ns());
        } while (!node.feed->may_sleep());
    });
}

void RingTraffic::app(Member member) {
    Node& node = *nodes_[member];
    const uint64_t now_ns = world_.now_ns();
    if (node.service_ns <= now_ns) serve(member);
    uint64_t wake_ns = kNever;
    for (const Rank rank : node.ranks) {
        Actor& actor = actors_[rank];
        if (std::max(actor.wake_ns, actor.paused_ns) <= now_ns) step(actor);
        if (actor.wake_ns == kNever) continue;
        wake_ns = std::min(wake_ns, std::max(actor.wake_ns, actor.paused_ns));
    }
    world_.wake_app(member, std::min(wake_ns, node.service_ns));
}

void RingTraffic::step(Actor& actor) {
    const uint64_t before = actor.done + actor.next;
    test(actor);
    post(actor);
    if (actor.done == plan_.messages.size()) {
        actor.wake_ns = kNever;
        return;
    }
    // Whoever finds nothing looks less and less often.
    actor.poll_ns = actor.done + actor.next > before ? plan_.poll_ns_max : actor.poll_ns * 9 / 8;
    actor.poll_ns = std::clamp<uint64_t>(actor.poll_ns, 1'000, kNapNs);
    actor.wake_ns = world_.now_ns() + 1 + prng_.below(actor.poll_ns);
    if (plan_.pause_every > 0 && prng_.below(plan_.pause_every) == 0) {
        actor.wake_ns += prng_.below(plan_.pause_ns_max);
    }
}

void RingTraffic::test(Actor& actor) {
    for (Flight& flight : actor.flights) {
        if (flight.ticket.state != State::kPending) continue;
        if (counted([&] { return actor.route->test(flight.ticket); }) != State::kPending) {
            finish(actor, flight);
        }
    }
    while (!actor.flights.empty() && actor.flights.front().ticket.state != State::kPending) {
        actor.flights.pop_front();
    }
}

void RingTraffic::post(Actor& actor) {
    uint64_t posts = prng_.below(plan_.in_flight + 1);
    for (; posts > 0 && actor.next < plan_.messages.size(); --posts) {
        if (!actor.flights.empty() &&
            actor.next >= actor.flights.front().number + plan_.in_flight) {
            return;
        }
        const uint64_t number = actor.next++;
        const RingPlan::Message& message = plan_.messages[number];
        const bool is_sender = message.sender == actor.rank;
        Flight& flight = actor.flights.emplace_back();
        flight.number = number;
        flight.buffer = is_sender ? ring_bytes_of(number, message.bytes)
                                  : std::vector<std::byte>(message.bytes, std::byte{0xee});
        counted([&] {
            if (is_sender) {
                actor.route->multicast(number, flight.buffer.data(), message.bytes, flight.ticket);
            } else {
                actor.route->recv_multicast(number, message.sender, flight.buffer.data(),
                                            message.bytes, flight.ticket);
            }
        });
        if (flight.ticket.state != State::kPending) finish(actor, flight);
        while (!actor.flights.empty() && actor.flights.front().ticket.state != State::kPending) {
            actor.flights.pop_front();
        }
    }
}

void RingTraffic::finish(Actor& actor, Flight& flight) {
    ++actor.done;
    const bool is_right = flight.ticket.state == State::kDone &&
                          flight.buffer == ring_bytes_of(flight.number, flight.buffer.size());
    if (!is_right && wrong_.empty()) {
        wrong_ = "rank " + std::to_string(actor.rank) + " got number " +
                 std::to_string(flight.number) + " wrong: " + actor.route->error();
    }
    // The sender's memory is the program's again.
    std::fill(flight.buffer.begin(), flight.buffer.end(), std::byte{0xdd});
}

bool RingTraffic::is_done() const {
    return std::all_of(actors_.begin(), actors_.end(),
                       [&](const Actor& actor) { return actor.done == plan_.messages.size(); });
}

std::string RingTraffic::not_free() const {
    const uint64_t end = plan_.messages.size();
    for (const auto& node : nodes_) {
        for (uint64_t number = end; number < end + plan_.slots; ++number) {
            if (node->memory.ring().is_free(number)) continue;
            return "the slot of number " + std::to_string(number) + " is not free on node " +
                   std::to_string(node->member);
        }
    }
    return {};
}

}  // namespace tutti::test
