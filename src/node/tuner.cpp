// SPDX-License-Identifier: BSD-3-Clause
#include "node/tuner.h"

namespace tutti::node {

// All come to the same: the denial of the lowest reader.
void Tuner::ask(Team& team) {
    denial_ = team.peers->denial();
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
    has_single_ = false;
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
    if (meter_.figures() != figures_) ++again_;
    figures_ = meter_.figures();
    return step;
}

Step Tuner::go_on(Team& team) {
    if (phase_ == Phase::kBegun && has_single_ && team.peers) {
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
