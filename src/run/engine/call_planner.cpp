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

CallPlanner::CallPlanner(Context& context, const topo::Placement& placement, uint32_t rank,
                         const networks::TeamNetworks& networks,
                         multicast::MulticastLife& multicast, const notes::CallLog& log)
    : context_(context),
      networks_(networks),
      multicast_(multicast),
      log_(log),
      plans_(context.grounds(), placement, rank),
      speed_demand_(kSpeedDemand) {}

// Multicast comes in the midst of a team's calls, and goes when it fails. The order of operands
// changes then, so where that shows, multicast is used only by the user's word.
bool CallPlanner::may_multicast(const sched::Shape& shape) const {
    const Settings& settings = context_.settings();
    return shape.is_exact || settings.mcast.choice == McastChoice::kOn ||
           settings.tune == TuneChoice::kLiveAll || plans_.is_forced(shape.collective);
}

// With what was agreed when the team was made.
sched::Shape CallPlanner::agreed(sched::Shape shape) const {
    shape.is_computed_once =
        context_.settings().heterogeneous && shape.collective == TUTTI_ALLREDUCE;
    shape.networks = networks_.in_use();
    shape.has_multicast = multicast_.team() != nullptr && may_multicast(shape);
    shape.message_speed = message_speed();
    if (!shape.has_multicast) return shape;
    shape.gives_back = networks_.routes().can_withdraw_receives();
    const multicast::AgreedMulticast& facts = multicast_.team()->agreed();
    shape.multicast_speed = {facts.latency_ns, facts.bytes_per_s * 8 / 1'000'000};
    return shape;
}

select::Circumstances CallPlanner::circumstances(const sched::Shape& shape) const {
    const bool may = may_multicast(shape);
    return {may && multicast_.is_awaited(), may && multicast_.team() != nullptr,
            multicast_.obstacle(), speed_demand_.is_awaited()};
}

Result<select::Plan*> CallPlanner::plan(const sched::Shape& shape, uint32_t way) {
    select::Circumstances now = circumstances(shape);
    now.way = way;
    sched::Shape wanted = agreed(shape);
    auto found = plans_.find(wanted, now);
    const bool is_lost =
        found && found.value()->multicasts() && !multicast_.is_there_at(log_.number() + 1);
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
    if (plan.would_multicast) multicast_.ask(plan.shape.bytes);
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
    if (!speed_demand_.is_awaited() || multicast_.team()) return false;
    return speed_demand_.is_enough() || context_.settings().price == PriceChoice::kOn;
}

sched::Speed CallPlanner::message_speed() const {
    if (!multicast_.team()) return speed_;
    const sched::Speed& beside = multicast_.team()->agreed().message;
    return beside.mbit != 0 ? beside : speed_;
}

}  // namespace tutti::engine
