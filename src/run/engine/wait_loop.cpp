// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/wait_loop.h"

#include "base/bell.h"
#include "run/engine/tracks.h"

namespace tutti::engine {
namespace {

// Who sleeps in a wait is up again so soon to move other teams on.
constexpr uint64_t kSleepWithCompanyNs = 50'000;
// Each test lets the embedder progress, which costs more than a look.
constexpr uint32_t kTestsPerLook = 64;
// From when on a wait may have to do with a failure of another team's group. Long beside what calls
// take, so that idle groups stay idle; short beside the time in which a silent member is given up.
constexpr uint64_t kWatchOthersAfterNs = 1'000'000'000;

}  // namespace

tutti_status WaitLoop::wait_for(Request& request, uint32_t polls) {
    Waiter waiter(members_.policy, members_.context.clock(), progressed_ns_, polls);
    while (!request.is_at_rest()) {
        if (queue_.advance()) {
            waiter.reset();
        } else {
            turn(waiter);
        }
    }
    call_done();
    return request.status;
}

void WaitLoop::turn(Waiter& waiter) {
    // Heard before the last step: what would have completed the call came before the news, if at
    // all.
    if (members_.is_broken()) return queue_.end_front();
    move_others_on();
    const Waiter::From from = awaited();
    switch (waiter.turn(from)) {
        case Waiter::Advice::kPoll:
            runner_->serve_others();
            break;
        case Waiter::Advice::kProgress:
            runner_->serve_others();
            progress();
            break;
        case Waiter::Advice::kAnnounce:
            runner_->announce();
            break;
        case Waiter::Advice::kListen:
            runner_->lengthen();
            members_.context.progress();
            listen();
            watch_others(waiter.waited_ns());
            break;
        case Waiter::Advice::kReport:
            control_->report_stall(queue_.front()->op.call, runner_->node_op(), waiter.waited_ns());
            break;
        case Waiter::Advice::kSleep:
            if (sleep_turn(from)) waiter.reset();
            break;
    }
}

// Sleeps unless the last look moves the call. True if it did.
bool WaitLoop::sleep_turn(Waiter::From from) {
    Sleeper sleeper(runner_->bell(from));
    if (queue_.advance()) return true;
    runner_->sleep(sleeper, from, sleep_end_ns());
    return false;
}

uint64_t WaitLoop::sleep_end_ns() const {
    return members_.context.clock().now_ns() +
           (has_company() ? kSleepWithCompanyNs : Waiter::kSleepNsMax);
}

Waiter::From WaitLoop::awaited() const {
    // Nobody rings for what others wait for.
    return has_company() ? Waiter::From::kAnywhere : runner_->awaited();
}

bool WaitLoop::has_company() const {
    if (tracks_ && tracks_->are_others_busy(queue_)) return true;
    return members_.context.active().has_more_than(
        link_.is_listed.load(std::memory_order_relaxed) ? 1 : 0);
}

void WaitLoop::move_others_on() {
    if (tracks_) tracks_->move_others_on(queue_);
    if (has_company()) members_.context.active().advance();
}

void WaitLoop::listen() {
    const Request* front = queue_.front();
    control_->listen(front ? &front->op.call : nullptr, runner_->node_op());
    if (tracks_) tracks_->listen_beside(queue_);
}

void WaitLoop::look_around() {
    move_others_on();
    if (++looks_ % kTestsPerLook != 0) return;
    listen();
    // What completes the call came first, if at all.
    if (members_.is_broken() && !queue_.advance()) queue_.end_front();
}

void WaitLoop::progress() {
    calls_since_progress_ = 0;
    members_.context.progress();
}

void WaitLoop::watch_others(uint64_t waited_ns) {
    if (watches_others_ || waited_ns < kWatchOthersAfterNs) return;
    watches_others_ = true;
    members_.context.process_multicast().watch_all_for_others(true);
}

void WaitLoop::stop_watching_others() {
    watches_others_ = false;
    members_.context.process_multicast().watch_all_for_others(false);
}

}  // namespace tutti::engine
