// SPDX-License-Identifier: BSD-3-Clause
#include "lab/check/abstract_run.h"

#include <algorithm>
#include <utility>

#include "plan/sched/operation_kinds.h"
#include "plan/sched/program_text.h"

namespace tutti::check {

using sched::after_op;

namespace {

uint64_t first_bits(size_t count) {
    return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

}  // namespace

std::string label(const LiveOperation& live) { return label(live.rank, live.position, live.op); }

uint64_t node_bytes(std::span<LiveOperation* const> members) {
    uint64_t bytes = 0;
    for (const LiveOperation* member : members) bytes += sched::node_bytes(member->op);
    return bytes;
}

bool Run::LiveRound::is_complete() const { return complete == first_bits(ops.size()); }

size_t Run::KeyHash::operator()(const Key& key) const {
    uint64_t hash = (uint64_t{key.sender} << 32 | key.receiver) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 31) ^ key.lane) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 29) ^ key.message) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 32);
}

Run::Key Run::key_of(Rank rank, uint64_t lane, const Operation& op) {
    if (is_send(op)) return {rank, op.peer, lane, op.message, op.is_counted, op.is_bundled};
    return {op.peer, rank, lane, op.message, op.is_counted, op.is_bundled};
}

Run::Run(const topo::Placement& placement, std::span<const std::unique_ptr<Program>> programs,
         Interpreter& interpreter)
    : placement_(placement),
      programs_(programs),
      interpreter_(interpreter),
      ranks_(programs.size()),
      nodes_(placement.nodes()) {
    for (uint32_t n = 0; n < placement.nodes(); ++n) {
        nodes_[n].arrived.resize(placement.members(n).size());
    }
    for (Rank r = 0; r < ranks_.size(); ++r) {
        OneRank& one = ranks_[r];
        one.extent = programs[r]->extent();
        one.node_behind = interpreter.initial(r);
        one.multicast_before = interpreter.initial(r);
        one.multicasts_behind.fill(interpreter.initial(r));
        one.slots.resize(std::min<uint64_t>(one.extent.lanes, one.extent.lanes_in_flight));
        for (size_t s = 0; s < one.slots.size(); ++s) {
            one.slots[s].lane = s;
            one.slots[s].before = interpreter.initial(r);
            begin_lane(one, r, one.slots[s]);
        }
    }
}

void Run::begin_lane(OneRank& one, Rank rank, Slot& slot) {
    slot.older_round = 0;
    slot.has_newer = false;
    slot.older.ops.clear();
    slot.older.complete = 0;
    slot.is_over = slot.lane >= one.extent.lanes;
    if (slot.is_over || one.extent.rounds == 0) return;
    load(rank, slot.lane, 0, slot.older);
    for (LiveOperation& live : slot.older.ops) {
        live.state = LiveOperation::State::kReady;
        live.before = slot.before;
        live.node_before = slot.node_before;
    }
}

void Run::load(Rank rank, uint64_t lane, uint64_t round, LiveRound& into) {
    programs_[rank]->read(lane, round, round_);
    into.complete = 0;
    into.ops.clear();
    for (uint32_t i = 0; i < round_.size(); ++i) {
        LiveOperation live;
        live.op = round_[i];
        live.position = {lane, round, i};
        live.rank = rank;
        into.ops.push_back(live);
    }
}

void Run::queue(Rank rank) {
    if (ranks_[rank].is_queued) return;
    ranks_[rank].is_queued = true;
    queue_.push_back(rank);
}

bool Run::go() {
    for (Rank r = 0; r < ranks_.size(); ++r) queue(r);
    // First come, first served: all ranks stay near the same round.
    for (size_t next = 0; next < queue_.size(); ++next) {
        if (next >= 65536) {
            queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(next));
            next = 0;
        }
        const Rank rank = queue_[next];
        ranks_[rank].is_queued = false;
        advance(rank);
    }
    queue_.clear();
    for (Rank r = 0; r < ranks_.size(); ++r) {
        if (!is_over(r)) return false;
    }
    return true;
}

bool Run::is_over(Rank rank) const {
    return std::ranges::all_of(ranks_[rank].slots, [](const Slot& slot) { return slot.is_over; });
}

void Run::advance(Rank rank) {
    for (Slot& slot : ranks_[rank].slots) {
        while (advance(rank, slot)) {
        }
    }
    post_node(rank);
    begin_multicasts(rank);
}

// Posts what is ready; true if the slot went on by a round.
bool Run::advance(Rank rank, Slot& slot) {
    if (slot.is_over) return false;
    OneRank& one = ranks_[rank];
    if (!slot.has_newer && slot.older_round + 1 < one.extent.rounds) {
        load(rank, slot.lane, slot.older_round + 1, slot.newer);
        slot.has_newer = true;
    }
    if (slot.has_newer) make_ready(slot);
    for (LiveRound* live_round : {&slot.older, &slot.newer}) {
        if (live_round == &slot.newer && !slot.has_newer) break;
        for (LiveOperation& live : live_round->ops) {
            if (live.state == LiveOperation::State::kReady) post(live);
        }
    }
    if (!slot.older.is_complete()) return false;
    if (slot.has_newer) {
        make_ready(slot);  // all of them, before `older` becomes one of the complete rounds
        fold_older(slot);
        std::swap(slot.older, slot.newer);
        slot.has_newer = false;
        ++slot.older_round;
        return true;
    }
    fold_older(slot);
    slot.lane += one.extent.lanes_in_flight;
    begin_lane(one, rank, slot);
    return true;
}

void Run::make_ready(Slot& slot) {
    const uint64_t known = first_bits(slot.older.ops.size());
    for (LiveOperation& live : slot.newer.ops) {
        if (live.state != LiveOperation::State::kWaiting) continue;
        const uint64_t after = live.op.after & known;
        if ((after & ~slot.older.complete) != 0) continue;
        live.state = LiveOperation::State::kReady;
        live.before = slot.before;
        live.node_before = slot.node_before;
        for (uint32_t i = 0; i < slot.older.ops.size(); ++i) {
            if ((after >> i & 1) == 0) continue;
            const LiveOperation& earlier = slot.older.ops[i];
            live.before = interpreter_.join(live.before, earlier.behind);
            live.node_before = std::max(live.node_before, earlier.node_before);
            if (is_node(earlier.op.kind)) {
                live.node_before = std::max(live.node_before, earlier.op.order + 1);
            }
        }
    }
}

void Run::fold_older(Slot& slot) {
    for (const LiveOperation& live : slot.older.ops) {
        slot.before = interpreter_.join(slot.before, live.behind);
        slot.node_before = std::max(slot.node_before, live.node_before);
        if (is_node(live.op.kind)) {
            slot.node_before = std::max(slot.node_before, live.op.order + 1);
        }
    }
}

void Run::post(LiveOperation& live) {
    live.state = LiveOperation::State::kPosted;
    if (is_node(live.op.kind)) {
        ranks_[live.rank].node_ready.emplace(live.op.order, &live);
        queue(live.rank);
        return;
    }
    if (is_multicast(live.op.kind)) {
        ranks_[live.rank].multicast_ready.emplace(live.op.order, &live);
        queue(live.rank);
        return;
    }
    if (is_meet(live.op.kind)) return join_meeters(live);
    if (!is_message(live.op.kind)) {
        interpreter_.local(live);
        complete(live);
        return;
    }
    const auto [place, is_first] =
        posted_.try_emplace(key_of(live.rank, live.position.lane, live.op), &live);
    if (is_first) return;
    LiveOperation& other = *place->second;
    posted_.erase(place);
    const bool sends = is_send(live.op);
    interpreter_.match(sends ? live : other, sends ? other : live);
    complete(live);
    complete(other);
}

void Run::Hall::await(Rank rank, bool is_so) {
    if (is_awaited[rank] == is_so) return;
    is_awaited[rank] = is_so;
    if (is_so) ++awaited_count;
    if (!is_so) --awaited_count;
}

// They are all there when nobody is missing whom one of them knows.
void Run::join_meeters(LiveOperation& live) {
    Hall& hall = halls_[live.position.lane];
    hall.meeters.resize(ranks_.size());
    hall.is_awaited.resize(ranks_.size());
    Meeter& own = hall.meeters[live.rank];
    if (is_neighbour(live.op)) {
        own.with.push_back(&live);
        if (hall.meeters[live.op.peer].meet == nullptr) hall.await(live.op.peer, true);
        return;
    }
    own.meet = &live;
    hall.await(live.rank, false);
    if (hall.awaited_count > 0) return;
    std::vector<Meeter> all;
    for (Meeter& one : hall.meeters) {
        if (one.meet != nullptr) all.push_back(std::exchange(one, {}));
    }
    interpreter_.meet(all);
    for (const Meeter& one : all) {
        for (LiveOperation* with : one.with) complete(*with);
        complete(*one.meet);
    }
}

void Run::post_node(Rank rank) {
    OneRank& one = ranks_[rank];
    const auto found = one.node_ready.find(one.next_order);
    if (found == one.node_ready.end()) return;
    Node& node = nodes_[placement_.node_of(rank)];
    LiveOperation*& seat = node.arrived[placement_.index_on_node(rank)];
    if (seat != nullptr) return;
    LiveOperation& live = *found->second;
    live.node_before = std::max(live.node_before, live.op.order);
    live.before = interpreter_.join(live.before, one.node_behind);
    seat = &live;
    if (++node.count < node.arrived.size()) return;
    interpreter_.node(node.arrived);
    for (LiveOperation*& member : node.arrived) {
        OneRank& its = ranks_[member->rank];
        its.node_ready.erase(member->op.order);
        ++its.next_order;
        its.node_behind = member->behind;
        complete(*member);
        member = nullptr;
    }
    node.count = 0;
}

// Those that are ready, in their order, as far as the window goes.
void Run::begin_multicasts(Rank rank) {
    OneRank& one = ranks_[rank];
    while (one.next_multicast < multicasts_complete_ + kMulticastsInFlightMax) {
        const auto found = one.multicast_ready.find(one.next_multicast);
        if (found == one.multicast_ready.end()) return;
        LiveOperation& live = *found->second;
        one.multicast_ready.erase(found);
        // What was complete before an earlier one began was complete before this one, and so was
        // the one whose place this one takes.
        const uint64_t place = one.next_multicast % kMulticastsInFlightMax;
        live.before = interpreter_.join(live.before, one.multicast_before);
        live.before = interpreter_.join(live.before, one.multicasts_behind[place]);
        one.multicast_before = live.before;
        ++one.next_multicast;
        meet(live);
    }
}

void Run::meet(LiveOperation& live) {
    const uint64_t place = live.op.order % kMulticastsInFlightMax;
    Meeting& meeting = meetings_[place];
    meeting.begun.resize(ranks_.size());
    meeting.begun[live.rank] = &live;
    if (++meeting.count < ranks_.size()) return;
    interpreter_.multicast(meeting.begun);
    for (LiveOperation*& end : meeting.begun) {
        ranks_[end->rank].multicasts_behind[place] = end->behind;
        complete(*end);
        end = nullptr;
    }
    meeting.count = 0;
    ++multicasts_complete_;
}

void Run::complete(LiveOperation& live) {
    live.state = LiveOperation::State::kComplete;
    OneRank& one = ranks_[live.rank];
    Slot& slot = one.slots[live.position.lane % one.extent.lanes_in_flight];
    LiveRound& its = live.position.round == slot.older_round ? slot.older : slot.newer;
    its.complete |= after_op(live.position.index);
    queue(live.rank);
}

uint64_t Run::at_end(Rank rank) {
    uint64_t all = ranks_[rank].node_behind;
    for (const Slot& slot : ranks_[rank].slots) all = interpreter_.join(all, slot.before);
    return all;
}

std::vector<std::string> Run::stuck(size_t lines_max) const {
    std::vector<std::string> lines = one_ended(lines_max);
    if (!lines.empty()) return lines;
    for (Rank r = 0; r < ranks_.size(); ++r) {
        if (!is_over(r)) return {cycle(r)};
    }
    return {};
}

// Over all operations of all Programs, not only those that were reached.
std::vector<std::string> Run::one_ended(size_t lines_max) const {
    std::unordered_map<Key, int, KeyHash> ends;
    const auto each = [this](auto f) {
        Round round;
        for (Rank r = 0; r < ranks_.size(); ++r) {
            for (uint64_t lane = 0; lane < ranks_[r].extent.lanes; ++lane) {
                for (uint64_t k = 0; k < ranks_[r].extent.rounds; ++k) {
                    programs_[r]->read(lane, k, round);
                    for (uint32_t i = 0; i < round.size(); ++i) {
                        if (is_message(round[i].kind)) f(r, Position{lane, k, i}, round[i]);
                    }
                }
            }
        }
    };
    each([&](Rank r, const Position& position, const Operation& op) {
        ends[key_of(r, position.lane, op)] += is_send(op) ? 1 : -1;
    });
    std::vector<std::string> lines;
    each([&](Rank r, const Position& position, const Operation& op) {
        if (ends[key_of(r, position.lane, op)] == 0 || lines.size() >= lines_max) return;
        lines.push_back(label(r, position, op) + ": rank " + std::to_string(op.peer) +
                        (is_send(op) ? " never receives it" : " never sends it"));
    });
    return lines;
}

Run::Wait Run::waits_for(Rank rank) const {
    const OneRank& one = ranks_[rank];
    Wait wait;
    for (const Slot& slot : one.slots) {
        for (const LiveRound* live_round : {&slot.older, &slot.newer}) {
            for (const LiveOperation& live : live_round->ops) {
                if (live.state != LiveOperation::State::kPosted) continue;
                const Wait found = waits_for(live);
                if (!found.is_local) return found;
                wait = found;
            }
        }
    }
    return wait;
}

// What is posted and not complete: the other end, the first that has not come, or, where its turn
// has not come, its own rank.
Run::Wait Run::waits_for(const LiveOperation& live) const {
    if (is_message(live.op.kind)) return {&live, live.op.peer, false};
    if (is_meet(live.op.kind)) return waits_to_meet(live);
    const uint32_t n = placement_.node_of(live.rank);
    const bool is_everywhere = is_multicast(live.op.kind);
    const std::vector<LiveOperation*>& come =
        is_everywhere ? meetings_[live.op.order % kMulticastsInFlightMax].begun : nodes_[n].arrived;
    const uint32_t seat = is_everywhere ? live.rank : placement_.index_on_node(live.rank);
    if (come.empty() || come[seat] != &live) return {&live, live.rank, true};
    const auto missing = static_cast<uint32_t>(std::ranges::find(come, nullptr) - come.begin());
    return {&live, is_everywhere ? missing : placement_.members(n)[missing], false};
}

// Somebody whom one of them knows has not come.
Run::Wait Run::waits_to_meet(const LiveOperation& live) const {
    const std::vector<bool>& is_awaited = halls_.at(live.position.lane).is_awaited;
    const auto missing = std::ranges::find(is_awaited, true) - is_awaited.begin();
    return {&live, static_cast<Rank>(missing), false};
}

std::string Run::cycle(Rank from) const {
    std::vector<Rank> path;
    std::string line = "deadlock";
    for (Rank r = from;;) {
        const auto before = std::ranges::find(path, r);
        if (before != path.end()) {
            // Only the cycle itself is worth telling.
            line = "deadlock";
            for (auto in_cycle = before; in_cycle != path.end(); ++in_cycle) {
                const Wait wait = waits_for(*in_cycle);
                line += (in_cycle == before ? ": " : "; ") + label(*wait.live) +
                        ", waits for rank " + std::to_string(wait.other);
            }
            return line;
        }
        path.push_back(r);
        const Wait wait = waits_for(r);
        if (wait.live == nullptr) return line + ": rank " + std::to_string(r) + " does not go on";
        if (wait.is_local) {
            const bool is_node_order = is_node(wait.live->op.kind);
            return line + ": " + label(*wait.live) + ", waits for " +
                   (is_node_order ? "order " : "multicast ") +
                   std::to_string(is_node_order ? ranks_[r].next_order : ranks_[r].next_multicast) +
                   " of its own rank, which comes after it";
        }
        if (is_over(wait.other)) {
            return line + ": " + label(*wait.live) + ", waits for rank " +
                   std::to_string(wait.other) + ", which has finished";
        }
        r = wait.other;
    }
}

}  // namespace tutti::check
