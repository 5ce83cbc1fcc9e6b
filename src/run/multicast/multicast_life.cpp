// SPDX-License-Identifier: BSD-3-Clause
#include "run/multicast/multicast_life.h"

#include <sched.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"

namespace tutti::multicast {
namespace {

using transport::carrier::Route;

// A try costs what some tens of short calls gain, or a few long ones: 16 calls of a few bytes, four
// of 1 MiB. A communicator that lives for a few calls never gets there.
constexpr uint64_t kWishBytes = 256u << 10;
constexpr Demand kDemand(kWishBytes, 16 * kWishBytes);
// After a failure: calls by messages until it is tried again, doubled with each such try. The least
// is four times the short calls that earn a first try: a host that stood still once may do so
// again, and each time costs seconds. A try that is in vain takes a second; spread over the most it
// is 15 us a call, about what the shortest call across hosts takes anyway.
constexpr uint64_t kReturnCallsMin = 64;
constexpr uint64_t kReturnCallsMax = 65'536;

}  // namespace

MulticastLife::MulticastLife(ProcessMulticast& process, const topo::Placement& placement,
                             uint32_t rank, bool has_thread, HostText host_text)
    : process_(process),
      placement_(placement),
      rank_(rank),
      has_thread_(has_thread),
      host_text_(std::move(host_text)),
      demand_(kDemand) {}

std::unique_lock<std::mutex> MulticastLife::hold() {
    if (!team()) return {};
    return std::unique_lock(mutex_);
}

// ---- it comes ----------------------------------------------------------------------------------

// Only calls from calls_end() on are counted, and a member that counts one knows calls_end(). So
// between two calls all members have counted alike.
bool MulticastLife::is_due() const {
    if (!team()) return is_awaited() && demand_.is_enough();
    const uint64_t wait = std::min(kReturnCallsMin << std::min(retries_, 16u), kReturnCallsMax);
    return calls_without_ >= wait;
}

void MulticastLife::set(MulticastOutcome outcome) {
    const auto still = process_.keep_still();
    std::swap(made_, outcome);  // what was there goes after the lock
    polls_ = team() && !has_thread_;
    if (team() && is_watched()) route()->watch_all(true);
    if (team() && is_crowded_) route()->leave_offers_to_service();
}

void MulticastLife::adopt(MulticastOutcome made) {
    demand_.end();
    TUTTI_ASSERT(!team() || is_lost(), "only a group that has failed is followed by another");
    if (team()) {
        calls_without_ = 0;
        ++retries_;
        if (!made.route) {
            made_.obstacle = std::move(made.obstacle);
            return;
        }
        ++returns_;
        lost_node_ = route()->dead();
        has_told_failure_ = false;
        made.route->follow(*team());
    }
    set(std::move(made));
}

void MulticastLife::retire() {
    TUTTI_ASSERT(is_lost(), "only a group that has failed is retired");
    const auto still = process_.keep_still();
    team()->retire();
}

// What the team still owes to others beside multicasts, others' waits go on with.
MulticastOutcome MulticastLife::give_up(std::string obstacle) {
    demand_.end();
    const auto still = process_.keep_still();
    polls_ = false;
    return std::exchange(made_, {nullptr, std::move(obstacle)});
}

// ---- it is there -------------------------------------------------------------------------------

bool MulticastLife::is_there_at(uint32_t call) const {
    return team() && (!route()->is_decided() || call < route()->calls_end());
}

void MulticastLife::announce(bool is_long) {
    if (!team() || is_announced_ == is_long) return;  // others read it under the lock
    const auto held = hold();
    change_watch(is_announced_, is_long);
}

void MulticastLife::change_watch(bool& reason, bool is_wanted) {
    reason = is_wanted;
    route()->watch_all(is_watched());
}

// ---- it has failed -----------------------------------------------------------------------------

transport::State MulticastLife::decide() {
    const auto held = hold();
    TUTTI_ASSERT(route(), "what is decided is when it ends");
    if (polls_) team()->poll();
    const transport::State state = route()->step();
    if (state == transport::State::kFailed) return state;
    return route()->is_decided() ? transport::State::kDone : transport::State::kPending;
}

transport::State MulticastLife::settle() {
    const auto held = hold();
    TUTTI_ASSERT(route(), "what is settled was there");
    if (polls_) team()->poll();
    return route()->step();
}

// The first rank that is not on the host in question.
bool MulticastLife::is_teller(uint32_t node) const {
    uint32_t first = 0;
    while (first + 1 < placement_.ranks() && placement_.node_of(first) == node) ++first;
    return first == rank_;
}

std::string MulticastLife::tell_failure() {
    if (!team() || has_told_failure_) return {};
    const auto held = hold();
    const Route& failed = *route();
    if (!failed.has_failed() || !failed.is_decided()) return {};
    has_told_failure_ = true;
    if (!is_teller(failed.dead()) || failed.is_contradicted()) return {};
    const std::string host = host_text_(failed.dead());
    if (!process_.falls_silent(host)) return {};
    return host + " no longer answers multicast; from call " + std::to_string(failed.calls_end()) +
           " on messages do its work";
}

std::string MulticastLife::tell_return(uint32_t call) {
    if (returns_ == 0 || is_lost() || !is_teller(lost_node_)) return {};
    const std::string host = host_text_(lost_node_);
    if (!process_.answers_again(host)) return {};
    return host + " answers multicast again; from call " + std::to_string(call) +
           " on it does its work";
}

// This team will not say that the host is back; another one may find it silent again.
void MulticastLife::forget_silence(uint32_t node) {
    try {
        process_.answers_again(host_text_(node));
    } catch (const std::bad_alloc&) {
        // A line for people is left away.
    }
}

// ---- on behalf of other teams ------------------------------------------------------------------

// A thread that holds the lock moves the recovery on by itself.
void MulticastLife::attend() {
    if (!team()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !helps_) return;
    if (route()->has_failed()) static_cast<void>(route()->step());
}

void MulticastLife::watch_for_others(bool is_wanted) {
    if (!team()) return;
    const auto held = hold();
    if (is_watched_for_others_ != is_wanted) change_watch(is_watched_for_others_, is_wanted);
}

// ---- the end -----------------------------------------------------------------------------------

void MulticastLife::leave(bool is_sound) {
    const std::lock_guard lock(mutex_);
    helps_ = is_sound;
    if (team()) team()->leave();
}

bool MulticastLife::is_needed() {
    if (!team()) return false;
    const auto held = hold();
    if (polls_) team()->poll();
    return route()->is_needed();
}

void MulticastLife::settle_at_end(Clock& clock, uint64_t end_ns,
                                  const std::function<void()>& progress) {
    if (!team()) return;
    if (has_told_failure_ && is_teller(route()->dead())) forget_silence(route()->dead());
    while (route()->has_failed() && route()->step() == transport::State::kPending &&
           clock.now_ns() < end_ns) {
        progress();
        process_.attend_all();
        sched_yield();
    }
}

// ---- what it tells -----------------------------------------------------------------------------

MulticastStory MulticastLife::story(const sched::Speed& message) const {
    using Is = MulticastStory::State;
    MulticastStory story;
    story.message = message;
    if (!team()) {
        story.state = is_awaited() ? Is::kLater : obstacle().empty() ? Is::kNone : Is::kOff;
        if (story.state == Is::kOff) story.reason = obstacle();
        return story;
    }
    const Route& there = *route();
    story.state = there.has_failed() ? Is::kFailed : Is::kOn;
    story.returns = returns_;
    if (there.has_failed()) {
        story.reason = there.is_contradicted() ? "packets were forged or changed"
                                               : host_text_(there.dead()) + " no longer answers";
        if (!obstacle().empty()) story.reason += "; later: " + obstacle();
    } else if (returns_ > 0) {
        story.reason = host_text_(lost_node_) + " had not answered";
    }
    story.agreed = &team()->agreed();
    story.network = team()->network();
    story.carried = team()->carried();
    return story;
}

}  // namespace tutti::multicast
