// SPDX-License-Identifier: BSD-3-Clause
// The multicast of a team through its life: calls ask for it, it is made, used, fails, is tried
// again, and ends with the team. All members are in the same state between two calls, but for a
// failure, of which they learn one after the other (docs/protocol/multicast.md).
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/bell.h"
#include "base/clock.h"
#include "base/demand.h"
#include "base/topo/placement.h"
#include "plan/sched/shape.h"
#include "run/multicast/multicast_facts.h"
#include "run/multicast/process_multicast.h"
#include "run/multicast/team_multicast.h"
#include "run/transport/carrier/route.h"
#include "run/transport/transport.h"

namespace tutti::multicast {

class MulticastLife {
  public:
    // What a message calls that host.
    using HostText = std::function<std::string(uint32_t node)>;
    // process and placement outlive this. has_thread: one serves multicasts; else ranks poll.
    MulticastLife(ProcessMulticast& process, const topo::Placement& placement, uint32_t rank,
                  bool has_thread, HostText host_text);
    // What is done to multicasts is done under this lock: threads that wait in calls of other teams
    // help this one on after a failure. Of nothing where the team has no multicast.
    [[nodiscard]] std::unique_lock<std::mutex> hold();
    [[nodiscard]] ProcessMulticast& process() { return process_; }
    [[nodiscard]] const topo::Placement& placement() const { return placement_; }
    [[nodiscard]] std::string host_text(uint32_t node) const { return host_text_(node); }

    // ---- it comes; between two calls, on all members alike ----
    // This host's ranks outnumber its processors. Before set().
    void set_crowded() { is_crowded_ = true; }
    // It is tried once calls that would use it come often.
    void await() { demand_.await(); }
    [[nodiscard]] bool is_awaited() const { return demand_.is_awaited(); }
    // A call would use it, and moves so many bytes.
    void ask(uint64_t bytes) { demand_.count(bytes); }
    // Calls have asked for it often enough, or gone without it since it failed.
    [[nodiscard]] bool is_due() const;
    // While the team is made.
    void set(MulticastOutcome outcome);
    // What a try has brought: calls may use it.
    void adopt(MulticastOutcome made);
    // After a failure, and when nobody misses anything: its group goes.
    void retire();
    // Not for any call to use, after all. What there was, for the caller to drop.
    MulticastOutcome give_up(std::string obstacle);

    // ---- it is there ----
    // nullptr: the team has none.
    [[nodiscard]] TeamMulticast* team() const { return made_.route.get(); }
    [[nodiscard]] transport::carrier::Route* route() const {
        return made_.route ? &made_.route->route() : nullptr;
    }
    // Without: why; empty: nobody wanted it.
    [[nodiscard]] const std::string& obstacle() const { return made_.obstacle; }
    // It was, and the group has failed.
    [[nodiscard]] bool is_lost() const { return route() && route()->has_failed(); }
    // What one takes, as measured; 0: there is none.
    [[nodiscard]] uint64_t takes_ns() const { return team() ? team()->agreed().latency_ns + 1 : 0; }
    // It is there, or was when the call of this number is made.
    [[nodiscard]] bool is_there_at(uint32_t call) const;
    // It is there, and no thread serves it: this rank does.
    [[nodiscard]] bool polls() const { return polls_; }
    [[nodiscard]] bool carries() const { return team() && team()->carries(); }
    // In a wait for something else: does what the service's thread leaves to the rank that carries.
    void poll_carrier() {
        if (!polls_ && carries()) team()->poll();
    }
    // A call begins that goes without, since it has failed. Under hold().
    void went_without() {
        if (team()) ++calls_without_;
    }
    // The call under way has lasted long, or is over.
    void announce(bool is_long);

    // ---- it has failed ----
    // From which call on members do without it: kDone: they have agreed.
    transport::State decide();
    // What was lost goes to those who miss it. kDone: nobody misses anything of this rank's, and it
    // owes the others nothing.
    transport::State settle();
    // Once, when that is decided, on the one rank that says it, and where no other team of its
    // process has said the same: the line to say; else empty.
    std::string tell_failure();
    // The same, when a try has brought it back. call: the next one.
    std::string tell_return(uint32_t call);

    // ---- on behalf of other teams of the process (RecoveryClient) ----
    void attend();
    void watch_for_others(bool is_wanted);

    // ---- the end of the team ----
    // is_sound: no call has failed, so others may still be helped.
    void leave(bool is_sound);
    // Others may come for what they miss of this rank's, as long as they have not freed the team,
    // too.
    [[nodiscard]] bool is_needed();
    // What others miss of this rank's goes to them, if they come for it soon. progress: lets the
    // embedder's messages progress.
    void settle_at_end(Clock& clock, uint64_t end_ns, const std::function<void()>& progress);

    // message: how fast messages are. Under hold().
    [[nodiscard]] MulticastStory story(const sched::Speed& message) const;

  private:
    void change_watch(bool& reason, bool is_wanted);
    [[nodiscard]] bool is_watched() const { return is_announced_ || is_watched_for_others_; }
    [[nodiscard]] bool is_teller(uint32_t node) const;
    void forget_silence(uint32_t node);

    ProcessMulticast& process_;
    const topo::Placement& placement_;
    const uint32_t rank_;
    const bool has_thread_;
    const HostText host_text_;
    std::mutex mutex_;
    MulticastOutcome made_;
    Demand demand_;
    bool is_crowded_ = false;
    bool polls_ = false;
    bool helps_ = true;          // others; under mutex_
    bool is_announced_ = false;  // the own call has lasted long
    bool is_watched_for_others_ = false;
    bool has_told_failure_ = false;
    // After a failure, until the next try: calls that went by messages instead; and how often it
    // was tried again so far, and came back. Alike on all members.
    uint64_t calls_without_ = 0;
    uint32_t retries_ = 0;
    uint32_t returns_ = 0;
    uint32_t lost_node_ = 0;  // whose silence was the cause, the last time that it came back
};

}  // namespace tutti::multicast
