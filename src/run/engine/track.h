// SPDX-License-Identifier: BSD-3-Clause
// A track of a team: runs one call at a time, and has the requests that wait behind it. What a call
// uses alone while it is under way is the track's: its part of the node's memory, its messages and
// numbers (call_track.h), what runs it, and what members tell each other beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "run/engine/active.h"
#include "run/engine/control.h"
#include "run/engine/members.h"
#include "run/engine/queue.h"
#include "run/engine/request.h"
#include "run/engine/runner.h"
#include "run/engine/wait_loop.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Track {
  public:
    // Takes the memory that does not depend on who the members are. These outlive this. checks:
    // TUTTI_CHECK.
    Track(Members& members, const ActiveLink& link, bool checks)
        : members_(members), queue_(members, checks), waits_(members, queue_, link) {}
    Track(const Track&) = delete;
    Track& operator=(const Track&) = delete;
    // Its calls are run by these. Before the first.
    void run_by(std::unique_ptr<Runner> runner, std::unique_ptr<Control> control);
    // The end: they know the node's part, which goes next.
    void detach() {
        control_.reset();
        runner_.reset();
    }

    [[nodiscard]] Queue& queue() { return queue_; }
    [[nodiscard]] bool is_idle() const { return queue_.is_idle(); }
    [[nodiscard]] bool has(const Queue& queue) const { return &queue == &queue_; }
    [[nodiscard]] WaitLoop& waits() { return waits_; }
    [[nodiscard]] Runner& runner() { return *runner_; }
    [[nodiscard]] Control& control() { return *control_; }
    // Of blocking calls, so that one allocates nothing.
    [[nodiscard]] Request& own() { return own_; }

    // Runs it behind all others. The team is held, as for the next ones.
    tutti_status run(Request& request) {
        queue_.push(request);
        return waits_.wait_for(request);
    }
    // A few steps, while the thread waits for another call.
    void move_on();
    // Waits for its requests.
    void settle() {
        if (Request* last = queue_.back()) waits_.wait_for(*last);
    }
    // The team has broken down: the members that wait on this track hear of it, and its calls end.
    void end() {
        control_->pass_on();
        queue_.end_front();
    }

  private:
    Members& members_;
    std::unique_ptr<Runner> runner_;
    std::unique_ptr<Control> control_;
    Queue queue_;
    WaitLoop waits_;
    Request own_;
};

}  // namespace tutti::engine
