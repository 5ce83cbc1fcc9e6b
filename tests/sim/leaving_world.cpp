// SPDX-License-Identifier: BSD-3-Clause
#include "sim/leaving_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/transport/carrier/ring_feed.h"

namespace tutti::test {

using mcast::kEverybody;
using mcast::kNever;
using mcast::Member;
using transport::Rank;
using transport::State;
using transport::carrier::Feed;
using transport::carrier::Membership;
using transport::carrier::Route;

namespace {

// From a wake to the service's first look.
constexpr uint64_t kWakeNsMax = 50'000;
// Between two looks of a rank that finds nothing, in the call and out of it.
constexpr uint64_t kNapNs = 1'000'000;
constexpr uint64_t kAttendNs = 10'000'000;
// A wait that lasts longer makes its rank suspicious.
constexpr uint64_t kLongNs = 1'000'000'000;

}  // namespace

LeavingWorld::LeavingWorld(const LeavingPlan& plan, const Weather& weather, uint64_t seed)
    : plan_(plan),
      weather_(weather),
      prng_(seed),
      mailbox_(static_cast<uint32_t>(plan.ranks.size())),
      actors_(plan.ranks.size()) {
    Member members = 0;
    for (const LeavingPlan::Rank& rank : plan_.ranks) {
        member_of_rank_.push_back(rank.member);
        members = std::max<Member>(members, rank.member + 1);
    }
    addresses_.resize(members);
    for (Member member = 0; member < members; ++member) make_node(member);
    for (Rank rank = 0; rank < actors_.size(); ++rank) make_actor(rank);
}

void LeavingWorld::make_node(Member member) {
    const auto ranks =
        static_cast<uint32_t>(std::count(member_of_rank_.begin(), member_of_rank_.end(), member));
    const transport::carrier::RingParams ring{2 * plan_.in_flight, ranks,
                                              static_cast<uint32_t>(addresses_.size())};
    Node& node = *nodes_.emplace_back(std::make_unique<Node>(*this, ring));
    transport::carrier::JoinParams join;
    join.group = 7;
    join.member = member;
    join.members = addresses_;
    join.window_packets = plan_.window_packets;
    join.seed = prng_.next();
    join.key.protection = plan_.protection;
    for (std::byte& byte : join.key.bytes) byte = static_cast<std::byte>(0x5a);
    join.make_client = [&node](mcast::Group& group) {
        return std::make_unique<Feed>(node.memory.ring(), group);
    };
    auto made = Membership::create(join, {plan_.packet_bytes_max, plan_.window_packets, false}, {});
    EXPECT_TRUE(made) << made.error().message;
    node.membership = std::move(made.value());
    node.membership->make_client(join);
    node.service_ns = now_ns_;
}

void LeavingWorld::make_actor(Rank rank) {
    Actor& actor = actors_[rank];
    actor.rank = rank;
    actor.member = member_of_rank_[rank];
    Node& node = *nodes_[actor.member];
    node.ranks.push_back(rank);
    actor.network = std::make_unique<transport::P2p>(mailbox_.callbacks(rank), 0);
    actor.route = std::make_unique<Route>(
        node.memory.ring(), node,
        transport::carrier::RouteParams{rank, member_of_rank_, actor.network.get()});
    actor.wake_ns = now_ns_ + prng_.below(kNapNs);
    actor.progress_ns = now_ns_;
}

void LeavingWorld::note(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
}

// ---------------------------------------------------------------- packets and time

bool LeavingWorld::chance(double probability) {
    return probability > 0 && static_cast<double>(prng_.below(1'000'000)) < probability * 1'000'000;
}

void LeavingWorld::transmit(Member from, Member to, std::span<const std::byte> bytes) {
    for (Member peer = 0; peer < members(); ++peer) {
        if (peer == from || (to != kEverybody && to != peer)) continue;
        if (chance(weather_.loss)) continue;
        if (filter_ && filter_(from, peer, to == kEverybody)) continue;
        const uint64_t jitter = weather_.jitter_ns > 0 ? prng_.below(weather_.jitter_ns) : 0;
        packets_.push({now_ns_ + weather_.latency_ns + jitter, packet_number_++, peer,
                       std::vector<std::byte>(bytes.begin(), bytes.end())});
    }
}

void LeavingWorld::Node::wake() {
    service_ns = std::min(service_ns, world.now_ns_ + world.prng_.below(kWakeNsMax));
}

uint64_t LeavingWorld::wake_ns(const Node& node) const {
    uint64_t wanted = node.service_ns;
    if (node.membership) wanted = std::min(wanted, node.membership->next_deadline());
    for (const Rank rank : node.ranks) wanted = std::min(wanted, actors_[rank].wake_ns);
    return wanted == kNever ? kNever : std::max({wanted, node.stopped_ns, now_ns_});
}

// As a carrier's turn.
void LeavingWorld::serve(Member member) {
    Node& node = *nodes_[member];
    node.service_ns = kNever;
    bool may_sleep = false;
    while (node.membership && !may_sleep) {
        Membership& membership = *node.membership;
        if (membership.client()) membership.client()->wake_up();
        membership.advance(now_ns_);
        if (node.memory.ring().is_ended() && freed_ < ranks()) {
            note("member " + std::to_string(member) + " thinks that all have left");
        }
        if (membership.is_over(now_ns_)) {
            node.membership.reset();
            return;
        }
        std::array<std::byte, 2048> out{};
        Member to = mcast::kNobody;
        bool is_urgent = false;
        while (const size_t bytes = membership.next_packet(now_ns_, out, to, is_urgent)) {
            transmit(member, to, std::span<const std::byte>(out).first(bytes));
        }
        may_sleep = !membership.client() || membership.client()->may_sleep();
    }
}

// As a carrier does. And before some packets comes what somebody else made of them, who can change
// whatever the code covers.
bool LeavingWorld::pass_code(const transport::carrier::Key& key, std::vector<std::byte>& packet) {
    using transport::carrier::Protection;
    if (forger_.below(4) == 0) {
        size_t covered = packet.size();
        if (key.protection == Protection::kNone) covered = mcast::kCodeBytes;
        if (key.protection == Protection::kHeader && mcast::is_data(packet)) {
            covered = mcast::kDataHeaderBytes;
        }
        auto forged = packet;
        forged[forger_.below(covered)] ^= std::byte{static_cast<uint8_t>(1 + forger_.below(255))};
        if (unseal(key, forged)) note("a forged packet passes");
    }
    if (unseal(key, packet)) return true;
    note("a packet is rejected");
    return false;
}

void LeavingWorld::arrive() {
    Packet packet = packets_.top();
    packets_.pop();
    now_ns_ = std::max(now_ns_, packet.ns);
    Node& node = *nodes_[packet.to];
    if (node.stopped_ns > now_ns_) {
        packet.ns = node.stopped_ns;
        packet.number = packet_number_++;
        packets_.push(std::move(packet));
        return;
    }
    if (!node.membership || !pass_code(node.membership->key(), packet.bytes)) return;
    node.membership->on_packet(now_ns_, now_ns_, packet.bytes);
    serve(packet.to);
}

void LeavingWorld::wake(Member member) {
    Node& node = *nodes_[member];
    for (const Rank rank : node.ranks) {
        if (actors_[rank].wake_ns <= now_ns_) step(actors_[rank]);
    }
    const bool is_due = node.membership && node.membership->next_deadline() <= now_ns_;
    if (is_due || node.service_ns <= now_ns_) serve(member);
}

bool LeavingWorld::run(uint64_t until_ns, const std::function<bool()>& done) {
    while (!done()) {
        Member next = 0;
        uint64_t next_ns = kNever;
        for (Member member = 0; member < members(); ++member) {
            const uint64_t ns = wake_ns(*nodes_[member]);
            if (ns < next_ns) {
                next = member;
                next_ns = ns;
            }
        }
        const uint64_t packet_ns = packets_.empty() ? kNever : packets_.top().ns;
        if (std::min(next_ns, packet_ns) > until_ns) {
            now_ns_ = until_ns;
            return false;
        }
        if (packet_ns <= next_ns) {
            arrive();
        } else {
            now_ns_ = next_ns;
            wake(next);
        }
    }
    return true;
}

// ---------------------------------------------------------------- ranks

void LeavingWorld::step(Actor& actor) {
    const uint64_t before = actor.done + actor.next;
    if (actor.has_freed) {
        stay(actor);
    } else {
        carry_out(actor);
    }
    if (!actor.route) {
        actor.wake_ns = kNever;
        return;
    }
    const uint64_t nap_ns_max = actor.has_freed ? kAttendNs : kNapNs;
    if (actor.done + actor.next > before) {
        actor.progress_ns = now_ns_;
        actor.nap_ns = 0;
    }
    actor.nap_ns = std::clamp<uint64_t>(actor.nap_ns * 9 / 8, 1'000, nap_ns_max);
    actor.wake_ns = now_ns_ + 1 + prng_.below(actor.nap_ns);
    const bool is_through = !actor.has_freed && actor.done == plan_.messages.size();
    if (is_through) actor.wake_ns = actor.progress_ns + 1 + plan_.ranks[actor.rank].free_ns;
}

// What the engine does in a call of the team; and when all are over, its end.
void LeavingWorld::carry_out(Actor& actor) {
    Route& route = *actor.route;
    if (route.step() == State::kFailed)
        note("rank " + std::to_string(actor.rank) + " cannot go on");
    const bool is_through = actor.done == plan_.messages.size();
    if (is_through && now_ns_ >= actor.progress_ns + plan_.ranks[actor.rank].free_ns) {
        route.watch_all(false);
        route.leave();
        actor.has_freed = true;
        actor.progress_ns = now_ns_;
        ++freed_;
        return;
    }
    const bool is_long = !is_through && now_ns_ - actor.progress_ns > kLongNs;
    route.watch_all(is_long && !route.has_failed());
    test(actor);
    post(actor);
}

// The team is freed; other calls, and the end of the program, let it go on.
void LeavingWorld::stay(Actor& actor) {
    Route& route = *actor.route;
    if (!route.is_needed()) {
        messages_ += route.counters().received_as_messages;
        actor.route.reset();
        ++gone_;
        return;
    }
    const bool is_long = now_ns_ - actor.progress_ns > kLongNs;
    route.watch_all(is_long && plan_.ranks[actor.rank].waits && !route.has_failed());
}

void LeavingWorld::test(Actor& actor) {
    for (Flight& flight : actor.flights) {
        if (flight.ticket.state != State::kPending) continue;
        if (actor.route->test(flight.ticket) != State::kPending) finish(actor, flight);
    }
    while (!actor.flights.empty() && actor.flights.front().ticket.state != State::kPending) {
        actor.flights.pop_front();
    }
}

void LeavingWorld::post(Actor& actor) {
    for (uint64_t posts = prng_.below(plan_.in_flight + 1); posts > 0; --posts) {
        if (actor.next == plan_.messages.size()) return;
        const bool is_full =
            !actor.flights.empty() && actor.next >= actor.flights.front().number + plan_.in_flight;
        if (is_full) return;
        if (actor.next % plan_.call_messages == 0) {
            // The call before is over, and which calls multicast is known.
            if (!actor.flights.empty() || actor.route->is_undecided()) return;
            actor.route->begin_call(actor.next / plan_.call_messages);
        }
        const uint64_t number = actor.next++;
        const LeavingPlan::Message& message = plan_.messages[number];
        const bool is_sender = message.sender == actor.rank;
        Flight& flight = actor.flights.emplace_back();
        flight.number = number;
        flight.buffer = is_sender ? ring_bytes_of(number, message.bytes)
                                  : std::vector<std::byte>(message.bytes, std::byte{0xee});
        if (is_sender) {
            actor.route->multicast(number, flight.buffer.data(), message.bytes, flight.ticket);
        } else {
            actor.route->recv_multicast(number, message.sender, flight.buffer.data(), message.bytes,
                                        flight.ticket);
        }
        if (flight.ticket.state != State::kPending) finish(actor, flight);
    }
}

void LeavingWorld::finish(Actor& actor, Flight& flight) {
    ++actor.done;
    const bool is_right = flight.ticket.state == State::kDone &&
                          flight.buffer == ring_bytes_of(flight.number, flight.buffer.size());
    if (!is_right) {
        note("rank " + std::to_string(actor.rank) + " got number " + std::to_string(flight.number) +
             " wrong: " + actor.route->error());
    }
    // The sender's memory is the program's again.
    std::fill(flight.buffer.begin(), flight.buffer.end(), std::byte{0xdd});
}

// ---------------------------------------------------------------- what has become of it

uint32_t LeavingWorld::left() const {
    return static_cast<uint32_t>(std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) {
        return !node->membership || node->membership->is_leaving();
    }));
}

bool LeavingWorld::is_silent() const {
    return packets_.empty() && std::all_of(nodes_.begin(), nodes_.end(),
                                           [](const auto& node) { return !node->membership; });
}

uint32_t LeavingWorld::frozen() const {
    return static_cast<uint32_t>(std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) {
        return node->memory.ring().is_frozen();
    }));
}

uint32_t LeavingWorld::ended() const {
    return static_cast<uint32_t>(std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) {
        return node->memory.ring().is_ended();
    }));
}

}  // namespace tutti::test
