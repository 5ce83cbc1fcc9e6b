// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/call_planner.h"

#include <new>
#include <utility>

#include "base/collectives.h"

namespace tutti::engine {
namespace {

// Measuring messages takes some 50 of them, of which the long ones are 4 MB at most each way and
// some 50 ms where links are slow. It comes after 256 calls of a few bytes, or 16 of 1 MiB, so the
// job has spent several times as much on its calls by then.
constexpr uint64_t kPricedCallBytes = 64u << 10;
constexpr Demand kSpeedDemand(kPricedCallBytes, 256 * kPricedCallBytes);

}  // namespace

CallPlanner::CallPlanner(const Means& means)
    : means_(means),
      plans_(means.context.grounds(), means.placement, means.rank),
      speed_demand_(kSpeedDemand) {}

// Multicast comes in the midst of a team's calls, and goes when it fails. The order of operands
// changes then, so where that shows, multicast is used only by the user's word.
bool CallPlanner::may_multicast(const sched::Shape& shape) const {
    const Settings& settings = means_.context.settings();
    return shape.is_exact || settings.mcast.choice == McastChoice::kOn ||
           settings.tune == TuneChoice::kLiveAll || plans_.is_forced(shape.collective);
}

// With what was agreed when the team was made.
sched::Shape CallPlanner::agreed(sched::Shape shape) const {
    shape.is_computed_once =
        means_.context.settings().results.heterogeneous && shape.collective == TUTTI_ALLREDUCE;
    shape.networks = means_.networks.in_use();
    shape.has_multicast = has_multicast() && may_multicast(shape);
    shape.message_speed = message_speed();
    if (!shape.has_multicast) return shape;
    shape.gives_back = means_.networks.gives_back();
    const multicast::AgreedMulticast& facts = means_.multicast.team()->agreed();
    shape.multicast_speed = {facts.latency_ns, facts.bytes_per_s * 8 / 1'000'000};
    return shape;
}

select::Circumstances CallPlanner::circumstances(const sched::Shape& shape) const {
    const bool may = may_multicast(shape);
    const bool is_awaited = means_.may_multicast && means_.multicast.is_awaited();
    return {.awaits_multicast = may && is_awaited,
            .had_multicast = may && has_multicast(),
            .obstacle = means_.multicast.obstacle(),
            .awaits_speed = speed_demand_.is_awaited(),
            .never_multicasts = !means_.may_multicast};
}

Result<select::Plan*> CallPlanner::plan(const sched::Shape& shape, uint32_t way) {
    select::Circumstances now = circumstances(shape);
    now.way = way;
    sched::Shape wanted = agreed(shape);
    auto found = plans_.find(wanted, now);
    const bool is_lost = found && found.value()->multicasts() &&
                         !means_.multicast.is_there_at(means_.log.number() + 1);
    if (!is_lost) return found;
    wanted.has_multicast = false;
    return plans_.find(wanted, now);
}

Result<Done> CallPlanner::force(const sched::Shape& shape, const std::string& algorithm) {
    const auto before = plans_.force(shape.collective, algorithm);
    if (!before) return before.error();
    const auto planned = plan(shape);
    if (planned) return Done{};
    plans_.restore(shape.collective, before.value());
    return planned.error();
}

// Rules may leave one of the two sizes to the host MPI from a later call on, where nobody compares:
// then this call is the one that says so.
bool CallPlanner::stays_with(const sched::Shape& shape, uint64_t bytes) const {
    try {
        const sched::Shape mine = agreed(shape);
        sched::Shape theirs = mine;
        theirs.bytes = bytes;
        return plans_.go_together(mine, theirs, circumstances(mine));
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// All members count alike. Of a gather or scatter some may have more room than is sent, and do not
// know that when they begin it (receive_capacity.cpp).
void CallPlanner::count_wish(const select::Plan& plan) {
    const bool is_alike = !has_rooted_blocks(plan.shape.collective);
    if (plan.awaits_price && is_alike) speed_demand_.count(plan.shape.bytes);
    if (plan.would_multicast) means_.multicast.ask(plan.shape.bytes);
}

Result<Done> CallPlanner::make_plain(select::Plan& plan, tutti_collective collective,
                                     size_t bytes) {
    auto made = plans_.make_plain(collective, bytes);
    if (!made) return made.error();
    plan = std::move(made.value());
    return Done{};
}

Result<Done> CallPlanner::make_helpers(size_t card_bytes) {
    if (card_bytes > 0) {
        auto made = make_plain(helpers_.check, TUTTI_ALLGATHER, card_bytes);
        if (!made) return made;
    }
    return helpers_.barrier.program ? Result<Done>(Done{})
                                    : make_plain(helpers_.barrier, TUTTI_BARRIER, 0);
}

bool CallPlanner::is_speed_due() const {
    if (!speed_demand_.is_awaited() || means_.multicast.team()) return false;
    return speed_demand_.is_enough() || means_.context.settings().rules.price == PriceChoice::kOn;
}

sched::Speed CallPlanner::message_speed() const {
    if (!means_.multicast.team()) return speed_;
    const sched::Speed& beside = means_.multicast.team()->agreed().message;
    return beside.mbit != 0 ? beside : speed_;
}

}  // namespace tutti::engine
