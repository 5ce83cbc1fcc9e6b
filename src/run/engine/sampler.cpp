// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/sampler.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/large_stack.h"
#include "plan/select/live_facts.h"
#include "plan/select/plans.h"
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

Sampler::Sampler(Team& team) : team_(team), arrivals_(team.rank()) {}

void Sampler::tune_live(bool all) {
    live_.emplace(all);
    arrivals_.time_calls(select::Live::kTimesMax);
}

void Sampler::read_clocks_by(std::unique_ptr<Duty> duty) {
    arrivals_.read_clocks();
    read_clocks_ = std::move(duty);
}

// ---- of each blocking call ---------------------------------------------------------------------

void Sampler::compare_if_due() {
    is_after_comparison_ = arrivals_.is_comparison_due();
    if (is_after_comparison_) compare();
}

// The first one after a comparison is no sample: members come to it from there.
Sampler::Look Sampler::begin(const Request& request) {
    Look look;
    look.kind = kind_of(request);
    look.is_tuned = live_ && !request.op.call.is_empty();
    look.way = look.is_tuned ? live_->force(look.kind) : 0;
    look.is_timed = look.is_tuned && live_->is_timed(look.kind);
    look.is_looked_at = look.is_timed || (arrivals_.is_sampled() && !is_after_comparison_);
    if (look.is_looked_at) look.arrived_ns = team_.context().clock().now_ns();
    return look;
}

void Sampler::end(const Look& look, tutti_status status) {
    const uint32_t question = look.is_tuned ? live_->ran(look.kind) : select::Live::kNone;
    if (!look.is_looked_at || status < TUTTI_OK) return;
    const uint64_t left_ns = status == TUTTI_OK ? team_.context().clock().now_ns() : 0;
    arrivals_.add({.collective = look.kind.collective,
                   .arrived_ns = look.arrived_ns,
                   .left_ns = left_ns,
                   .is_timed = look.is_timed,
                   .question = question,
                   .may_follow = select::Follow::may_follow(look.kind)});
}

void Sampler::choose_following(Request& request) const {
    if (follow_) request.way = follow_->follows(kind_of(request)) ? select::kFollows : 0;
}

void Sampler::ran(const Request& request) {
    if (request.way != select::kFollows || request.ran == nullptr) return;
    has_followed_ |= std::string_view(request.ran).starts_with(select::kFollowing);
}

uint32_t Sampler::way_of(const select::CallKind& kind) const {
    if (follow_ && follow_->follows(kind)) return select::kFollows;
    return live_ ? live_->force(kind) : 0;
}

bool Sampler::host_left(uint32_t way) {
    if (arrivals_.awaits_exit()) arrivals_.host_left(team_.context().clock().now_ns());
    return live_ && way != 0;
}

// ---- a comparison ------------------------------------------------------------------------------

void Sampler::compare() {
    if (!arrivals_.has_samples()) return;
    team_.own_calls().settle() ? compare_now() : arrivals_.put_off();
}

// An error stays with the team.
void Sampler::compare_now() {
    const auto read = [&] { return read_clocks_->run(); };
    if (read_clocks_ && read_clocks_->is_due() && on_large_stack(read) != TUTTI_OK) return;
    if (!arrivals_.has_samples()) {
        follow_.reset();  // what is on trial would stay for good
        return;
    }
    if (exchange() != TUTTI_OK) return;
    if (live_) hear_of_trials();
    const bool runs_otherwise = follow_ && hear_of_late();
    arrivals_.compared();
    if (runs_otherwise) arrivals_.compare_soon();
    if (live_) arrivals_.compare_after(arrivals_.block().wish_calls);
}

tutti_status Sampler::exchange() {
    adapt::ArrivalBlock& block = arrivals_.block_of_own(team_.context().clock().now_ns());
    if (live_) {
        const auto [name, calls] = live_->wish(arrivals_.calls());
        block.wish.set(name);
        block.wish_calls = calls;
        block.timed.set(arrivals_.timed());
    }
    tutti_call comparison{};
    comparison.collective = TUTTI_ALLREDUCE;
    comparison.send = TUTTI_IN_PLACE;
    comparison.recv = &block;
    comparison.bytes = comparison.element_bytes = sizeof(adapt::ArrivalBlock);
    comparison.op = TUTTI_OP_USER;
    comparison.reduce = add_blocks;
    comparison.commutes = 1;
    return team_.own_calls().compare(comparison);
}

// What the members have told each other of a batch, and what they try next: the block says both.
void Sampler::hear_of_trials() {
    const adapt::ArrivalBlock& block = arrivals_.block();
    std::array<select::Live::Times, select::Live::kTimesMax> times;
    uint32_t timed = 0;
    const auto samples = arrivals_.samples();
    for (size_t i = 0; i < samples.size(); ++i) {
        const select::Live::Times one{block.calls[i].last_ns, block.calls[i].left_ns};
        if (samples[i].is_timed) {
            times[timed++] = one;
        } else if (samples[i].question != select::Live::kNone) {
            live_->sampled(samples[i].question, one);
        }
    }
    if (!block.timed.is_alike()) timed = 0;
    live_->heard({times.data(), timed}, arrivals_.calls());
    const uint64_t name = block.wish.is_alike() ? block.wish.most : 0;
    if (name == 0) return;
    if (const select::CallKind* kind = live_->wants_ways(name)) {
        const auto set = team_.context().fund().with([&]() -> Result<Done> {
            live_->set_ways(name, on_large_stack([&] {
                                return team_.tracks().first().runner().ways(
                                    *kind, arrivals_.has_stragglers(kind->collective));
                            }));
            return Done{};
        });
        if (!set) return team_.give_up("out of memory");
    }
    live_->begin(name);
}

// True where calls run otherwise from the next one on. Whether multicast has failed meanwhile not
// all members know; where it has, calls go by the rules all the same.
bool Sampler::hear_of_late() {
    const auto samples = arrivals_.samples();
    for (size_t i = 0; i < samples.size(); ++i) {
        const adapt::CallArrivals& call = arrivals_.block().calls[i];
        if (!samples[i].may_follow || call.left_ns == INT64_MIN) continue;
        follow_->sampled(samples[i].collective, call.spread_ns(), call.delay_ns());
    }
    const auto priced = team_.context().fund().with(
        [this]() -> Result<Done> { return on_large_stack([this] { return price_following(); }); });
    if (!priced) {
        team_.give_up("out of memory");
        return false;
    }
    return follow_->heard(team_.inter_node()->multicast().takes_ns(), arrivals_.calls());
}

// By what all members know alike; as seldom as it says.
Done Sampler::price_following() {
    InterNode& inter_node = *team_.inter_node();
    const auto held = inter_node.hold();
    for (const select::CallKind& kind : select::Follow::kPriced) {
        if (!follow_->asks_price(kind.collective, inter_node.multicast().takes_ns())) continue;
        follow_->price(kind.collective,
                       inter_node.first().planner().follows_from(kind.shape(team_.size())));
    }
    return {};
}

// ---- what it tells -----------------------------------------------------------------------------

void Sampler::add_facts(std::vector<FactRow>& rows, const HostOf& host_of) const {
    if (live_) {
        for (const auto& question : live_->questions()) {
            rows.push_back(select::facts_of(question, team_.rank(), team_.size()));
        }
    }
    add_arrivals(rows, host_of);
}

void Sampler::add_arrivals(std::vector<FactRow>& rows, const HostOf& host_of) const {
    double own_waited_ns = 0;
    tutti_collective most = TUTTI_BARRIER;  // sampled
    for (int i = 0; i < TUTTI_COLLECTIVE_COUNT; ++i) {
        const auto collective = static_cast<tutti_collective>(i);
        const adapt::ArrivalFigures& figures = arrivals_.figures(collective);
        if (figures.samples == 0) continue;
        own_waited_ns += static_cast<double>(figures.own_waited_ns) * arrivals_.calls_per_sample();
        if (figures.samples > arrivals_.figures(most).samples) most = collective;
        ArrivalStory story{.collective = collective,
                           .rank = team_.rank(),
                           .ranks = team_.size(),
                           .calls_per_sample = arrivals_.calls_per_sample(),
                           .clock_error_ns = arrivals_.clock_error_ns(),
                           .figures = figures};
        const bool follows = collective == TUTTI_BARRIER || collective == TUTTI_ALLREDUCE;
        if (follow_ && has_followed_ && follows && follow_->of(collective).follows) {
            story.follows_since = follow_->of(collective).since;
        }
        rows.push_back(facts_of(story, host_of));
    }
    if (arrivals_.figures(most).samples == 0) return;
    rows.push_back(own_wait(own_waited_ns));
    rows.push_back(own_lateness(most, arrivals_.figures(most)));
}

}  // namespace tutti::engine
