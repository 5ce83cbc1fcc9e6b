// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ring_traffic.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::test {

using mcast::kNever;
using mcast::Member;
using transport::Rank;
using transport::State;
using transport::carrier::Feed;
using transport::carrier::kRingTeam;
using transport::carrier::Route;

namespace {

// From a wake to the service's first look.
constexpr uint64_t kWakeNsMax = 50'000;
constexpr uint64_t kNapNs = 1'000'000;
// A call that lasts longer makes its rank suspicious.
constexpr uint64_t kLongNs = 1'000'000'000;

}  // namespace

RingTraffic::RingTraffic(McastWorld& world, const RingPlan& plan, uint64_t seed)
    : world_(world),
      plan_(plan),
      prng_(seed),
      mailbox_(static_cast<uint32_t>(plan.member_of_rank.size())),
      actors_(plan.member_of_rank.size()) {
    for (Member member = 0; member < world_.members(); ++member) {
        const auto ranks = static_cast<uint32_t>(
            std::count(plan_.member_of_rank.begin(), plan_.member_of_rank.end(), member));
        const transport::carrier::RingParams params{plan_.slots, ranks, world_.members()};
        nodes_.push_back(std::make_unique<Node>(*this, member, params));
        EXPECT_TRUE(world_.group(member).open_team(kRingTeam));
        nodes_.back()->feed =
            std::make_unique<Feed>(nodes_.back()->memory.ring(), world_.group(member));
        world_.group(member).set_gate([this, &feed = *nodes_.back()->feed](const auto& data) {
            const bool may_come = feed.may_come(data);
            refused_ += may_come ? 0 : 1;
            return may_come;
        });
    }
    for (Rank rank = 0; rank < actors_.size(); ++rank) {
        Actor& actor = actors_[rank];
        actor.rank = rank;
        actor.member = plan_.member_of_rank[rank];
        Node& node = *nodes_[actor.member];
        node.ranks.push_back(rank);
        actor.wake_ns = world_.now_ns() + prng_.below(plan_.poll_ns_max);
        transport::carrier::RouteParams params{rank, plan_.member_of_rank, nullptr};
        if (plan_.has_network) {
            actor.network = std::make_unique<transport::P2p>(mailbox_.callbacks(rank), 0);
            params.network = actor.network.get();
        }
        actor.route = std::make_unique<Route>(node.memory.ring(), node, params);
    }
    world_.set_service([this](Member member) { serve(member); });
    world_.set_app([this](Member member) { app(member); });
    for (Member member = 0; member < world_.members(); ++member) {
        serve(member);
        world_.wake_app(member, world_.now_ns());
    }
}

RingTraffic::~RingTraffic() {
    for (Member member = 0; member < world_.members(); ++member) world_.group(member).set_gate({});
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
    if (plan_.has_network) recover(actor);
    test(actor);
    post(actor);
    // After a failure others may need a rank that has done everything.
    const bool leaves = !plan_.has_network || plan_.leaves_when_done;
    if (actor.done == plan_.messages.size() && leaves) {
        actor.route->watch_all(false);
        actor.wake_ns = kNever;
        return;
    }
    if (actor.done + actor.next > before) actor.progress_ns = world_.now_ns();
    // Whoever finds nothing looks less and less often.
    actor.poll_ns = actor.done + actor.next > before ? plan_.poll_ns_max : actor.poll_ns * 9 / 8;
    actor.poll_ns = std::clamp<uint64_t>(actor.poll_ns, 1'000, kNapNs);
    actor.wake_ns = world_.now_ns() + 1 + prng_.below(actor.poll_ns);
    if (plan_.pause_every > 0 && prng_.below(plan_.pause_every) == 0) {
        actor.wake_ns += prng_.below(plan_.pause_ns_max);
    }
}

// What the engine does in every turn.
void RingTraffic::recover(Actor& actor) {
    if (counted([&] { return actor.route->step(); }) == State::kFailed && wrong_.empty()) {
        wrong_ = "rank " + std::to_string(actor.rank) + " cannot go on: " + actor.route->error();
    }
    const uint64_t idle_ns = world_.now_ns() - actor.progress_ns;
    actor.route->watch_all(idle_ns > kLongNs && !actor.route->has_failed());
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
        const bool begins_call = actor.next % plan_.call_messages == 0;
        if (plan_.has_network && begins_call) {
            // Which calls multicast is not known before all have agreed.
            if (actor.route->is_undecided()) return;
            actor.route->begin_call(actor.next / plan_.call_messages);
        }
        if (plan_.messages[actor.next].is_offered) {
            if (!meet(actor)) return;
            continue;
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

// The next number is over.
bool RingTraffic::meet(Actor& actor) {
    using Sought = transport::Multicast::Sought;
    const uint64_t number = actor.next;
    const RingPlan::Message& message = plan_.messages[number];
    const bool is_sender = message.sender == actor.rank;
    const auto has_come = [&](const Actor& one) {
        return one.next > number || (one.next == number && one.flights.empty());
    };
    if (!actor.flights.empty()) return false;
    if (is_sender && !std::ranges::all_of(actors_, has_come)) return false;
    if (actor.sought.empty() && message.bytes > 0) {
        actor.sought = is_sender ? ring_bytes_of(number, message.bytes)
                                 : std::vector<std::byte>(message.bytes, std::byte{0xee});
    }
    const Sought sought = counted([&] {
        return is_sender ? actor.route->offer(number, actor.sought.data(), message.bytes)
                         : actor.route->seek(number, actor.sought.data(), message.bytes);
    });
    if (sought == Sought::kNotYet) return false;
    const bool is_right = actor.sought == ring_bytes_of(number, message.bytes);
    const bool is_wrong = sought == Sought::kFailed || (sought == Sought::kDone && !is_right);
    if (is_wrong && wrong_.empty()) wrong_ = "an offered number came wrong";
    compare(actor, sought == Sought::kDone);
    actor.sought.clear();
    ++actor.next;
    ++actor.done;
    return true;
}

// All get it, or nobody does, and that only after a failure.
void RingTraffic::compare(const Actor& actor, bool is_here) {
    const bool is_known = offered_.try_emplace(actor.next, is_here).first->second;
    if (!wrong_.empty()) return;
    if (is_known != is_here) wrong_ = "an offered number came to some";
    if (!is_here && !actor.route->has_failed()) wrong_ = "nobody got what was offered";
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

bool RingTraffic::is_settled() const {
    return std::all_of(actors_.begin(), actors_.end(), [](const Actor& actor) {
        return actor.route->is_decided() && actor.route->step() == State::kDone;
    });
}

std::pair<size_t, size_t> RingTraffic::abandon() {
    world_.set_app({});
    const size_t before = mailbox_.receives_under_way();
    for (Actor& actor : actors_) actor.route.reset();
    return {before, mailbox_.receives_under_way()};
}

std::string RingTraffic::not_recovered() const {
    if (mailbox_.under_way() > 0) return "messages that nobody receives";
    for (const Actor& actor : actors_) {
        if (!actor.route->has_failed()) return "a node that does not know";
        if (!actor.route->is_decided()) return "a rank that has not agreed";
        if (actor.route->calls_end() != actors_[0].route->calls_end()) return "ranks disagree";
    }
    return {};
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
