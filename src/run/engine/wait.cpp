// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/wait.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace tutti::engine {
namespace {

void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

void sleep_ns(uint64_t ns) {
    const timespec duration{0, static_cast<long>(ns)};
    nanosleep(&duration, nullptr);
}

}  // namespace

Waiter::Advice Waiter::poll_turn() {
    if (turns_ % kTurnsPerLook != 0) {
        pause_briefly();
        return Advice::kPoll;
    }
    const uint64_t now = clock_.now_ns();
    if (begin_ns_ == 0) begin_ns_ = now;
    if (now - begin_ns_ >= policy_.spin_ns) is_yielding_ = true;
    return Advice::kProgress;
}

// Between two sleeps for the node, the service or the fabric.
Waiter::Advice Waiter::rested(uint64_t now) {
    if (now - *progressed_ns_ < kProgressNs) return Advice::kPoll;
    *progressed_ns_ = now;
    return Advice::kProgress;
}

Waiter::Advice Waiter::slow_turn(From from) {
    if (!is_yielding_ && from != From::kService) return poll_turn();
    const bool has_spun = from == From::kFabric && has_announced_;
    const bool rests =
        from == From::kService || (policy_.naps && (from == From::kNode || has_spun));
    const bool sleeps = policy_.sleeps || rests;
    if (sleeps && turns_ % 2 == 1) return Advice::kSleep;
    if (!sleeps && !has_announced_ && turns_ % kCrowdedTurnsPerLook != 0) {
        sched_yield();
        return Advice::kPoll;
    }
    const uint64_t now = clock_.now_ns();
    if (begin_ns_ == 0) begin_ns_ = now;
    const uint64_t waited = now - begin_ns_;
    if (!has_announced_ && waited >= policy_.spin_ns) {
        has_announced_ = true;
        next_report_ns_ = policy_.stall_ns;
        return Advice::kAnnounce;
    }
    if (has_announced_ && policy_.stall_ns > 0 && waited >= next_report_ns_) {
        next_report_ns_ = 2 * waited;
        return Advice::kReport;
    }
    if (waited >= next_listen_ns_) {
        next_listen_ns_ = waited + kListenNs;
        return Advice::kListen;
    }
    if (rests) return rested(now);
    if (sleeps) return Advice::kProgress;
    // Whoever is soon to sleep for the fabric spins until then.
    const bool spins = policy_.naps && from == From::kFabric;
    if (policy_.naps && !spins && waited >= kNapAfterNs) {
        sleep_ns(std::clamp(waited / kNapShare, kNapNsMin, kSleepNsMax));
    } else if (spins || waited < kSleepAfterNs) {
        sched_yield();
    } else {
        sleep_ns(std::min(kSleepNsMax, waited / kSleepShare));
    }
    return Advice::kProgress;
}

}  // namespace tutti::engine
