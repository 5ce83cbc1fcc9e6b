// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/meter.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "run/node/detail.h"

namespace tutti::node {
namespace {

// The first trips of a trial write lines of a ring that nobody has read lately, which is quicker
// than what calls find that follow each other: these are not counted. Then at least two, and more,
// up to a limit, while they are quick.
constexpr uint32_t kTripsUncounted = 2;
constexpr uint32_t kTripsMin = 4;
constexpr uint32_t kTripsMax = 10;
constexpr uint64_t kTrialNs = 60'000;
// So much longer than what it is compared with in so many trips, and it is not tried again. One
// trip or two may have been disturbed, and what is found stays until the ranks are moved.
constexpr uint64_t kHopeless = 2;
constexpr uint32_t kHopelessTrips = 3;
// The blocks of all ranks together.
constexpr size_t kAllBytesMax = size_t{1} << 20;

uint32_t calls_of(Pattern pattern) {
    switch (pattern) {
        case Pattern::kBarrier:
            return 8;
        case Pattern::kFlag:
            return 8;
        case Pattern::kOneWay:
        case Pattern::kPair:
        case Pattern::kShort:
        case Pattern::kFold:
            return 2;
        default:
            return 1;
    }
}

// Of one giver's memory, in a broadcast.
uint32_t readers_of_one(const Team& team) {
    return team.layout.flat ? team.size - 1 : team.layout.children_max;
}

// Calls that follow each other find lines that their readers have read. Lines that nobody holds, as
// in a ring that short calls have hardly used, look up to four times as quick. All calls before are
// done, so nobody needs what stands there.
void write_ring(Team& team) {
    if (team.rank != 0 && team.rank + 1 != team.size) return;
    std::memset(team.slice.chunk(team.rank, 0), 0, team.slice.geometry.ring_bytes);
}
void read_rings(const Team& team) {
    for (const Rank rank : {Rank{0}, team.size - 1}) {
        if (rank == team.rank) continue;
        const volatile std::byte* ring = team.slice.chunk(rank, 0);
        for (size_t at = 0; at < team.slice.geometry.ring_bytes; at += kLineBytes) {
            static_cast<void>(ring[at]);
        }
    }
}

}  // namespace

size_t Meter::block_bytes_max(const Team& team) const {
    return std::min<size_t>(kMeasuredBytes.back(), kAllBytesMax / team.size);
}

void Meter::begin(const Figures& known) {
    known_ = known;
    order_ = Order{};
    phase_ = Phase::kIdle;
    has_asked_ = false;
    trips_ = {};
    began_ns_ = clock_.now_ns();
}

// Written once, so that no trip waits for pages.
bool Meter::make_room(const Team& team) {
    const size_t bytes = kMeasuredBytes.back() + team.size * block_bytes_max(team);
    room_.reset(new (std::nothrow) std::byte[bytes]);
    if (!room_) return false;
    std::memset(room_.get(), 1, bytes);
    return true;
}

// Whether all have memory to measure with.
void Meter::ask(Team& team) {
    write_ring(team);
    can_measure_ = make_room(team);
    Call call;
    call.collective = TUTTI_ALLREDUCE;
    call.bytes = 1;
    call.recv = reinterpret_cast<std::byte*>(&can_measure_);
    call.reducer.kernel = [](void* out, const void* left, const void* right, size_t) {
        const bool both = *static_cast<const bool*>(left) && *static_cast<const bool*>(right);
        *static_cast<bool*>(out) = both;
    };
    has_asked_ = true;
    phase_ = Phase::kAsking;
    start(team, op_, call);
}

void Meter::find_partners(const Team& team) {
    partners_.fill(kNoRank);
    distances_ = 0;
    if (team.layout.distance.empty()) return;
    for (Rank rank = team.size - 1; rank > 0; --rank) {
        const uint32_t away = distance(team.layout, 0, rank);
        partners_[away] = rank;
        distances_ |= uint32_t{1} << away;
    }
}

// Rank 0's: what comes next.
void Meter::decide(const Team& team) {
    using enum Order::Kind;
    // Ranks that have no processors of their own: what they measure says nothing.
    constexpr uint32_t kBarrierNsMax = 20'000;
    Figures& figures = order_.figures;
    const bool has_barrier = figures.barrier_ns != 0;
    const bool is_crowded = figures.barrier_ns > kBarrierNsMax;
    // What was cut off then is tried again.
    const bool was_whole = known_.barrier_ns != 0 && known_.way_ns[0] != 0;
    const bool is_as_it_was =
        was_whole && has_barrier && !has_moved(known_.barrier_ns, figures.barrier_ns);
    const bool is_late = clock_.now_ns() - began_ns_ > kBudgetNs;
    if (trips_.count > 0 && !is_late) return;  // the trial goes on
    const bool can_read = team.single_copy.peers != nullptr && limits_.has_single;
    const auto next = next_trial(figures, {.can_read = can_read,
                                           .has_long_rings = limits_.has_long_rings,
                                           .all_ways_bytes_max = block_bytes_max(team),
                                           .distances = distances_,
                                           .readers = readers_of_one(team),
                                           .for_prices = team.size == 2});
    const bool is_enough = is_late || is_as_it_was || is_crowded || !next;
    if (is_enough || (has_asked_ && !can_measure_)) {
        order_.kind = kEnd;
        if (is_as_it_was || is_crowded || !has_barrier) figures = known_;
        if (is_late && !is_as_it_was && next) forget_unfinished(figures, *next);
        order_.tuning = tune(figures, untried_, limits_);
        return;
    }
    // A barrier needs no memory.
    order_.kind = has_barrier && !has_asked_ ? kAsk : kTrip;
    order_.trial = *next;
    order_.partner = partners_[next->distance];
}

void Meter::order(Team& team) {
    if (team.rank == 0) decide(team);
    Call call;
    call.collective = TUTTI_BCAST;
    call.bytes = sizeof(Order);
    call.recv = reinterpret_cast<std::byte*>(&order_);
    phase_ = Phase::kOrdering;
    start(team, op_, call);
}

void Meter::obey(Team& team) {
    if (order_.kind == Order::Kind::kAsk) return ask(team);
    meet(team, order_.kind == Order::Kind::kEnd ? Phase::kParting : Phase::kMeeting);
}

// Before a trip, and at the end: after it no chunk is in use. What a rank gives it has just
// written, as programs do.
void Meter::meet(Team& team, Phase phase) {
    if (order_.trial.pattern == Pattern::kAllWays) {
        std::memset(room_.get(), static_cast<int>(trips_.count), kMeasuredBytes[order_.trial.size]);
    }
    calls_ = 0;
    phase_ = phase;
    start(team, op_, Call{});
}

void Meter::apply(Team& team, const Tuning& tuning) {
    team.tuning = tuning;
    team.slice.geometry = team.slice.geometry.recut(tuning.pieces.bytes_max, tuning.ring_bytes);
}

bool Meter::move_on(Team& team) {
    const Trial& trial = order_.trial;
    if (calls_ == calls_of(trial.pattern)) return false;
    if (trial.pattern == Pattern::kFlag || trial.pattern == Pattern::kPair) {
        const size_t bytes = trial.pattern == Pattern::kPair ? kMeasuredBytes[trial.size] : 0;
        const bool is_there = calls_++ % 2 == 0;
        const Rank partner = order_.partner;
        phase_ = Phase::kMoving;
        start_pair(team, op_, room_.get(), bytes, is_there ? 0 : partner, is_there ? partner : 0);
        return true;
    }
    Call call;
    if (trial.pattern != Pattern::kBarrier) {
        const bool is_bcast = trial.pattern == Pattern::kOneWay || trial.pattern == Pattern::kShort;
        const bool is_fold = trial.pattern == Pattern::kFold;
        call.collective = is_bcast ? TUTTI_BCAST : is_fold ? TUTTI_REDUCE : TUTTI_ALLGATHER;
        const bool is_far = is_fold == (calls_ == 0);  // the root
        call.root = (is_bcast || is_fold) && is_far ? team.size - 1 : 0;
        call.bytes = trial.pattern == Pattern::kShort ? kShortBytes : kMeasuredBytes[trial.size];
        call.send = is_bcast ? nullptr : room_.get();
        call.recv = is_bcast ? room_.get() : room_.get() + kMeasuredBytes.back();
        if (is_fold) call.reducer = {sum_, nullptr, nullptr, sizeof(uint64_t)};
    }
    ++calls_;
    phase_ = Phase::kMoving;
    start(team, op_, call);
    return true;
}

// Rank 0's, after a trip.
void Meter::record() {
    const uint64_t now = clock_.now_ns();
    const uint64_t ns = (now - trip_began_ns_) / calls_of(order_.trial.pattern);
    if (trips_.count++ == 0) trips_.began_ns = trip_began_ns_;
    trips_.least_ns = trips_.count == 1 ? ns : std::min(trips_.least_ns, ns);
    if (trips_.count <= kTripsUncounted + 1 || ns < trips_.best_ns) trips_.best_ns = ns;
    const uint32_t rival = rival_ns(order_.figures, order_.trial);
    const bool is_hopeless =
        rival != 0 && trips_.count >= kHopelessTrips && trips_.least_ns > kHopeless * rival;
    const bool is_look = order_.trial.pattern == Pattern::kBarrier && known_.barrier_ns != 0;
    // One that seems to tell something new is made sure of.
    const bool wants_more =
        is_look ? has_moved(known_.barrier_ns, static_cast<uint32_t>(trips_.best_ns))
                : now - trips_.began_ns < kTrialNs;
    const bool goes_on = trips_.count < kTripsMin || (wants_more && trips_.count < kTripsMax);
    if (goes_on && !is_hopeless) return;
    const uint64_t most = UINT32_MAX;
    time_of(order_.figures, order_.trial) =
        static_cast<uint32_t>(std::clamp<uint64_t>(trips_.best_ns, 1, most));
    trips_ = {};
}

void Meter::end(Team& team) {
    apply(team, order_.tuning);
    choose_small(team);
    team.layout.quick = std::move(quick_);
    room_.reset();
    phase_ = Phase::kIdle;
}

Step Meter::step(Team& team) {
    if (phase_ == Phase::kIdle) {
        // Barriers are compared with earlier ones: all are measured along the tree itself.
        quick_ = std::move(team.layout.quick);
        if (team.rank == 0) find_partners(team);
        order(team);
        return Step::kAdvanced;
    }
    const Step step = node::step(team, op_);
    if (step != Step::kDone) return step;
    switch (phase_) {
        case Phase::kAsking:
            read_rings(team);
            began_ns_ = clock_.now_ns();
            order(team);
            break;
        case Phase::kOrdering:
            obey(team);
            break;
        case Phase::kParting:
            end(team);
            return Step::kDone;
        case Phase::kMeeting:
            apply(team, tuning_for(order_.trial, untried_, limits_));
            trip_began_ns_ = team.rank == 0 ? clock_.now_ns() : 0;
            move_on(team);
            break;
        default:
            if (move_on(team)) break;
            if (team.rank == 0) record();
            order(team);
            break;
    }
    return Step::kAdvanced;
}

}  // namespace tutti::node
