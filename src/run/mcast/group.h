// SPDX-License-Identifier: BSD-3-Clause
// One member of a reliable multicast group: its own stream, what it receives of the others', the
// acknowledgements that pass through it, and whom it waits for. No I/O, no clock, no threads.
//
// Source: ours; docs/protocol/multicast.md. Its carrier (transport/carrier) does this:
//
//     on a datagram           check its code, then on_packet(now, bytes)
//     at next_deadline()      tick(now)
//     after each of these,    while (bytes = next_packet(now, out, to)) { put the code in; send }
//     and after write, post
//
// Messages go in by write(), which takes as much as the window has room for, and come out at the
// places that post() names. A packet may be lost between next_packet() and the wire: that is a loss
// like any other. Nothing allocates after create().
//
// A member that is not heard any more makes all give the group up: from then on packets to
// everybody go to each member by itself, which still works where switches have stopped to replicate
// (detour.h). The client begins nothing new and says end_writing(); when all that anybody wrote is
// at its place, or a member does not answer on the detour either, the group has failed.
//
// Invariants (check()), with those of the machines (sender.h, streams.h, inbox.h, detour.h):
//   I1  each packet that a member sent is looked at once, by those it was sent to;
//   I2  what the sender forgets, or takes for placed, is what all members have acknowledged so;
//   I3  packets are copied to each member only on the detour;
//   I4  on the detour each member is waited for until it has said that it is flushed;
//   I5  a member that is flushed has all that it wrote at its place;
//   I6  once the group has failed it carries nothing more, and says so to members that still send
//       to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "run/mcast/contradictions.h"
#include "run/mcast/detour.h"
#include "run/mcast/detour_copies.h"
#include "run/mcast/group_work.h"
#include "run/mcast/inbox.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"
#include "run/mcast/prober.h"
#include "run/mcast/replay_window.h"
#include "run/mcast/sender.h"
#include "run/mcast/streams.h"
#include "run/mcast/watch.h"

namespace tutti::mcast {

struct GroupCounters : StreamCounters {
    SenderCounters sent;
    uint64_t packets_malformed = 0;
    uint64_t packets_foreign = 0;   // of another group, this member's own come back, or another's
    uint64_t packets_replayed = 0;  // that have been here, or are too old to tell
};

class Group {
  public:
    // Errors: see validate().
    static Result<std::unique_ptr<Group>> create(const Params& params);

    // --- messages ---
    Result<Done> open_team(uint32_t team) { return streams_.open_team(team); }
    void close_team(uint64_t now_ns, uint32_t team);
    // True when the message is taken whole: the data is the caller's again. False: call again
    // after packets have come in. After a failure it takes nothing.
    bool write(uint64_t now_ns, Outgoing& message);
    // Errors: too many posts.
    Result<PostId> post(uint64_t now_ns, Member sender, const MessageName& name,
                        std::span<std::byte> place);
    // For whichever member sends a message of this name, of at most the place's bytes. Nobody is
    // waited for until its first packet has come: see expect().
    Result<PostId> post_any(uint64_t now_ns, const MessageName& name, std::span<std::byte> place);
    void release(uint64_t now_ns, PostId id);
    // What has become of the posts.
    [[nodiscard]] const Inbox& inbox() const { return streams_.inbox(); }
    // What has become of all that was written. When all of it is acknowledged on every member, and
    // not before, they may leave.
    [[nodiscard]] const Sender& sender() const { return sender_; }
    // Packets are known to be missing: what comes next may be one that was overtaken.
    [[nodiscard]] bool is_missing() const { return streams_.is_missing() && !failure(); }
    // The user waits until all that was written is at its place.
    void hasten(uint64_t now_ns) { sender_.hasten(now_ns); }
    // The user waits for something of this member, or no longer: one call of the second kind for
    // each of the first. While it waits, a member that is gone is noticed.
    void expect(uint64_t now_ns, Member member) { watch_.wait(now_ns, member); }
    void end_expect(Member member) { watch_.end_wait(member); }

    // Asked before a data packet is taken: false if no member ever sends such a one, which may be
    // wherever codes do not prove its name. It is dropped.
    using Gate = std::function<bool(const Data& data)>;
    void set_gate(Gate gate) { gate_ = std::move(gate); }

    // --- packets and time ---
    // It came at `arrival_ns`, if that is before `now_ns`. False: nothing new of another member.
    bool on_packet(uint64_t now_ns, std::span<const std::byte> bytes, uint64_t arrival_ns = kNever);
    void tick(uint64_t now_ns);
    // kNever: nothing will happen unless a packet or a call comes.
    [[nodiscard]] uint64_t next_deadline() const;
    // Writes the next packet to send; `out` has room for packet_bytes_max. 0: none now.
    size_t next_packet(uint64_t now_ns, std::span<std::byte> out, Member& to);

    // --- the group ---
    // This member hears `dead` no more, or is to act as if. Of a group that is not given up yet.
    void give_up(uint64_t now_ns, Member dead);
    // What has come cannot all be the members' own: of this one's stream, or said in its name. What
    // was delivered may be wrong, and what is missing may never come.
    [[nodiscard]] std::optional<Member> contradicted() const { return contradictions_.found(); }
    // Fails at once, without the detour, or ends that; `dead` is named if nobody was before.
    void abandon(uint64_t now_ns, Member dead);
    // The member that was not heard: the group is on the detour, or has failed.
    [[nodiscard]] std::optional<Member> given_up() const { return detour_.dead(); }
    // Given up, and nothing more will be written here.
    void end_writing(uint64_t now_ns);
    void start_probe(uint64_t now_ns) { prober_.start(now_ns); }
    [[nodiscard]] const Prober& prober() const { return prober_; }
    void set_rate(uint64_t bytes_per_s);
    // The member that was not heard, when the group is of no use any more.
    [[nodiscard]] std::optional<Member> failure() const;
    [[nodiscard]] GroupCounters counters() const;
    [[nodiscard]] const Params& params() const { return params_; }

  private:
    explicit Group(const Params& params);

    // False: no honest member sends such a packet.
    bool on_body(uint64_t now_ns, Member from, const Data& data);
    bool on_body(uint64_t now_ns, Member from, const Heartbeat& beat);
    bool on_body(uint64_t now_ns, Member from, const Nak& nak);
    bool on_body(uint64_t now_ns, Member from, const Ack& ack);
    bool on_body(uint64_t now_ns, Member from, const Ask& ask);
    bool on_body(uint64_t now_ns, Member from, const Failure& failure);
    size_t next_unnumbered(uint64_t now_ns, std::span<std::byte> out, Member& to);
    size_t write_owed(uint64_t now_ns, std::span<std::byte> out, Member& to);
    void refresh_flush(uint64_t now_ns);
    // Asserts the invariants, behind each step.
    void check() const;

    Params params_;
    Prng prng_;
    Sender sender_;
    Watch watch_;
    GroupWork work_;
    Streams streams_;
    std::vector<ReplayWindow> replays_;  // by member
    Contradictions contradictions_;
    Prober prober_;
    Gate gate_;
    Detour detour_;  // after it was given up
    DetourCopies copies_;
    uint64_t packets_ = 0;  // sent so far
    uint64_t bytes_per_s_ = 0;
    GroupCounters counters_;
};

}  // namespace tutti::mcast
