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
    // Crowded, and what one waits for comes over a network, perhaps from ranks that share these
    // processors unseen (containers): yields soon give way to naps.
    bool naps = false;
    uint64_t stall_ns = 0;  // 0: never
};

// One wait, from the first fruitless poll to the next success.
class Waiter {
  public:
    enum class Advice {
        kPoll,      // poll again
        kProgress,  // let the embedder progress, then poll again
        kAnnounce,  // once a wait: it has become a long one
        kListen,    // the wait is long: look for news that came outside the call, then as kProgress
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
        next_listen_ns_ = kListenNs;
    }
    // After a fruitless poll. Yields or sleeps where it is time to. may_nap: what is waited for
    // comes without this rank's doing.
    Advice turn(bool may_nap = false) {
        ++turns_;
        if (!policy_.is_crowded && turns_ < kQuickTurns) return Advice::kPoll;
        return slow_turn(may_nap);
    }
    uint64_t waited_ns() { return clock_.now_ns() - begin_ns_; }

    static constexpr uint64_t kSleepNsMax = 1'000'000;
    // From one look for news to the next: beside the sleeps of such a wait it costs nothing.
    static constexpr uint64_t kListenNs = 10'000'000;

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
    // Naps begin when a wait has lasted longer than a crowded node's own collective takes (20 us
    // with 16 ranks on 2 processors). The shortest are as long as the kernel's slack of timers,
    // which shorter ones would last as well; they grow with the wait, since a look at a socket
    // costs 10 us or more of a processor that others need. Measured on an emulated cluster, 64
    // ranks of 16 hosts on 2 processors.
    static constexpr uint64_t kNapAfterNs = 100'000;
    static constexpr uint64_t kNapNsMin = 50'000;
    static constexpr uint64_t kNapShare = 4;

    Advice slow_turn(bool may_nap);
    Advice poll_turn();

    const WaitPolicy& policy_;
    Clock& clock_;
    uint64_t turns_ = 0;
    uint64_t begin_ns_ = 0;
    uint64_t next_report_ns_ = 0;
    uint64_t next_listen_ns_ = kListenNs;
    bool is_yielding_;
    bool has_announced_ = false;
};

}  // namespace tutti::engine
