// SPDX-License-Identifier: BSD-3-Clause
// What the members of a team do together between two calls: trials of multicast and of messages,
// and comparisons of when they came.
#include <memory>
#include <utility>

#include "adapt/arrival_figures.h"
#include "engine/inter_node.h"
#include "engine/team.h"

namespace tutti::engine {
namespace {

static_assert(sizeof(adapt::ArrivalBlock) <= TUTTI_ELEMENT_BYTES_MAX);

void add_blocks(void*, const void* left, void* inout, size_t) {
    static_cast<adapt::ArrivalBlock*>(inout)->add(*static_cast<const adapt::ArrivalBlock*>(left));
}

}  // namespace

// ---- trials of a team that has made calls already ----------------------------------------------

// Members have counted alike up to the call that begins, not up to requests under way.
bool Team::look_at_trials() {
    if (!try_multicast_ && !measure_) return false;
    Trial due = nullptr;
    {
        const HeldTeam held_team(*this);
        settle();
        // A member that has rejected a call has not counted it; the next call says so.
        if (members_.is_broken() || control_->has_rejections()) return false;
        InterNode& inter_node = *runner_->inter_node();
        const auto held = inter_node.hold();
        if (measure_ && inter_node.is_speed_due()) {
            due = std::exchange(measure_, nullptr);
        } else if (try_multicast_ && inter_node.is_multicast_due()) {
            due = try_multicast_;
        }
    }
    if (!due) return false;
    static_cast<void>(due(*this));  // an error stays with the team
    return true;
}

// First the members meet in a call of their own, whatever the rules say of barriers. Who makes
// another call, has given up or has had an error ends that one, while nothing ends a wait in the
// embedder's allgather.
tutti_status Team::meet() {
    tutti_call barrier{};
    barrier.collective = TUTTI_BARRIER;
    static_cast<void>(describe(barrier, run_));
    runner_->begin_meeting();
    queue_.put_in_front(run_);
    return wait_for(run_);
}

tutti_status Team::begin_try() {
    InterNode& inter_node = *runner_->inter_node();
    const tutti_status met = meet();
    if (met != TUTTI_OK || !inter_node.has_lost_multicast()) return met;
    // In the try all members let it go on, so it ends; and who is over it has no message of it
    // under way: those of the next group's failure cannot meet with them.
    runner_->begin_settling();
    queue_.put_in_front(run_);
    const tutti_status settled = wait_for(run_);
    if (settled == TUTTI_OK) inter_node.retire_multicast();
    return settled;
}

// ---- when members come -------------------------------------------------------------------------

void Team::watch_arrivals() { arrivals_ = std::make_unique<Arrivals>(rank()); }

void Team::read_clocks_by(Trial how) {
    arrivals_->read_clocks();
    read_clocks_ = how;
}

// Members have counted alike up to the call that begins, as for trials. An error stays with the
// team.
bool Team::compare_arrivals() {
    if (!arrivals_->has_samples()) return false;
    {
        const HeldTeam held_team(*this);
        settle();
        if (members_.is_broken() || control_->has_rejections()) {
            arrivals_->put_off();
            return false;
        }
    }
    if (arrivals_->is_reading_due() && read_clocks_(*this) != TUTTI_OK) return true;
    if (!arrivals_->has_samples()) return true;
    tutti_call comparison{};
    comparison.collective = TUTTI_ALLREDUCE;
    comparison.send = TUTTI_IN_PLACE;
    comparison.recv = &arrivals_->block_of_own(context().clock().now_ns());
    comparison.bytes = comparison.element_bytes = sizeof(adapt::ArrivalBlock);
    comparison.op = TUTTI_OP_USER;
    comparison.reduce = add_blocks;
    comparison.commutes = 1;
    static_cast<void>(describe(comparison, run_));
    runner_->begin_comparison(run_.op.call);
    queue_.put_in_front(run_);
    if (wait_for(run_) == TUTTI_OK) arrivals_->compared();
    return true;
}

// A member that has rejected a call says so in its next one, so there is to be one.
tutti_status Team::finish_arrivals() {
    if (!arrivals_) return TUTTI_OK;
    const tutti_call barrier{};
    const tutti_status met = run(barrier);
    if (met < TUTTI_OK) return met;
    compare_arrivals();
    return members_.broken;
}

void Team::describe_arrivals(tutti_collective collective, tutti_arrivals_info& info) {
    const HeldTeam held_team(*this);
    const size_t struct_bytes = info.struct_bytes;
    info = {};
    info.struct_bytes = struct_bytes;
    if (!arrivals_) return;
    arrivals_->describe(collective, info);
    const InterNode* inter_node = runner_->inter_node();
    for (uint32_t i = 0; i < TUTTI_ARRIVALS_LAST && info.last_samples[i] > 0; ++i) {
        const auto host = [&] {
            if (!inter_node) return members_.host();
            return inter_node->host_text(inter_node->placement().node_of(info.last_rank[i]));
        };
        multicast::set_text(info.last_host[i], host());
    }
}

}  // namespace tutti::engine
