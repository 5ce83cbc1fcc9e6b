// SPDX-License-Identifier: BSD-3-Clause
// What the members of a team do together between two calls: trials of multicast and of messages,
// and comparisons of when they came.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "base/large_stack.h"
#include "run/adapt/arrival_figures.h"
#include "run/engine/inter_node.h"
#include "run/engine/team.h"

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
        if (members_.is_broken()) return false;
        InterNode& inter_node = *runner_->inter_node();
        const auto held = inter_node.hold();
        if (measure_ && inter_node.is_speed_due()) {
            due = std::exchange(measure_, nullptr);
        } else if (try_multicast_ && inter_node.is_multicast_due()) {
            due = try_multicast_;
        }
    }
    if (!due) return false;
    static_cast<void>(on_large_stack([&] { return due(*this); }));  // an error stays with the team
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

void Team::tune_live(bool all) {
    live_ = std::make_unique<select::Live>(all);
    arrivals_->time_calls(select::Live::kTimesMax);
}

void Team::follow_arrivals() { follow_ = std::make_unique<select::Follow>(); }

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
        if (members_.is_broken()) {
            arrivals_->put_off();
            return false;
        }
    }
    const auto read = [&] { return read_clocks_(*this); };
    if (arrivals_->is_reading_due() && on_large_stack(read) != TUTTI_OK) return true;
    if (!arrivals_->has_samples()) {
        follow_.reset();  // what is on trial would stay for good
        return true;
    }
    tutti_call comparison{};
    comparison.collective = TUTTI_ALLREDUCE;
    comparison.send = TUTTI_IN_PLACE;
    adapt::ArrivalBlock& block = arrivals_->block_of_own(context().clock().now_ns());
    if (live_) {
        const auto [name, calls] = live_->wish(arrivals_->calls());
        block.wish.set(name);
        block.wish_calls = calls;
        block.timed.set(arrivals_->timed());
    }
    comparison.recv = &block;
    comparison.bytes = comparison.element_bytes = sizeof(adapt::ArrivalBlock);
    comparison.op = TUTTI_OP_USER;
    comparison.reduce = add_blocks;
    comparison.commutes = 1;
    static_cast<void>(describe(comparison, run_));
    runner_->begin_comparison(run_.op.call);
    queue_.put_in_front(run_);
    if (wait_for(run_) != TUTTI_OK) return true;
    if (live_) hear_of_trials();
    const bool runs_otherwise = follow_ && hear_of_late();
    arrivals_->compared();
    if (runs_otherwise) arrivals_->compare_soon();
    if (live_) arrivals_->compare_after(arrivals_->block().wish_calls);
    return true;
}

// What the members have told each other of a batch, and what they try next: the block says both.
void Team::hear_of_trials() {
    const adapt::ArrivalBlock& block = arrivals_->block();
    std::array<select::Live::Times, select::Live::kTimesMax> times;
    uint32_t timed = 0;
    const auto samples = arrivals_->samples();
    for (size_t i = 0; i < samples.size(); ++i) {
        const select::Live::Times one{block.calls[i].last_ns, block.calls[i].left_ns};
        if (samples[i].is_timed) {
            times[timed++] = one;
        } else if (samples[i].question != select::Live::kNone) {
            live_->sampled(samples[i].question, one);
        }
    }
    if (!block.timed.is_alike()) timed = 0;
    live_->heard({times.data(), timed}, arrivals_->calls());
    const uint64_t name = block.wish.is_alike() ? block.wish.most : 0;
    if (name == 0) return;
    if (const select::CallKind* kind = live_->wants_ways(name)) {
        const auto set = context().fund().with([&]() -> Result<Done> {
            live_->set_ways(name, on_large_stack([&] {
                                return runner_->ways(*kind,
                                                     arrivals_->has_stragglers(kind->collective));
                            }));
            return Done{};
        });
        if (!set) return give_up_all("out of memory");
    }
    live_->begin(name);
}

// True where calls run otherwise from the next one on. Whether multicast has failed meanwhile not
// all members know; where it has, calls go by the rules all the same.
bool Team::hear_of_late() {
    const auto samples = arrivals_->samples();
    for (size_t i = 0; i < samples.size(); ++i) {
        const adapt::CallArrivals& call = arrivals_->block().calls[i];
        if (!samples[i].may_follow || call.left_ns == INT64_MIN) continue;
        follow_->sampled(samples[i].collective, call.spread_ns(), call.delay_ns());
    }
    const auto priced = context().fund().with(
        [this]() -> Result<Done> { return on_large_stack([this] { return price_following(); }); });
    if (!priced) {
        give_up_all("out of memory");
        return false;
    }
    return follow_->heard(runner_->inter_node()->multicast_ns(), arrivals_->calls());
}

// By what all members know alike; as seldom as it says.
Done Team::price_following() {
    InterNode& inter_node = *runner_->inter_node();
    const auto held = inter_node.hold();
    for (const select::CallKind& kind : select::Follow::kPriced) {
        if (!follow_->asks_price(kind.collective, inter_node.multicast_ns())) continue;
        follow_->price(kind.collective, inter_node.follows_from(kind.shape(members_.size)));
    }
    return {};
}

// First a call by which members find out that they are not in step, so that none waits for the
// others in the comparison.
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
    const bool follows = collective == TUTTI_BARRIER || collective == TUTTI_ALLREDUCE;
    if (follow_ && has_followed_ && follows && follow_->of(collective).follows) {
        info.follows_since = follow_->of(collective).since;
    }
    const InterNode* inter_node = runner_->inter_node();
    for (uint32_t i = 0; i < TUTTI_ARRIVALS_LAST && info.last_samples[i] > 0; ++i) {
        const auto host = [&] {
            if (!inter_node) return members_.host();
            return inter_node->host_text(inter_node->placement().node_of(info.last_rank[i]));
        };
        std::snprintf(info.last_host[i], sizeof info.last_host[i], "%s", host().c_str());
    }
}

}  // namespace tutti::engine
