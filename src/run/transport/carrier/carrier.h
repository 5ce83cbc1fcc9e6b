// SPDX-License-Identifier: BSD-3-Clause
// Carries the multicast groups of one process over a fabric's datagrams: codes, timers, and a
// thread that serves them while the program computes.
//
// Source: ours; docs/protocol/multicast.md, "Carrier". One process a node has a carrier, made with
// its first team that has multicast. The thread sleeps in epoll until a packet, a rank or a timer
// wakes it; it blocks all signals and calls no MPI. Without the thread poll() does its work.
//
// All state is behind one lock. A rank of this process that finds the thread asleep does its work
// itself (waker()), and one that waits for packets sleeps in the thread's stead (attend()), which
// saves the way through the scheduler; ranks of other processes wake it through a pipe (PipeWaker).
//
// Bounded: groups_max groups, those included that left and linger for the others' sake.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/bell.h"
#include "base/faults.h"
#include "base/result.h"
#include "run/mcast/group.h"
#include "run/transport/carrier/client.h"
#include "run/transport/carrier/code.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/carrier/waker.h"

namespace tutti::transport::carrier {

struct CarrierParams {
    uint32_t groups_max = 8;
    bool has_thread = true;
    FaultPlan faults;  // done to packets that come in
};

struct JoinParams {
    GroupAddress group_address;
    // The group's own, drawn at random by the team's rank 0 with the group's number: halves of a
    // job may make teams before they know of each other, so there is none that a job has. A
    // packet's group says under which key its code is checked, before anything else of it is looked
    // at.
    Key key;
    uint32_t group = 0;  // of this process's groups, those included that linger, no other has it
    mcast::Member member = 0;
    std::span<const Address> members;
    uint32_t window_packets = 256;  // at most; fewer if a member holds fewer
    uint64_t bytes_per_s = 0;       // 0: as set_rate() says later
    uint64_t seed = 1;
    // What the client works on besides; let go of when it is gone, which the carrier decides.
    std::shared_ptr<void> memory;
    // Made under the lock, with the group's only team open. When it has left, the group lingers
    // until nobody needs it, then is gone; nothing is asked of it meanwhile.
    std::function<std::unique_ptr<Client>(mcast::Group&)> make_client;
};

struct CarrierCounters {
    uint64_t packets_in = 0;
    uint64_t packets_out = 0;
    uint64_t rejected = 0;    // without their group's code
    uint64_t own = 0;         // looped back
    uint64_t ungrouped = 0;   // of a group that this process is not, or no longer, in
    uint64_t unsent = 0;      // that the system refused
    uint64_t overflowed = 0;  // came where there was no room
    uint64_t faults = 0;      // done on purpose, to packets of groups that are still there
    uint64_t wakeups = 0;     // of the thread
    uint32_t receive_buffer_bytes = 0;  // as the system counts it
};

struct ProbeState {
    // The bound has passed, the group has failed, or this member knows all.
    bool is_done = false;
    bool all_hear_all = false;
    // If not: the first one, and whom it does not hear, as far as this member knows.
    mcast::Member deaf = mcast::kNobody;
    mcast::Member unheard = mcast::kNobody;
    uint32_t heard = 0;  // members that this one hears, itself among them
    // At which this member received member 0's full packets, as far as links carry them; 0: it got
    // none (or is member 0), and nothing is known of links.
    uint64_t bytes_per_s = 0;
    uint64_t round_trip_ns_min = 0;  // 0: not known
    uint64_t round_trip_ns_max = 0;
};

class Membership;

class Carrier {
  public:
    // Errors: no pipe, no thread.
    static Result<std::unique_ptr<Carrier>> open(const CarrierParams& params,
                                                 std::unique_ptr<Datagrams> datagrams);
    virtual ~Carrier() = default;

    // Of its datagrams, for others' join().
    [[nodiscard]] virtual Address address() const = 0;
    // A window that takes no more memory here than a team should: a member keeps one of every
    // member's. Errors: these members cannot meet, or are too many.
    [[nodiscard]] virtual Result<uint32_t> choose_window(std::span<const Address> members,
                                                         mcast::Member own) const = 0;
    // Another process of the node opens /proc/PID/fd/N for reading and writing, without blocking,
    // and wakes the carrier by PipeWaker.
    [[nodiscard]] virtual int wake_fd() const = 0;
    // For this process's own ranks.
    virtual Waker& waker() = 0;

    // Errors: no place, no memory, no way to the others, the address cannot be had.
    virtual Result<Membership*> join(const JoinParams& params) = 0;
    // For a group that not all have joined, or that nobody uses any more, and whose client has not
    // left: it goes at once.
    virtual void drop(Membership* membership) = 0;
    // Gives back what groups that are gone have left in the system.
    virtual void tidy() = 0;
    // Groups that linger: once no process writes any more and this is 0 everywhere, nobody misses
    // this carrier.
    [[nodiscard]] virtual uint32_t lingering() = 0;

    // What the group's codes let through here (code.h); in the caller's time.
    [[nodiscard]] virtual uint64_t code_bytes_per_s(Membership* membership) = 0;
    virtual void start_probe(Membership* membership) = 0;
    virtual ProbeState probe_state(Membership* membership) = 0;
    virtual void set_rate(Membership* membership, uint64_t bytes_per_s) = 0;
    virtual std::optional<mcast::Member> failure(Membership* membership) = 0;
    // All that this member wrote is with all members; hasten() asks them to say so soon.
    virtual bool is_acknowledged(Membership* membership) = 0;
    virtual void hasten(Membership* membership) = 0;
    virtual mcast::GroupCounters group_counters(Membership* membership) = 0;
    virtual CarrierCounters counters() = 0;
    // "eth0, 10.1.0.3, packets of 1472 bytes".
    virtual std::string describe(Membership* membership) = 0;

    // Does what is due where the thread does not: there is none, or a rank has just attended.
    virtual void poll() = 0;
    // A rank of this process that waits for the membership's ring does the thread's work. Sleeps
    // until a packet, a timer or another rank wants it done, at most until end_ns; then does it.
    // Returns at once if a rank has rung since the sleeper began. also: wakes it, too, when it is
    // readable; -1: there is none. Where another rank attends, this one then sleeps for `also`
    // alone.
    virtual void attend(Membership* membership, Sleeper& sleeper, uint64_t end_ns,
                        int also = -1) = 0;
};

}  // namespace tutti::transport::carrier
