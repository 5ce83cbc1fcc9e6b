// SPDX-License-Identifier: BSD-3-Clause
// The one wait loop of a track: moves the request in front until the awaited one is complete.
// Between two fruitless steps it moves other tracks and other teams on, lets the embedder progress,
// listens for news, or sleeps, as the waiting policy says (wait.h).
#pragma once

#include <cstdint>

#include "run/engine/active.h"
#include "run/engine/control.h"
#include "run/engine/members.h"
#include "run/engine/queue.h"
#include "run/engine/request.h"
#include "run/engine/runner.h"
#include "run/engine/wait.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Tracks;

class WaitLoop {
  public:
    // Of the team and the track to which these belong; they outlive this.
    WaitLoop(Members& members, Queue& queue, const ActiveLink& link)
        : members_(members), queue_(queue), link_(link) {}
    WaitLoop(const WaitLoop&) = delete;
    WaitLoop& operator=(const WaitLoop&) = delete;
    // Before the first wait; they outlive this.
    void run_by(Runner& runner, Control& control) {
        runner_ = &runner;
        control_ = &control;
    }
    // The team has several tracks, which outlive this.
    void join(Tracks& tracks) { tracks_ = &tracks; }

    // The request's status when it is complete or chosen. polls: fruitless ones just before.
    tutti_status wait_for(Request& request, uint32_t polls = 0);
    // A blocking call is over, or a wait.
    void call_done() {
        if (watches_others_) [[unlikely]]
            stop_watching_others();
        if (++calls_since_progress_ >= kCallsPerProgress) [[unlikely]]
            progress();
    }
    // After a fruitless test, which has let the embedder progress: moves other teams on, and now
    // and then looks for news that came outside the calls, as a wait does by itself.
    void look_around();

  private:
    // Calls that never waited still let the embedder progress now and then: a program that only
    // calls collectives in a loop must not starve a message under way. At 150 ns a call, 1 in 128
    // costs 1 ns.
    static constexpr uint32_t kCallsPerProgress = 128;

    void turn(Waiter& waiter);
    bool sleep_turn(Waiter::From from);
    void listen();
    void progress();
    void watch_others(uint64_t waited_ns);
    void stop_watching_others();
    [[nodiscard]] Waiter::From awaited() const;
    // Of a sleep that begins now.
    [[nodiscard]] uint64_t sleep_end_ns() const;
    // Besides this track, others have requests under way, or other teams have.
    [[nodiscard]] bool has_company() const;
    void move_others_on();

    Members& members_;
    Queue& queue_;
    const ActiveLink& link_;
    Runner* runner_ = nullptr;
    Control* control_ = nullptr;
    Tracks* tracks_ = nullptr;
    uint32_t looks_ = 0;
    uint32_t calls_since_progress_ = 0;
    uint64_t progressed_ns_ = 0;   // see Waiter
    bool watches_others_ = false;  // the wait under way has made other teams watch their groups
};

}  // namespace tutti::engine
