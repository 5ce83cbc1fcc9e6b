// SPDX-License-Identifier: BSD-3-Clause
// The one waiting policy: poll a bounded while, then yield, then sleep for at most a millisecond at
// a time; the embedder's own communication progresses every so many turns.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tutti::engine {

struct WaitPolicy {
    uint64_t spin_ns = 20'000;
    // Ranks outnumber processors: a rank that polls keeps the awaited one from running.
    bool is_crowded = false;
    // Crowded, and yielding does not help (scheduling_group in process.h): sleep until rung awake.
    bool sleeps = false;
    // Crowded, and what one waits for comes over a network, perhaps from ranks that share these
    // processors unseen (containers): yields soon give way to naps. A rank that waits for its own
    // node alone sleeps until rung awake, and leaves it to the others to look at the network. One
    // that waits for a fabric that wakes sleepers soon sleeps for it.
    bool naps = false;
    uint64_t stall_ns = 0;  // 0: never
};

// One wait, from the first fruitless poll to the next success.
class Waiter {
  public:
    // Where what is waited for comes from.
    enum class From {
        kAnywhere,
        kService,  // the service of multicasts, who rings, or whose work this rank does meanwhile
        kNode,     // other ranks of the node, who ring
        kFabric    // messages alone, by a fabric that can be slept for
    };
    enum class Advice {
        kPoll,      // poll again
        kProgress,  // let the embedder progress, then poll again
        kAnnounce,  // once a wait: it has become a long one
        kListen,    // the wait is long: look for news that came outside the call, then as kProgress
        kReport,    // the stall time has passed (again)
        kSleep      // sleep until what is waited for rings or comes, at most kSleepNsMax
    };

    Waiter(const WaitPolicy& policy, Clock& clock)
        : policy_(policy), clock_(clock), is_yielding_(policy.is_crowded) {}
    // progressed_ns: when the embedder last had its turn in a wait for the node; outlives this, so
    // that many short waits count as one long one.
    // polls: fruitless ones just before.
    Waiter(const WaitPolicy& policy, Clock& clock, uint64_t& progressed_ns, uint32_t polls = 0)
        : Waiter(policy, clock) {
        progressed_ns_ = &progressed_ns;
        turns_ = polls;
    }

    void reset() {
        turns_ = 0;
        begin_ns_ = 0;
        is_yielding_ = policy_.is_crowded;
        has_announced_ = false;
        next_listen_ns_ = kListenNs;
    }
    // After a fruitless poll. Yields or sleeps where it is time to.
    Advice turn(From from = From::kAnywhere) {
        ++turns_;
        const bool is_quick = !policy_.is_crowded && from != From::kService;
        if (is_quick && turns_ < kQuickTurns) return Advice::kPoll;
        return slow_turn(from);
    }
    uint64_t waited_ns() { return clock_.now_ns() - begin_ns_; }

    static constexpr uint64_t kSleepNsMax = 1'000'000;
    // From one turn of the embedder to the next while ranks sleep for their node: a large message
    // of the program's own moves on so often, and no rank looks at the network more often for
    // nothing.
    static constexpr uint64_t kProgressNs = 1'000'000;
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
    // Naps begin at once: what the node itself does is slept for. The shortest are as long as the
    // kernel's slack of timers, which shorter ones would last as well; they grow with the wait,
    // since a look at a socket costs 10 us or more of a processor that others need. Measured on an
    // emulated cluster, 64 ranks of 16 hosts on 2 processors: a barrier takes 4 ms, with naps of a
    // quarter of the wait from 100 us on 5 ms, with naps of a sixteenth 10 ms; an allreduce of 1
    // MiB 0.84 s, 1.45 s with a quarter.
    static constexpr uint64_t kNapAfterNs = 20'000;
    static constexpr uint64_t kNapNsMin = 50'000;
    static constexpr uint64_t kNapShare = 2;

    Advice slow_turn(From from);
    Advice poll_turn();
    Advice rested(uint64_t now);

    const WaitPolicy& policy_;
    Clock& clock_;
    uint64_t turns_ = 0;
    uint64_t begin_ns_ = 0;
    uint64_t next_report_ns_ = 0;
    uint64_t next_listen_ns_ = kListenNs;
    uint64_t first_progressed_ns_ = 0;
    uint64_t* progressed_ns_ = &first_progressed_ns_;
    bool is_yielding_;
    bool has_announced_ = false;
};

}  // namespace tutti::engine
