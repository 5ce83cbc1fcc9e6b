// SPDX-License-Identifier: BSD-3-Clause
// Which plan the next call of a track across hosts has: by its shape, by the calls of the track so
// far, and by what all members know alike now of multicast, of the networks in use and of the speed
// of messages. What plans or asks is called under MulticastLife::hold(); what makes helpers, and
// forget(), between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/demand.h"
#include "base/result.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "plan/select/plans.h"
#include "run/engine/context.h"
#include "run/multicast/multicast_life.h"
#include "run/networks/team_networks.h"
#include "run/notes/call_log.h"

namespace tutti::engine {

class CallPlanner {
  public:
    // Plans that no rule and no setting touches, for what members do beside the embedder's calls.
    struct Helpers {
        select::Plan check;       // TUTTI_CHECK: the cards of all
        select::Plan barrier;     // members meet; or what follows a call with multicasts
        select::Plan comparison;  // an allreduce of one element
    };

    // What the team and the track have; outlives this.
    struct Means {
        Context& context;
        const topo::Placement& placement;
        uint32_t rank;
        const networks::TeamNetworks& networks;
        multicast::MulticastLife& multicast;
        const notes::CallLog& log;  // of the track's calls
        bool may_multicast;         // they may, where the team has it
    };
    explicit CallPlanner(const Means& means);

    // The plan of the next call, of this shape, made where it is new. An error is the same on all
    // ranks, unless memory ran out. Valid until the next one is asked for, or while it runs. Where
    // it is the embedder's, it stays so when multicast fails: a rank may learn of that later than
    // another, and must not wait in the embedder's call for one that waits in ours.
    // way: live tuning's (Request::way).
    Result<select::Plan*> plan(const sched::Shape& shape, uint32_t way = 0);
    // Multicast has failed, as far as this rank knows, and the ranks have not agreed yet from which
    // call on they do without: whether the next one goes by this plan is not known before
    // MulticastLife::decide() has gone on. A plan without multicasts stands, whatever they agree
    // on.
    [[nodiscard]] bool is_undecided(const select::Plan& plan) const {
        return plan.multicasts() && means_.multicast.route()->is_undecided();
    }
    // Calls of the shape's collective run by this algorithm from now on, whatever the settings say;
    // empty: by settings and rules again. All ranks alike, between calls. An error says why this
    // shape cannot, and changes nothing.
    Result<Done> force(const sched::Shape& shape, const std::string& algorithm);
    // See Runner::ways().
    [[nodiscard]] std::vector<select::Way> ways(const sched::Shape& shape, bool has_stragglers) {
        return plans_.ways(agreed(shape), circumstances(shape), has_stragglers);
    }
    // See select::Plans::follows_from().
    [[nodiscard]] std::optional<uint64_t> follows_from(const sched::Shape& shape) const {
        return plans_.follows_from(agreed(shape), circumstances(shape));
    }
    // Whether ranks that take the call of this shape for one of so many bytes leave it to the
    // embedder if this rank does, and else do not.
    [[nodiscard]] bool stays_with(const sched::Shape& shape, uint64_t bytes) const;

    // ---- a call of the plan, in the order of calls ----
    // It begins, or is left to the embedder: what it would have used is asked for.
    void count_wish(const select::Plan& plan);
    void started(const select::Plan& plan) { plans_.started(plan); }
    void withdrawn() { plans_.withdrawn(); }
    [[nodiscard]] sched::Program* running() const { return plans_.running(); }
    // No call comes any more.
    void forget() {
        plans_.forget();
        helpers_ = {};
    }

    // ---- helpers ----
    // Those that are not there yet. card_bytes: of a card; 0: none are compared.
    Result<Done> make_helpers(size_t card_bytes);
    // bytes: of the element.
    Result<Done> make_comparison(size_t bytes) {
        return make_plain(helpers_.comparison, TUTTI_ALLREDUCE, bytes);
    }
    [[nodiscard]] Helpers& helpers() { return helpers_; }
    [[nodiscard]] bool is_helper(const select::Plan& plan) const {
        return &plan == &helpers_.check || &plan == &helpers_.barrier ||
               &plan == &helpers_.comparison;
    }

    // ---- the speed of messages between hosts ----
    // It is measured once calls that could run otherwise by it come often.
    void await_speed() { speed_demand_.await(); }
    // Between two calls all members know that alike, since they count the same calls.
    [[nodiscard]] bool is_speed_due() const;
    // Alike on all members, between two calls; 0: it is not known, nor measured any more.
    void adopt_speed(const sched::Speed& speed) {
        speed_demand_.end();
        speed_ = speed;
    }
    // A team that has tried multicast has measured that beside it.
    [[nodiscard]] sched::Speed message_speed() const;

    // Where there is a group. Alike on all members.
    [[nodiscard]] bool may_multicast(const sched::Shape& shape) const;

  private:
    [[nodiscard]] select::Circumstances circumstances(const sched::Shape& shape) const;
    [[nodiscard]] sched::Shape agreed(sched::Shape shape) const;
    Result<Done> make_plain(select::Plan& plan, tutti_collective collective, size_t bytes);

    // As calls of this track may use it.
    [[nodiscard]] bool has_multicast() const {
        return means_.may_multicast && means_.multicast.team() != nullptr;
    }

    Means means_;
    select::Plans plans_;
    Helpers helpers_;
    Demand speed_demand_;  // of calls that could run otherwise by it
    sched::Speed speed_;   // as measured without multicast
};

}  // namespace tutti::engine
