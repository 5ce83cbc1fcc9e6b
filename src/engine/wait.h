// SPDX-License-Identifier: BSD-3-Clause
// The one waiting policy: poll a bounded while, then yield, then sleep for at most a millisecond at
// a time; the embedder's own communication progresses every so many turns.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tutti::engine {

struct WaitPolicy {
    uint64_t spin_ns = 20'000;
    // Ranks outnumber processors: whoever polls keeps the one it waits for from running.
    bool is_crowded = false;
    // Crowded, and yielding does not help (scheduling_group in process.h): sleep until rung awake.
    bool sleeps = false;
    uint64_t stall_ns = 0;  // 0: never
};

// One wait, from the first fruitless poll to the next success.
class Waiter {
  public:
    enum class Advice {
        kPoll,      // poll again
        kProgress,  // let the embedder progress, then poll again
        kAnnounce,  // once a wait: it has become a long one
        kReport,    // the stall time has passed (again)
        kSleep      // sleep until the bell rings, at most kSleepNsMax
    };

    Waiter(const WaitPolicy& policy, Clock& clock)
        : policy_(policy), clock_(clock), is_yielding_(policy.is_crowded) {}

    void reset() {
        turns_ = 0;
        begin_ns_ = 0;
        is_yielding_ = policy_.is_crowded;
        has_announced_ = false;
    }
    // After a fruitless poll. Yields or sleeps where it is time to.
    Advice turn() {
        ++turns_;
        if (!policy_.is_crowded && turns_ < kQuickTurns) return Advice::kPoll;
        return slow_turn();
    }
    uint64_t waited_ns() { return clock_.now_ns() - begin_ns_; }

    static constexpr uint64_t kSleepNsMax = 1'000'000;

  private:
    // About a microsecond of polling before the clock is first read.
    static constexpr uint64_t kQuickTurns = 256;
    // Between two looks at the clock and two calls of the embedder's progress while polling.
    static constexpr uint64_t kTurnsPerLook = 128;
    // The same where every turn is a yield: a yield is a trip through the other ranks.
    static constexpr uint64_t kCrowdedTurnsPerLook = 4;
    // Yielding goes on so long before the first sleep. The embedder's communication may need every
    // turn of ours to move one fragment, so sleeping begins late and stays short: at most 1/50 of
    // the time already waited, never more than a millisecond.
    static constexpr uint64_t kSleepAfterNs = 20'000'000;
    static constexpr uint64_t kSleepShare = 50;

    Advice slow_turn();
    Advice poll_turn();

    const WaitPolicy& policy_;
    Clock& clock_;
    uint64_t turns_ = 0;
    uint64_t begin_ns_ = 0;
    uint64_t next_report_ns_ = 0;
    bool is_yielding_;
    bool has_announced_ = false;
};

}  // namespace tutti::engine
