// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/plans.h"

#include <algorithm>
#include <utility>

#include "base/collectives.h"
#include "base/large_stack.h"
#include "plan/algo/plan.h"
#include "plan/select/by_price.h"
#include "plan/select/measured.h"

namespace tutti::select {
namespace {

// Shapes that a team remembers. A program that calls more of them in turn plans again, which costs
// it no more memory, and some microseconds; where messages are compared with multicasts
// (plan/select/predict.h) tens of them, and a millisecond among hundreds of hosts.
constexpr size_t kPlansMax = 64;
// Algorithms that a team is told to run, one after the other: more than there are.
constexpr size_t kForcesMax = 1024;
// Live tuning tries so many algorithms by price, none that is to take so many times the best.
constexpr size_t kWaysByPrice = 2;
constexpr uint64_t kTooDear = 4;
// A bcast that follows who arrives asks first, for half a round trip: nothing beside longer
// messages.
constexpr uint64_t kFollowedBcastBytesMin = uint64_t{16} << 10;

}  // namespace

Plans::Plans(const Grounds& grounds, const topo::Placement& placement, uint32_t rank)
    : grounds_(grounds), placement_(placement), rank_(rank) {
    plans_.reserve(kPlansMax);
    const auto& parameters = grounds_.rules.parameters();
    if (parameters && placement.nodes() > 1) {
        prices_.emplace(placement, cluster_of(placement, *parameters));
    }
}

void Plans::fill(Plan& plan, const algo::Algorithm& algorithm, const algo::Tuning& tuning) const {
    plan.program = algo::make_plan(algorithm, plan.shape, placement_, rank_, tuning);
    plan.name = algorithm.name.data();  // a literal
}

// Of messages as measured; nullptr: nothing was.
Prices* Plans::prices_by_speed(const sched::Speed& speed) const {
    if (speed.mbit == 0) return nullptr;
    if (!measured_ || measured_speed_ != speed) {
        measured_.emplace(select::prices_by_speed(grounds_.rules, speed, placement_));
        measured_speed_ = speed;
    }
    return &*measured_;
}

// nullptr: they do not count for this call.
Prices* Plans::measured_prices(const sched::Shape& shape) const {
    const bool counts = measured_counts(grounds_.settings, grounds_.rules, shape, placement_);
    return counts ? prices_by_speed(shape.message_speed) : nullptr;
}

uint32_t Plans::force_of(const sched::Shape& shape, const Circumstances& now) const {
    if (const uint32_t force = force_[shape.collective]; force != 0) return force;
    return now.way;
}

// What live tuning has found may not run any more; all members see that alike.
Result<Choice> Plans::choose(const sched::Shape& shape, const Circumstances& now) const {
    const uint32_t force = force_of(shape, now);
    if (force == kFollows) return choose_following(shape, now);
    auto choice = choose(shape, now, force);
    if (choice || now.way == 0 || force_[shape.collective] != 0) return choice;
    return choose(shape, now, 0);
}

Result<Choice> Plans::choose(const sched::Shape& shape, const Circumstances& now,
                             uint32_t force) const {
    return choose_forced(
        shape, now, force != 0 ? &forces_[force - 1] : grounds_.rules.forced(shape.collective));
}

// As a rule for calls of some sizes alone that leaves them to the host MPI: not before sizes are
// compared, since it may do the same the other way round.
Result<Choice> Plans::choose_following(const sched::Shape& shape, const Circumstances& now) const {
    auto by_rules = choose(shape, now, 0);
    if (!by_rules || by_rules.value().is_users || !shape.has_multicast) return by_rules;
    if (!shape.sizes_are_compared) {
        by_rules.value().is_for_now = true;
        return by_rules;
    }
    const Forced following{
        .algorithm = std::string(kFollowing), .node_algorithm = {}, .tuning = {}};
    auto choice = choose_forced(shape, now, &following);
    return choice ? choice : by_rules;
}

// What was forced by name is out of the question where only its multicast fails it.
Result<Choice> Plans::choose_forced(const sched::Shape& shape, const Circumstances& now,
                                    const Forced* forced) const {
    const char* host = grounds_.host_mpi;
    const bool has_lost = now.had_multicast && !shape.has_multicast;
    Question question{.rules = grounds_.rules,
                      .settings = grounds_.settings,
                      .shape = shape,
                      .placement = placement_,
                      .host_mpi = host && !has_lost ? host : "",
                      .forced = forced,
                      .is_by_variable = forced == grounds_.rules.forced(shape.collective),
                      .no_multicast = now.obstacle,
                      .prices = prices_ ? &*prices_ : nullptr,
                      .measured = measured_prices(shape)};
    auto choice = select::choose(question);
    if (choice || !(has_lost || now.never_multicasts)) return choice;
    question.forced = nullptr;
    return select::choose(question);
}

// By the rules, whatever live tuning has found without it; a rate that is not known yet is not held
// against it.
bool Plans::would_multicast(sched::Shape shape, Circumstances now) const {
    now.way = 0;
    shape.has_multicast = true;
    shape.message_speed = {};  // so that prices of messages alone are not held against it either
    const auto choice = choose(shape, now);
    return choice && choice.value().algorithm && choice.value().algorithm->has_multicast;
}

// Messages of a barrier say nothing of sizes, which it has none of.
bool Plans::has_compared(tutti_collective collective) const {
    return collective == TUTTI_BARRIER || compared_[collective] == kComparedCalls;
}

Result<Plan> Plans::make(const sched::Shape& wanted, const Circumstances& now) const {
    Plan plan;
    plan.lengths = sched::OwnLengths(wanted.lengths);
    plan.shape = wanted;
    plan.shape.lengths = plan.lengths.view();
    const sched::Shape& shape = plan.shape;
    plan.force = force_of(shape, now);
    plan.would_multicast = now.awaits_multicast && would_multicast(shape, now);
    sched::Shape compared = shape;
    // To go to the host later would change the order of operands.
    compared.sizes_are_compared = !shape.is_exact || has_compared(shape.collective);
    const auto choice = choose(compared, now);
    if (!choice) return choice.error();
    plan.is_for_now = choice.value().is_for_now;
    const bool is_asked_for =
        grounds_.settings.tunes_live() ||
        (choice.value().may_be_priced &&
         admits_measured(grounds_.settings, grounds_.rules, shape.collective));
    plan.awaits_price = now.awaits_speed && is_asked_for;
    plan.is_host = choice.value().runs == Runs::kHost;
    if (plan.is_host) return plan;
    fill(plan, *choice.value().algorithm, choice.value().tuning);
    return plan;
}

bool Plans::go_together(sched::Shape one, sched::Shape other, const Circumstances& now) const {
    one.sizes_are_compared = other.sizes_are_compared = true;
    const auto first = choose(one, now), second = choose(other, now);
    if (!first || !second) return false;
    return (first.value().runs == Runs::kHost) == (second.value().runs == Runs::kHost);
}

Plan* Plans::known(const sched::Shape& shape, uint32_t force) {
    const auto is_it = [&](const Plan& plan) {
        return plan.shape == shape && plan.force == force &&
               !(plan.is_for_now && has_compared(shape.collective));
    };
    if (last_ && is_it(*last_)) return last_;
    const auto found = std::find_if(plans_.begin(), plans_.end(), is_it);
    return found == plans_.end() ? nullptr : &*found;
}

Result<Plan*> Plans::find(const sched::Shape& shape, const Circumstances& now) {
    ++look_ups_;
    if (Plan* plan = known(shape, force_of(shape, now))) {
        plan->used = look_ups_;
        return last_ = plan;
    }
    auto made = on_large_stack([&] { return make(shape, now); });
    if (!made) return made.error();
    made.value().used = look_ups_;
    if (plans_.size() < kPlansMax) {
        plans_.push_back(std::move(made.value()));
        return last_ = &plans_.back();
    }
    // What runs may be asked about, but not be forgotten.
    const auto age = [&](const Plan& plan) {
        return plan.program && plan.program.get() == running_ ? look_ups_ : plan.used;
    };
    const auto oldest =
        std::min_element(plans_.begin(), plans_.end(),
                         [&](const Plan& a, const Plan& b) { return age(a) < age(b); });
    *oldest = std::move(made.value());
    return last_ = &*oldest;
}

Result<Plan> Plans::make_plain(tutti_collective collective, size_t bytes) const {
    Plan plan;
    plan.shape.collective = collective;
    plan.shape.ranks = placement_.ranks();
    plan.shape.bytes = bytes;
    if (is_reduction(collective)) plan.shape.element_bytes = static_cast<uint32_t>(bytes);
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != collective) continue;
        if (!algo::plan_obstacle(algorithm, plan.shape, placement_, {}).empty()) continue;
        fill(plan, algorithm, {});
        return plan;
    }
    return Error{ErrorCode::kSystem,
                 std::string("no plain algorithm for ").append(collective_name(collective))};
}

void Plans::forget() {
    running_ = nullptr;
    last_ = nullptr;
    std::vector<Plan>().swap(plans_);
}

void Plans::started(const Plan& plan) {
    running_ = plan.program.get();
    uint32_t& compared = compared_[plan.shape.collective];
    before_ = {plan.shape.collective, compared};
    compared = std::min(compared + 1, kComparedCalls);
}

Result<uint32_t> Plans::force(tutti_collective collective, const std::string& algorithm) {
    uint32_t& force = force_[collective];
    const uint32_t before = force;
    if (algorithm.empty()) {
        force = 0;
        return before;
    }
    auto forced = parse_forced(collective, algorithm);
    if (!forced) return forced.error();
    const auto number = number_of(std::move(forced.value()));
    if (!number) return number;
    force = number.value();
    return before;
}

Result<uint32_t> Plans::number_of(Forced forced) {
    const auto known = std::find(forces_.begin(), forces_.end(), forced);
    const auto number = 1 + static_cast<uint32_t>(known - forces_.begin());
    if (known != forces_.end()) return number;
    if (forces_.size() == kForcesMax) {
        return Error{ErrorCode::kArgument, "too many different algorithms"};
    }
    forces_.push_back(std::move(forced));
    return number;
}

// Measured ones count here also where they choose nothing else, as for ways().
std::optional<uint64_t> Plans::follows_from(sched::Shape shape, const Circumstances& now) const {
    shape.sizes_are_compared = true;
    const bool may_measure = grounds_.settings.rules.price != PriceChoice::kOff;
    Prices* const prices = prices_       ? &*prices_
                           : may_measure ? prices_by_speed(shape.message_speed)
                                         : nullptr;
    const auto by_rules = choose(shape, now);
    if (!prices || !by_rules || !shape.has_multicast) return std::nullopt;
    const algo::Algorithm* const ruled = by_rules.value().algorithm;
    const algo::Algorithm* const follower = algo::find(shape.collective, kFollowing);
    if (by_rules.value().is_users || ruled == follower) return kNoSkew;
    if (!algo::plan_obstacle(*follower, shape, placement_, {}).empty()) return kNoSkew;
    // The host MPI's own has no price.
    if (!ruled) return std::nullopt;
    return prices->faster_from(shape, {follower}, {ruled, by_rules.value().tuning});
}

// ---- live tuning -------------------------------------------------------------------------------

// Unless it cannot run.
void Plans::add_way(const Forced& forced, const sched::Shape& shape, const Circumstances& now,
                    std::vector<Way>& ways) {
    const auto number = number_of(forced);
    if (!number || !choose(shape, now, number.value())) return;
    ways.push_back({number.value(), forced_text(forced.algorithm, forced.tuning)});
}

std::vector<Way> Plans::ways(sched::Shape shape, const Circumstances& now, bool has_stragglers) {
    shape.sizes_are_compared = true;
    const auto by_rules = choose(shape, now);
    std::vector<Way> ways;
    ways.push_back({0, by_rules && by_rules.value().algorithm
                           ? std::string(by_rules.value().algorithm->name)
                           : std::string(kHostMpi)});
    const bool is_decided = !by_rules || by_rules.value().is_users || force_[shape.collective] != 0;
    if (is_decided) return ways;
    const algo::Algorithm* const ruled = by_rules.value().algorithm;
    if (ruled) add_way({std::string(kHostMpi), {}, {}}, shape, now, ways);
    // Here measured ones count also on networks and of collectives for which the built-in rules
    // stand.
    Prices* const prices = prices_ ? &*prices_ : prices_by_speed(shape.message_speed);
    if (prices) {
        std::vector<const algo::Algorithm*> known;
        const auto& priced = prices->of(shape).priced;
        for (const Priced& one : priced) {
            if (known.size() == kWaysByPrice || one.ns / kTooDear > priced.front().ns) break;
            const bool is_ruled = one.algorithm == ruled && one.tuning == by_rules.value().tuning;
            if (is_ruled || std::ranges::find(known, one.algorithm) != known.end()) continue;
            known.push_back(one.algorithm);
            add_way({std::string(one.algorithm->name), {}, one.tuning}, shape, now, ways);
        }
    }
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (!has_stragglers || !algorithm.follows_arrival || algorithm.is_only_named) continue;
        const bool is_bcast = shape.collective == TUTTI_BCAST;
        if (is_bcast && shape.bytes < kFollowedBcastBytesMin) continue;
        if (algorithm.collective != shape.collective || &algorithm == ruled) continue;
        add_way({std::string(algorithm.name), {}, {}}, shape, now, ways);
    }
    return ways;
}

}  // namespace tutti::select
