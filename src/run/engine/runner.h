// SPDX-License-Identifier: BSD-3-Clause
// Runs the calls of a track of a team, one after the other: a state machine for each, like those
// below it; nothing waits inside. The team queues, waits and reports, and knows no kinds of
// runners.
//
// On one node a call is a state machine of the node level (node_runner.h), across nodes a schedule
// (program_runner.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bell.h"
#include "base/result.h"
#include "plan/sched/shape.h"
#include "plan/select/live.h"
#include "run/engine/request.h"
#include "run/engine/wait.h"
#include "run/exec/executor.h"
#include "run/node/node_team.h"
#include "tutti/tutti.h"

namespace tutti::engine {

// A line in memory that is there already, since there may be no other.
struct Why {
    char text[128] = {};
};

// Why a call does not go on.
struct Failure {
    tutti_status status = TUTTI_OK;
    const char* text = "";  // as long as the runner does nothing
    // On all members alike: the team stands, and nobody need be told.
    bool is_alike = false;
};

class Runner {
  public:
    Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    virtual ~Runner() = default;

    // ---- a call, from its beginning to its end; one at a time ----
    enum class Begun {
        kRuns,
        kUndecided,  // what runs it hangs on others: step() until that is done, then begin() again
        kChosen,     // it runs here, by what is chosen, once start_chosen() has its buffers
        kDone,       // there is nothing to move: it has its number, and is over
        kHost,       // the rules leave it to the embedder: it has its number, and is over here
        kFailed      // see failure()
    };
    virtual Begun begin(Request& request) = 0;
    // Only kRuns, kDone or kFailed.
    virtual Begun start_chosen(Request& request) = 0;
    // Instead of a call: everybody's card goes to everybody.
    virtual void begin_cards(const CallCard& mine, std::span<CallCard> all) = 0;
    // No call: all members meet, whatever rules say of barriers.
    virtual void begin_meeting() {}
    // No call of the embedder's: an allreduce of so many bytes as the team was made for, whatever
    // rules say.
    virtual void begin_comparison(const node::Call& call) = 0;
    // No call: what a failure of multicast has left to do.
    virtual void begin_settling() {}
    virtual Step step() = 0;
    // After kFailed.
    [[nodiscard]] Failure failure() const { return failure_; }
    // The call has failed for good; some of what others sent for it may still be on its way.
    virtual void cancel() {}

    // ---- in a wait for the call under way ----
    // Where what it waits for comes from.
    [[nodiscard]] virtual Waiter::From awaited() const { return Waiter::From::kAnywhere; }
    // Between two polls: what this rank may do for others.
    virtual void serve_others() {}
    // The wait has become a long one: the other members may see it.
    virtual void announce() = 0;
    // It goes on: ranks asleep for it must be awake from now on.
    virtual void lengthen() {}
    // Before a sleep: rings for what was done up to here. Then a last step, then sleep().
    virtual Bell& bell(Waiter::From from) = 0;
    virtual void sleep(Sleeper& sleeper, Waiter::From from, uint64_t end_ns) = 0;
    // After steps of a call that this rank does not wait for: wakes ranks that sleep for them.
    virtual void ring() {}
    // What is under way on the own node, or nullptr.
    [[nodiscard]] virtual node::Op* node_op() = 0;

    // The number of the last call that has begun; wraps around.
    [[nodiscard]] virtual uint32_t calls() const = 0;

    // ---- what all members know alike of a call ----
    // The name of what would run it.
    virtual const char* algorithm(const Request& request) = 0;
    // See tutti_team_force().
    virtual Result<Done> force(const Request& request, const std::string& algorithm) = 0;
    // What calls of this kind may run by, with what rules say first; only that where nothing else
    // is to be tried: live tuning (plan/select/live.h). has_stragglers: members often arrive late.
    virtual std::vector<select::Way> ways(const select::CallKind& kind, bool has_stragglers) = 0;
    // Whether cards that differ in bytes may go together: see node::Team::tolerates.
    [[nodiscard]] virtual bool tolerates() const = 0;

  protected:
    // No way to run a call: the same on all ranks, unless memory ran out. The others hear of that.
    Begun fail(const Error& error);
    // Of this rank's own; the text stays.
    Begun fail(tutti_status status, const char* text) {
        failure_ = {status, text, false};
        return Begun::kFailed;
    }

  private:
    Failure failure_;
    std::string alike_;  // the texts of failures
    Why own_;
};

}  // namespace tutti::engine
