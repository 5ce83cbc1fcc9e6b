// SPDX-License-Identifier: BSD-3-Clause
// The calls of one track of a team across hosts, one after the other: the executor that runs them,
// and what is known of the one under way. A call is taken on by its plan, gets its number so, and
// starts once its buffers are ready.
//
// Of several tracks the first alone multicasts: after a failure members decide from which call on
// they do without, which needs calls in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bell.h"
#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "plan/select/plans.h"
#include "run/engine/call_planner.h"
#include "run/engine/context.h"
#include "run/engine/receive_capacity.h"
#include "run/engine/track_messages.h"
#include "run/exec/executor.h"
#include "run/multicast/multicast_life.h"
#include "run/networks/team_networks.h"
#include "run/node/node_team.h"
#include "run/notes/call_log.h"
#include "run/transport/transport.h"

namespace tutti::engine {

class CallTrack {
  public:
    // What the team has, and of it for this track; outlives this.
    struct Means {
        Context& context;
        const topo::Placement& placement;
        uint32_t rank;
        TrackMessages& messages;
        networks::TeamNetworks& networks;
        multicast::MulticastLife& multicast;
    };
    // number: of the team's tracks.
    CallTrack(uint32_t number, const Means& means);
    CallTrack(const CallTrack&) = delete;
    CallTrack& operator=(const CallTrack&) = delete;

    // Once, when the node's part is there; it stays where it is. nullptr where every node has one
    // rank.
    void attach(node::Team* node);
    // No call comes any more.
    void detach() {
        executor_.reset();
        planner_.forget();
    }
    // Of the team's multicast, or none any more; between calls, on the first track.
    void set_route(transport::Multicast* route) { executor_->set_route(route); }

    // By which its messages go to each peer.
    [[nodiscard]] transport::Transport& transport() { return means_.networks.transport(number_); }
    [[nodiscard]] TrackMessages& messages() { return means_.messages; }
    // Which plan the next call has; under MulticastLife::hold().
    [[nodiscard]] CallPlanner& planner() { return planner_; }
    // The number of the last call that has begun; from 1.
    [[nodiscard]] uint32_t call() const { return means_.messages.log().number(); }
    // CallPlanner::Helpers that are not there yet, with their memory.
    Result<Done> plan_helpers(size_t card_bytes);
    Result<Done> plan_comparison(size_t bytes);

    // ---- the next call; under MulticastLife::hold() ----
    // Makes the memory that a plan needs, before its first call.
    Result<Done> reserve(select::Plan& plan);
    // The next call runs by this plan, which has its memory: it has its number now, and stays with
    // the plan, whatever fails from here on. No other is under way.
    void take_on(select::Plan& plan);
    // Starts that call, once its buffers are ready.
    // has_spare_capacity: it may become one of fewer bytes, where this rank has room for more than
    // others send it.
    void start(const exec::Arguments& arguments, bool has_spare_capacity = false);
    // The call that was retracted, as one of what is sent (receive_capacity.h).
    void take_on_again(select::Plan& plan);
    // A call of no bytes, and one that is the embedder's: nothing is sent, but it has its number,
    // so that ranks that disagree find out.
    void pass(const node::Call& call) { sign(call.collective, call.root, 0); }
    void leave_to_host(const select::Plan& plan);

    // ---- the call under way; not under hold(), as what follows ----
    Step step();
    // It has failed.
    void cancel();
    // From take_on() to the end.
    [[nodiscard]] bool is_under_way() const { return is_under_way_; }
    [[nodiscard]] exec::Executor& executor() { return *executor_; }
    [[nodiscard]] const sched::Shape& shape() const { return shape_; }
    [[nodiscard]] const transport::CallWord& word() const { return word_; }
    // Tells those that it waits for the last calls of this rank (TrackMessages::tell_calls()).
    void tell_calls();
    // It has lasted long, or is over; see MulticastLife::announce().
    void announce(bool is_long) {
        if (multicasts()) means_.multicast.announce(is_long);
    }

    // This rank has more room than is sent.
    [[nodiscard]] ReceiveCapacity& capacity() { return capacity_; }
    // Nothing on the way keeps this rank from giving its receives back.
    [[nodiscard]] bool can_withdraw_receives() const {
        return means_.networks.can_withdraw_receives();
    }
    // Gives them back: the call has not been.
    transport::State retract();

    // ---- sleeping for what the call under way waits for ----
    // The service of multicasts will bring it.
    [[nodiscard]] bool waits_for_service() const;
    // Rung whenever something has changed for a rank that waits for the service.
    [[nodiscard]] Bell& service_bell() { return means_.multicast.team()->bell(); }
    void sleep_for_service(Sleeper& sleeper, uint64_t end_ns) {
        means_.multicast.team()->sleep(sleeper, end_ns);
    }
    // It will come as messages that one can sleep for; beside them, on the rank that carries
    // multicasts, by the service.
    [[nodiscard]] bool waits_for_fabric();
    [[nodiscard]] Bell& fabric_bell() {
        return means_.multicast.carries() ? service_bell() : silent_;
    }
    void sleep_for_fabric(Sleeper& sleeper, uint64_t end_ns);
    // Other ranks of this node will do it.
    [[nodiscard]] bool waits_for_node() const;

  private:
    // What still happens to a call with multicasts, where no thread serves them.
    enum class Wake { kNone, kDelivery, kBarrier };

    [[nodiscard]] bool multicasts() const { return number_ == 0; }
    // nullptr: none, or not for calls of this track.
    [[nodiscard]] multicast::TeamMulticast* multicast_team() const {
        return multicasts() ? means_.multicast.team() : nullptr;
    }
    transport::CallWord sign(tutti_collective collective, uint32_t root, uint64_t bytes);
    void begin(select::Plan& plan);
    Step step_beside_multicast();
    Step step_by_polling();

    const uint32_t number_;
    Means means_;
    CallPlanner planner_;
    std::unique_ptr<exec::Executor> executor_;
    node::Team* node_ = nullptr;
    Bell silent_;  // of the fabric, which does not ring
    // Of the call under way.
    bool is_under_way_ = false;
    sched::Shape shape_;
    transport::CallWord word_;
    ReceiveCapacity capacity_{*this};
    Wake wake_ = Wake::kNone;
};

}  // namespace tutti::engine
