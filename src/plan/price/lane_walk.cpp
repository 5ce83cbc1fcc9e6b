// SPDX-License-Identifier: BSD-3-Clause
#include "plan/price/lane_walk.h"

#include <algorithm>

#include "base/amounts.h"
#include "plan/sched/operation_kinds.h"

namespace tutti::price {

using sched::Operation;
using sched::Rank;

namespace {

// Where somebody is late rounds are followed one by one.
std::span<const sched::Stretch> rounds_alike(const Lanes& lanes) {
    if (!lanes.late_ns.empty()) return {};
    return lanes.alike;
}

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
      participants_(participants_of(lanes)),
      rounds_(longest(participants_), rounds_alike(lanes)),
      servers_(network, node, lanes),
      meet_(node, lanes, servers_) {
    if (!rounds_.has_left_out()) return;
    for (Participant& one : participants_) {
        one.brief = rounds_.brief(*one.whole);
        one.program = one.brief.get();
        one.rounds = one.brief->extent().rounds;
    }
}

std::vector<LaneWalk::Participant> LaneWalk::participants_of(const Lanes& lanes) {
    std::vector<Participant> participants(lanes.participants);
    for (Rank rank = 0; rank < lanes.participants; ++rank) {
        Participant& one = participants[rank];
        one.whole = lanes.program(rank);
        one.program = one.whole.get();
        one.rounds = one.whole->extent().rounds;
        if (!lanes.late_ns.empty()) one.before_ns = lanes.late_ns[rank];
    }
    return participants;
}

uint64_t LaneWalk::longest(std::span<const Participant> participants) {
    uint64_t rounds = 0;
    for (const Participant& one : participants) rounds = std::max(rounds, one.rounds);
    return rounds;
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
        const auto next = departures_.pop();
        depart(next.what, next.at_ns);
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
        rounds_.complete(one.round, one.before_ns);
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

void LaneWalk::begin(End end, const Operation& op) {
    const Rank rank = end.participant;
    ++operations_;
    const sched::OperationRow& row = sched::row_of(op);
    switch (row.among) {
        case sched::Among::kPair: {
            end.ready_ns = servers_.post(rank, end.ready_ns);
            if (row.sends) {
                return post({rank, op.peer, op.message}, end, true, op.left.bytes, 0);
            }
            const uint64_t fold_ns =
                row.folds ? bytes_ns(op.to.bytes, node_.reduce_bytes_per_s) : uint64_t{0};
            return post({op.peer, rank, op.message}, end, false, op.to.bytes, fold_ns);
        }
        case sched::Among::kTeam:
            return post_multicast(end, op);
        case sched::Among::kMeeting:
            return post_meet(end, op);
        case sched::Among::kItself:
            // Who calls in place, so that nothing is to be copied, is not known.
            end.ready_ns = row.folds ? servers_.fold(rank, end.ready_ns, op.to.bytes)
                                     : servers_.copy(rank, end.ready_ns, op.to.bytes);
            break;
        case sched::Among::kNode:
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
        departures_.push(at_ns, index);
    } else if (!is_send && message.come_ns != kNever) {
        receive(message);
    }
}

// When the answer to a request is back at the sender.
uint64_t LaneWalk::asked_ns(const Message& message) const {
    const uint64_t ns = servers_.way_ns(message.send.participant, message.recv.participant);
    return std::max(message.send.ready_ns + ns, message.recv.ready_ns) + ns;
}

// The same where the answer waits behind a long message on its way. Whose departure comes first,
// if only by its number, is not held up: so one of two that ask each other goes first.
uint64_t LaneWalk::answered_ns(Message& message, uint64_t at_ns) const {
    if (message.has_waited) return at_ns;
    message.has_waited = true;
    const Rank from = message.send.participant;
    const Rank to = message.recv.participant;
    const auto found = leaving_until_ns_.find({lanes_.host_of[to], lanes_.host_of[from], 0});
    if (found == leaving_until_ns_.end()) return at_ns;
    return std::max(at_ns, found->second + servers_.way_ns(from, to));
}

void LaneWalk::post_multicast(const End& end, const Operation& op) {
    Multicast& cast = multicasts_[op.order];
    cast.ends.push_back(end);
    cast.ready_ns = std::max(cast.ready_ns, end.ready_ns);
    if (sched::is_multicast_send(op)) {
        cast.bytes = op.left.bytes;
        cast.from = end.participant;
    }
    if (cast.ends.size() != lanes_.participants) return;
    const Multicast all = std::move(cast);
    multicasts_.erase(op.order);
    const uint64_t come_ns = servers_.pass_multicast(all.from, all.bytes, all.ready_ns);
    for (const End& one : all.ends) complete(one, come_ns);
}

void LaneWalk::post_meet(const End& end, const Operation& op) {
    meet_ends_.push_back(end);
    const MeetWalk::Outcome outcome = meet_.begin(end.participant, op, end.ready_ns);
    if (outcome == MeetWalk::Outcome::kUnknown) is_unknown_ = true;
    if (outcome != MeetWalk::Outcome::kDone) return;
    std::ranges::stable_sort(meet_ends_, {}, &End::participant);
    const std::vector<uint64_t> ends_ns = meet_.take_ends_ns();
    for (const End& one : meet_ends_) complete(one, ends_ns[one.participant]);
    meet_ends_.clear();
}

void LaneWalk::depart(uint32_t index, uint64_t at_ns) {
    Message& message = messages_[index];
    const Rank from = message.send.participant;
    const Rank to = message.recv.participant;
    const uint32_t from_host = lanes_.host_of[from];
    const uint32_t to_host = lanes_.host_of[to];
    const bool is_eager = message.bytes <= network_.eager_bytes_max;
    const bool is_in_turn = network_.long_in_turn && !is_eager && from_host != to_host;
    if (is_in_turn) {
        const uint64_t answered = answered_ns(message, at_ns);
        if (answered > at_ns) return departures_.push(answered, index);
    }
    const LaneServers::Passed passed = servers_.pass(from, to, message.bytes, at_ns);
    if (is_in_turn) leaving_until_ns_[{from_host, to_host, 0}] = passed.left_ns;
    for (const Rank rank : {from, to}) {
        participants_[rank].begun_ns = std::min(participants_[rank].begun_ns, at_ns);
    }
    message.come_ns = passed.come_ns;
    complete(message.send, is_eager ? passed.left_ns : passed.come_ns);
    if (message.recv.ready_ns != kNever) receive(message);
}

// It has come, and its receive is posted.
void LaneWalk::receive(const Message& message) {
    const End& end = message.recv;
    const uint64_t here_ns = std::max(message.come_ns, end.ready_ns);
    complete(end, servers_.move(end.participant, here_ns, message.fold_ns));
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
    const uint64_t had_ns = work.window_ns + rounds_.left_out_ns() + work.burst_ns;
    return less_ns(lanes * rounds_.whole_ns(work.load_ns), had_ns);
}

// The rounds that were followed may have passed within bursts; all of them do not.
uint64_t LaneWalk::unpaid_ns() const {
    if (!rounds_.has_left_out() || network_.burst_bytes == 0) return 0;
    const Links& links = servers_.links();
    uint64_t most = 0;
    for (uint32_t link = 0; link < links.count(); ++link) {
        most = std::max(most, lacking_ns(links.work(link), 1));
    }
    return most;
}

uint64_t LaneWalk::further_ns() const {
    const Links& links = servers_.links();
    uint64_t most = lacking_ns(servers_.multicasts(), lanes_.count);
    for (uint32_t link = 0; link < links.count(); ++link) {
        most = std::max(most, lacking_ns(links.work(link), lanes_.count));
    }
    most = less_ns(most, unpaid_ns());
    for (Rank rank = 0; rank < lanes_.participants; ++rank) {
        most = std::max(most, lacking_ns(servers_.processor(rank), lanes_.count));
    }
    // A participant holds a slot of its own from a lane's first message to its end.
    const uint64_t waiting = lanes_.count - std::min<uint64_t>(lanes_.count, lanes_.in_flight);
    for (const Participant& one : participants_) {
        if (one.begun_ns == kNever) continue;
        const uint64_t held_ns = one.end_ns - one.begun_ns + rounds_.left_out_ns();
        most = std::max(most, held_ns * waiting / lanes_.in_flight);
    }
    return most;
}

}  // namespace tutti::price
