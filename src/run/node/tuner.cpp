// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/tuner.h"

#include "run/node/detail.h"

namespace tutti::node {

bool Tuner::enter(Contest& contest, Team& team, const Call& call, bool tuned) {
    const bool is_second = contest.enter(call, tuned);
    team.is_timed = contest.is_timed();
    if (team.is_timed) contest.began(clock_.now_ns());
    return is_second;
}

// Of a contest in which this rank decides by its own times.
bool Tuner::enter_alone(Contest& contest, Team& team, const Call& call, bool tuned) {
    if (contest.compares(call)) contest.heard(call, contest.times(call));
    return enter(contest, team, call, tuned);
}

bool Tuner::enter(Team& team, const Call& call, bool tuned) {
    if (phase_ != Phase::kResting || !may_try(team, call)) return tuned;
    if (has_rooted_blocks(call.collective)) return enter_alone(contest_, team, call, tuned);
    return enter(contest_, team, call, tuned);
}

bool Tuner::enter_blocks(Team& team, const Call& call, uint64_t bytes, bool tuned) {
    if (!may_try(team)) return tuned;
    Call kind;
    kind.collective = call.collective;
    kind.bytes = bytes;
    return enter_alone(contest_, team, kind, tuned);
}

bool Tuner::enter_result(Team& team, const Call& call, bool tuned) {
    if (phase_ != Phase::kResting || !team.tuning.has_cores) return tuned;
    // The other contest wants this call, or has just had it.
    if (team.is_timed || contest_.is_on(call)) return caches_.prefers_second(call, tuned);
    return enter_alone(caches_, team, call, tuned);
}

namespace {
// Whether this rank copies what others have written into a result of its own, piece by piece.
// Reductions and scatters do, too, or not: which, is not the same in all calls of a size. Nor is it
// of a gather, whose root times its own calls alone and finds no difference where it reads in
// place.
bool places_result(const Team& team, const Op& op) {
    if (op.call.collective == TUTTI_GATHER) return team.rank == op.call.root;
    if (op.step == single_move) return false;
    if (op.call.collective == TUTTI_BCAST) return team.rank != op.call.root;
    return op.call.collective == TUTTI_ALLGATHER || op.call.collective == TUTTI_ALLTOALL;
}
}  // namespace

// A third of what goes past the caches where there is no contest is about twice a second-level
// cache, which holds less than that anyway.
void try_past_caches(Team& team, Op& op) {
    if (result_bytes(team, op) < team.copying.past_caches_bytes_min / 3 || !places_result(team, op))
        return;
    op.is_past_caches = team.tuner->enter_result(team, op.call, op.is_past_caches);
}

void end_timed(Team& team) {
    team.is_timed = false;
    team.tuner->end_timed();
}

// A call has taken as long as it took the last member.
void Tuner::compare(Team& team) {
    times_ = contest_.times(compared_);
    Call call;
    call.collective = TUTTI_ALLREDUCE;
    call.bytes = sizeof times_;
    call.recv = reinterpret_cast<std::byte*>(&times_);
    call.reducer.element_bytes = sizeof(uint32_t);
    call.reducer.kernel = find_kernel(TUTTI_UINT32, TUTTI_MAX, best_isa(IsaChoice::kAuto));
    phase_ = Phase::kComparing;
    start(team, op_, call);
}

// All come to the same: the denial of the lowest reader.
void Tuner::ask(Team& team) {
    denial_ = team.single_copy.peers->denial();
    denial_.reader = team.rank;
    Call call;
    call.collective = TUTTI_ALLREDUCE;
    call.bytes = sizeof(Denial);
    call.recv = reinterpret_cast<std::byte*>(&denial_);
    call.reducer.element_bytes = sizeof(Denial);
    call.reducer.kernel = [](void* out, const void* left, const void* right, size_t) {
        const auto& one = *static_cast<const Denial*>(left);
        const auto& other = *static_cast<const Denial*>(right);
        const bool is_other = one.failure == 0 || (other.failure != 0 && other.reader < one.reader);
        *static_cast<Denial*>(out) = is_other ? other : one;
    };
    phase_ = Phase::kAsking;
    start(team, op_, call);
}

// The team keeps its way into the others' memory for calls that are to run as "single" by name.
void Tuner::hear(Team& team) {
    if (denial_.failure == 0) return;
    has_single_ = may_choose_ = false;
    meter_.forbid_single();
    team.tuning.set_single(kNever);
    if (on_denial_) on_denial_(denial_);
}

Step Tuner::measure(Team& team) {
    if (!measures_) return Step::kDone;
    if (phase_ != Phase::kMeasuring) meter_.begin(figures_);
    phase_ = Phase::kMeasuring;
    const Step step = meter_.step(team);
    if (step != Step::kDone) return step;
    if (meter_.figures() != figures_) {
        ++again_;
        contest_.forget();
        caches_.forget();
    }
    figures_ = meter_.figures();
    return step;
}

Step Tuner::go_on(Team& team) {
    if (phase_ == Phase::kBegun && compares_) {
        compare(team);
        return Step::kAdvanced;
    }
    if (phase_ == Phase::kComparing) {
        const Step step = node::step(team, op_);
        if (step != Step::kDone) return step;
        contest_.heard(compared_, times_);
        phase_ = Phase::kBegun;
        compares_ = false;
        return looks_ ? Step::kAdvanced : Step::kDone;
    }
    if (phase_ == Phase::kBegun && has_single_ && team.single_copy.peers) {
        ask(team);
        return Step::kAdvanced;
    }
    if (phase_ != Phase::kAsking) return measure(team);
    const Step step = node::step(team, op_);
    if (step != Step::kDone) return step;
    hear(team);
    return measure(team);
}

}  // namespace tutti::node
