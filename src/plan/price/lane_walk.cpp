// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/lane_walk.h"

#include <algorithm>

#include "base/amounts.h"

namespace tutti::price {

using sched::Operation;
using sched::OperationKind;
using sched::Rank;

namespace {

// Rounds of a stretch that are followed, and how many of them are in step: the first ones fill the
// links.
constexpr uint64_t kKept = 4;
constexpr uint64_t kSteady = 2;

}  // namespace

size_t LaneWalk::KeyHash::operator()(const Key& key) const {
    uint64_t mixed = (uint64_t{key.from} << 32 | key.to) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 29;
    return (mixed + key.message) * 0xBF58476D1CE4E5B9u >> 7;
}

LaneWalk::LaneWalk(const Network& network, const NodeParameters& node, const Lanes& lanes)
    : network_(network),
      node_(node),
      lanes_(lanes),
      participants_(lanes.participants),
      links_(network),
      posters_(lanes.participants),
      movers_(lanes.participants) {
    for (Rank rank = 0; rank < lanes.participants; ++rank) {
        Participant& one = participants_[rank];
        one.whole = lanes.program(rank);
        one.program = one.whole.get();
        one.rounds = one.whole->extent().rounds;
        whole_rounds_ = std::max(whole_rounds_, one.rounds);
        if (!lanes.late_ns.empty()) one.before_ns = lanes.late_ns[rank];
    }
    rounds_ = whole_rounds_;
    shorten();
    round_ends_.resize(rounds_ + 1);
}

void LaneWalk::shorten() {
    std::vector<sched::Stretch> stretches;
    for (const sched::Stretch& one : lanes_.alike) {
        if (one.rounds > 2 * kKept) stretches.push_back(one);
    }
    if (stretches.empty() || !lanes_.late_ns.empty()) return;
    const std::vector<uint64_t> kept(stretches.size(), kKept);
    for (Participant& one : participants_) {
        one.brief = sched::shortened(*one.whole, stretches, kept);
        one.program = one.brief.get();
        one.rounds = one.brief->extent().rounds;
    }
    for (const sched::Stretch& one : stretches) {
        gaps_.push_back({one.first + kKept - (whole_rounds_ - rounds_), one.rounds - kKept});
        rounds_ -= one.rounds - kKept;
    }
}

uint64_t LaneWalk::left_out_ns() const {
    uint64_t sum = 0;
    for (const Gap& gap : gaps_) {
        const uint64_t seen_ns = round_ends_[gap.behind] - round_ends_[gap.behind - kSteady];
        sum += seen_ns * gap.rounds / kSteady;
    }
    return sum;
}

bool LaneWalk::go(uint64_t messages_max) {
    for (Rank rank = 0; rank < lanes_.participants; ++rank) {
        Participant& one = participants_[rank];
        load(one, 0, one.older);
        load(one, 1, one.newer);
        queue(rank);
    }
    for (;;) {
        while (!queue_.empty()) {
            const Rank rank = queue_.back();
            queue_.pop_back();
            advance(rank);
            if (operations_ > 2 * messages_max || is_unknown_) return false;
        }
        if (departures_.empty()) break;
        const Departure next = departures_.top();
        departures_.pop();
        depart(next);
    }
    return std::ranges::all_of(participants_,
                               [](const Participant& one) { return one.round >= one.rounds; });
}

void LaneWalk::queue(Rank rank) {
    Participant& one = participants_[rank];
    if (one.is_queued) return;
    one.is_queued = true;
    queue_.push_back(rank);
}

void LaneWalk::load(Participant& one, uint64_t round, Live& into) {
    round_.clear();
    if (round < one.rounds) one.program->read(0, round, round_);
    into.ops.assign(round_.begin(), round_.end());
    into.done_ns.assign(round_.size(), kNever);
    into.begun = into.done = 0;
}

// As the rules of plan/sched/program.h have it: two rounds are under way at most.
void LaneWalk::advance(Rank rank) {
    Participant& one = participants_[rank];
    one.is_queued = false;
    begin_ready(rank);
    while (one.round < one.rounds && one.older.is_done()) {
        for (const uint64_t ns : one.older.done_ns) one.before_ns = std::max(one.before_ns, ns);
        ++one.round;
        round_ends_[one.round] = std::max(round_ends_[one.round], one.before_ns);
        std::swap(one.older, one.newer);
        load(one, one.round + 1, one.newer);
        begin_ready(rank);
    }
}

void LaneWalk::begin_ready(Rank rank) {
    Participant& one = participants_[rank];
    for (uint32_t i = 0; i < one.older.ops.size(); ++i) {
        if ((one.older.begun >> i & 1) != 0) continue;
        // The round before it is complete, and so is what it waits for.
        one.older.begun |= uint64_t{1} << i;
        begin({rank, i, one.round, one.before_ns}, one.older.ops[i]);
    }
    const size_t olders = one.older.ops.size();
    const uint64_t all = olders == 64 ? ~uint64_t{0} : (uint64_t{1} << olders) - 1;
    for (uint32_t i = 0; i < one.newer.ops.size(); ++i) {
        const uint64_t after = one.newer.ops[i].after & all;
        if ((one.newer.begun >> i & 1) != 0 || (after & ~one.older.done) != 0) continue;
        uint64_t ready_ns = one.before_ns;
        for (uint64_t left = after; left != 0; left &= left - 1) {
            ready_ns = std::max(ready_ns, one.older.done_ns[std::countr_zero(left)]);
        }
        one.newer.begun |= uint64_t{1} << i;
        begin({rank, i, one.round + 1, ready_ns}, one.newer.ops[i]);
    }
}

// Behind what it does already; when it is done.
uint64_t LaneWalk::serve(Server& server, uint64_t ready_ns, uint64_t ns) {
    if (ns == 0) return ready_ns;
    const uint64_t begin_ns = std::max(ready_ns, server.busy_until_ns);
    server.begun_ns = std::min(server.begun_ns, begin_ns);
    server.busy_until_ns = begin_ns + ns;
    server.load_ns += ns;
    return server.busy_until_ns;
}

void LaneWalk::begin(End end, const Operation& op) {
    const Rank rank = end.participant;
    ++operations_;
    const auto take = [&](Server& server, uint64_t ns) {
        end.ready_ns = serve(server, end.ready_ns, ns);
    };
    switch (op.kind) {
        case OperationKind::kSend:
            take(posters_[rank], network_.message_ns);
            return post({rank, op.peer, op.message}, end, true, op.left.bytes, 0);
        case OperationKind::kRecv:
        case OperationKind::kRecvReduce: {
            take(posters_[rank], network_.message_ns);
            const bool folds = op.kind == OperationKind::kRecvReduce;
            return post({op.peer, rank, op.message}, end, false, op.to.bytes,
                        folds ? bytes_ns(op.to.bytes, node_.reduce_bytes_per_s) : uint64_t{0});
        }
        case OperationKind::kMulticast:
        case OperationKind::kRecvMulticast:
            return post_multicast(end, op);
        case OperationKind::kMeetWith:
        case OperationKind::kMeet:
        case OperationKind::kMeetMulticast:
        case OperationKind::kFeed:
            return post_meet(end, op);
        case OperationKind::kReduce:
            take(movers_[rank], bytes_ns(op.to.bytes, node_.reduce_bytes_per_s));
            break;
        case OperationKind::kCopy:
            // Who calls in place, so that nothing is to be copied, is not known.
            take(movers_[rank], bytes_ns(op.to.bytes, node_.copy_bytes_per_s));
            break;
        default:
            break;
    }
    complete(end, end.ready_ns);
}

void LaneWalk::post(const Key& key, const End& end, bool is_send, uint64_t bytes,
                    uint64_t fold_ns) {
    const auto [known, is_new] = open_.try_emplace(key, static_cast<uint32_t>(messages_.size()));
    const uint32_t index = known->second;
    if (is_new) {
        messages_.push_back({.send = {.participant = key.from}, .recv = {.participant = key.to}});
    } else {
        open_.erase(known);
    }
    Message& message = messages_[index];
    (is_send ? message.send : message.recv) = end;
    message.bytes = bytes;
    message.fold_ns = std::max(message.fold_ns, fold_ns);
    const bool is_eager = bytes <= network_.eager_bytes_max;
    if (is_eager ? is_send : !is_new) {
        const uint64_t at_ns = is_eager ? end.ready_ns : asked_ns(message);
        departures_.push({at_ns, departures_count_++, index});
    } else if (!is_send && message.come_ns != kNever) {
        receive(message);
    }
}

uint64_t LaneWalk::way_ns(const Message& message) const {
    const uint32_t from = lanes_.host_of[message.send.participant];
    const uint32_t to = lanes_.host_of[message.recv.participant];
    if (from == to) return node_.flag_ns;
    return topo::route_latency_ns(network_.fabric, topo::link_route(network_.fabric, from, to));
}

// When the answer to a request is back at the sender.
uint64_t LaneWalk::asked_ns(const Message& message) const {
    const uint64_t ns = way_ns(message);
    return std::max(message.send.ready_ns + ns, message.recv.ready_ns) + ns;
}

// The same where the answer waits behind a long message on its way. Whose departure comes first,
// if only by its number, is not held up: so one of two that ask each other goes first.
uint64_t LaneWalk::answered_ns(Message& message, uint64_t at_ns) const {
    if (message.has_waited) return at_ns;
    message.has_waited = true;
    const auto found = leaving_until_ns_.find(
        {lanes_.host_of[message.recv.participant], lanes_.host_of[message.send.participant], 0});
    if (found == leaving_until_ns_.end()) return at_ns;
    return std::max(at_ns, found->second + way_ns(message));
}

// The links on the ways from a host to all others.
const std::vector<uint32_t>& LaneWalk::links_from(uint32_t host) {
    std::vector<uint32_t>& links = links_from_[host];
    if (!links.empty()) return links;
    for (const uint32_t other : lanes_.host_of) {
        if (other == host) continue;
        const topo::LinkRoute route = topo::link_route(network_.fabric, host, other);
        for (uint32_t hop = 0; hop < route.hops(); ++hop) links.push_back(route[hop]);
    }
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
    return links;
}

void LaneWalk::post_multicast(const End& end, const Operation& op) {
    Multicast& cast = multicasts_[op.order];
    cast.ends.push_back(end);
    cast.ready_ns = std::max(cast.ready_ns, end.ready_ns);
    if (op.kind == OperationKind::kMulticast) {
        cast.bytes = op.left.bytes;
        cast.host = lanes_.host_of[end.participant];
    }
    if (cast.ends.size() != lanes_.participants) return;
    const Multicast all = std::move(cast);
    multicasts_.erase(op.order);
    const uint64_t come_ns = pass_multicast(all.host, all.bytes, all.ready_ns);
    for (const End& one : all.ends) complete(one, come_ns);
}

uint64_t LaneWalk::pass_multicast(uint32_t from_host, uint64_t bytes, uint64_t at_ns) {
    const uint64_t ns = network_.multicast_ns(bytes);
    const uint64_t sent_ns = serve(multicast_, at_ns, ns);
    // Links that messages take, too.
    uint64_t passed_ns = sent_ns;
    for (const uint32_t link : links_from(from_host)) {
        const uint64_t there = network_.multicast_bytes_on(link, bytes);
        passed_ns =
            std::max(passed_ns, links_.pass(link, sent_ns - ns, sent_ns, there, false).end_ns);
    }
    return passed_ns + network_.multicast.latency_ns;
}

LaneWalk::Passed LaneWalk::pass(uint32_t from_host, uint32_t to_host, uint64_t bytes,
                                uint64_t at_ns) {
    if (from_host == to_host) {
        const uint64_t copied_ns = at_ns + bytes_ns(bytes, node_.copy_bytes_per_s);
        return {copied_ns, copied_ns + node_.flag_ns};
    }
    const topo::LinkRoute route = topo::link_route(network_.fabric, from_host, to_host);
    uint64_t head_ns = at_ns;
    uint64_t tail_ns = at_ns;
    uint64_t left_ns = at_ns;
    for (uint32_t hop = 0; hop < route.hops(); ++hop) {
        const Links::Passage passage =
            links_.pass(route[hop], head_ns, tail_ns, bytes, bytes > network_.eager_bytes_max);
        if (hop == 0) left_ns = passage.end_ns;
        const uint64_t latency_ns = network_.fabric.link_latency_ns(route[hop]);
        head_ns = passage.begin_ns + latency_ns;
        tail_ns = passage.end_ns + latency_ns;
    }
    return {left_ns, tail_ns};
}

void LaneWalk::depart(const Departure& departure) {
    Message& message = messages_[departure.message];
    const uint32_t from = lanes_.host_of[message.send.participant];
    const uint32_t to = lanes_.host_of[message.recv.participant];
    const bool is_eager = message.bytes <= network_.eager_bytes_max;
    const bool is_in_turn = network_.long_in_turn && !is_eager && from != to;
    if (is_in_turn) {
        const uint64_t at_ns = answered_ns(message, departure.at_ns);
        if (at_ns > departure.at_ns) {
            departures_.push({at_ns, departures_count_++, departure.message});
            return;
        }
    }
    const Passed passed = pass(from, to, message.bytes, departure.at_ns);
    if (is_in_turn) leaving_until_ns_[{from, to, 0}] = passed.left_ns;
    for (const End* end : {&message.send, &message.recv}) {
        Participant& one = participants_[end->participant];
        one.begun_ns = std::min(one.begun_ns, departure.at_ns);
    }
    message.come_ns = passed.come_ns;
    complete(message.send, is_eager ? passed.left_ns : passed.come_ns);
    if (message.recv.ready_ns != kNever) receive(message);
}

// It has come, and its receive is posted.
void LaneWalk::receive(const Message& message) {
    const End& end = message.recv;
    const uint64_t here_ns = std::max(message.come_ns, end.ready_ns);
    complete(end, serve(movers_[end.participant], here_ns, message.fold_ns));
}

void LaneWalk::complete(const End& end, uint64_t at_ns) {
    Participant& one = participants_[end.participant];
    Live& live = end.round == one.round ? one.older : one.newer;
    live.done_ns[end.operation] = at_ns;
    live.done |= uint64_t{1} << end.operation;
    one.end_ns = std::max(one.end_ns, at_ns);
    end_ns_ = std::max(end_ns_, at_ns);
    queue(end.participant);
}

// What so many lanes take there beyond one lane's time. Rounds that are left out load it as the
// others do, for as long.
uint64_t LaneWalk::lacking_ns(const Work& work, uint64_t lanes) const {
    if (work.load_ns == 0) return 0;
    const uint64_t load_ns = work.load_ns * whole_rounds_ / std::max<uint64_t>(rounds_, 1);
    const uint64_t had_ns = work.window_ns + left_out_ns() + work.burst_ns;
    const uint64_t all_ns = lanes * load_ns;
    return all_ns > had_ns ? all_ns - had_ns : 0;
}

// The rounds that were followed may have passed within bursts; all of them do not.
uint64_t LaneWalk::unpaid_ns() const {
    if (gaps_.empty() || network_.burst_bytes == 0) return 0;
    uint64_t most = 0;
    for (uint32_t link = 0; link < links_.count(); ++link) {
        most = std::max(most, lacking_ns(links_.work(link), 1));
    }
    return most;
}

// Both of its parts, which one lane alone may leave waiting for each other.
LaneWalk::Server LaneWalk::processor(Rank rank) const {
    const Server& poster = posters_[rank];
    const Server& mover = movers_[rank];
    return {.begun_ns = std::min(poster.begun_ns, mover.begun_ns),
            .busy_until_ns = std::max(poster.busy_until_ns, mover.busy_until_ns),
            .load_ns = poster.load_ns + mover.load_ns};
}

uint64_t LaneWalk::further_ns() const {
    uint64_t most = lacking_ns(multicast_.work(), lanes_.count);
    for (uint32_t link = 0; link < links_.count(); ++link) {
        most = std::max(most, lacking_ns(links_.work(link), lanes_.count));
    }
    most = less_ns(most, unpaid_ns());
    for (Rank rank = 0; rank < lanes_.participants; ++rank) {
        most = std::max(most, lacking_ns(processor(rank).work(), lanes_.count));
    }
    // A participant holds a slot of its own from a lane's first message to its end.
    const uint64_t waiting = lanes_.count - std::min<uint64_t>(lanes_.count, lanes_.in_flight);
    for (const Participant& one : participants_) {
        if (one.begun_ns == kNever) continue;
        const uint64_t held_ns = one.end_ns - one.begun_ns + left_out_ns();
        most = std::max(most, held_ns * waiting / lanes_.in_flight);
    }
    return most;
}

}  // namespace tutti::price
