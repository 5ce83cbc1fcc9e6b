// SPDX-License-Identifier: BSD-3-Clause
// The requests of a track, one after the other: each goes through its stages (TUTTI_CHECK: do the
// members call the same? What runs it? Are its buffers ready? The call itself). Nothing waits
// inside.
#pragma once

#include <cstdint>
#include <vector>

#include "run/engine/control.h"
#include "run/engine/members.h"
#include "run/engine/request.h"
#include "run/engine/runner.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class Queue {
  public:
    // checks: TUTTI_CHECK. Takes the memory for that.
    Queue(Members& members, bool checks) : members_(members) {
        if (checks) cards_.resize(members.size);
    }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    // Before the first request; they outlive this.
    void run_by(Runner& runner, Control& control) {
        runner_ = &runner;
        control_ = &control;
    }

    [[nodiscard]] bool checks() const { return !cards_.empty(); }
    [[nodiscard]] bool is_idle() const { return front_ == nullptr; }
    // Both nullptr where it is idle.
    [[nodiscard]] Request* front() const { return front_; }
    [[nodiscard]] Request* back() const { return back_; }

    void push(Request& request);
    // The front of an idle queue: runs already.
    void put_in_front(Request& request);
    // Moves the request in front a little. True if anything moved.
    bool advance();
    // The request in front, which is chosen, has its buffers.
    void start_chosen();
    // The team has broken down: so ends the request in front, if there is one.
    void end_front() {
        if (front_) finish(*front_, members_.broken);
    }

  private:
    void begin(Request& request);
    void begin_main(Request& request);
    void begun(Request& request, Runner::Begun begun);
    [[nodiscard]] bool is_tolerable(uint32_t rank) const;
    void compare_cards(Request& request);
    void finish_front();
    void fail_front();
    void finish(Request& request, tutti_status status);

    Members& members_;
    Runner* runner_ = nullptr;
    Control* control_ = nullptr;
    Request* front_ = nullptr;
    Request* back_ = nullptr;
    bool is_beginning_ = false;    // the next one, after one that has ended
    std::vector<CallCard> cards_;  // one a member, for TUTTI_CHECK
};

}  // namespace tutti::engine
