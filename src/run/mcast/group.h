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
// Invariants: those of the machines (sender.h, receiver.h, inbox.h, ack_node.h); each packet that a
// member sent is looked at once, by those it was sent to; and once the group has failed it carries
// nothing more, and says so to members that still send to it.
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
#include "run/mcast/ack_node.h"
#include "run/mcast/continuity.h"
#include "run/mcast/detour.h"
#include "run/mcast/detour_copies.h"
#include "run/mcast/group_work.h"
#include "run/mcast/inbox.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"
#include "run/mcast/prober.h"
#include "run/mcast/receiver.h"
#include "run/mcast/replay_window.h"
#include "run/mcast/sender.h"
#include "run/mcast/watch.h"

namespace tutti::mcast {

struct GroupCounters {
    SenderCounters sent;
    ReceiverCounters received;  // of all streams together
    uint64_t acks_sent = 0;
    uint64_t asks_sent = 0;
    uint64_t packets_malformed = 0;
    uint64_t packets_foreign = 0;   // of another group, this member's own come back, or another's
    uint64_t packets_replayed = 0;  // that have been here, or are too old to tell
    uint64_t packets_dropped = 0;   // of teams that are not open here
};

class Group {
  public:
    // Errors: see validate().
    static Result<std::unique_ptr<Group>> create(const Params& params);

    // --- messages ---
    Result<Done> open_team(uint32_t team) { return inbox_.open_team(team); }
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
    [[nodiscard]] PostState state(PostId id) const { return inbox_.state(id); }
    [[nodiscard]] uint64_t completed_posts() const { return inbox_.completed_posts(); }
    // kNobody: of a post for any member's message, nothing has come.
    [[nodiscard]] Member sender(PostId id) const { return inbox_.sender(id); }
    [[nodiscard]] size_t message_bytes(PostId id) const { return inbox_.message_bytes(id); }
    void release(uint64_t now_ns, PostId id);
    [[nodiscard]] uint32_t pooled_packets() const { return inbox_.pooled_packets(); }
    // Packets are known to be missing: what comes next may be one that was overtaken.
    [[nodiscard]] bool is_missing() const { return missing_streams_ > 0 && !failure(); }
    // The own stream reaches so far with all that was written, and so far it is with all members,
    // at the places they posted.
    [[nodiscard]] uint64_t written_end() const { return sender_.written_end(); }
    [[nodiscard]] uint64_t placed_end() const { return sender_.placed_end(); }
    // The user waits for placed_end() to reach what was written.
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
    bool on_packet(uint64_t now_ns, std::span<const std::byte> bytes) {
        return on_packet(now_ns, bytes, now_ns);
    }
    // It came at `arrival_ns`, not after `now_ns`. False: nothing new of another member.
    bool on_packet(uint64_t now_ns, std::span<const std::byte> bytes, uint64_t arrival_ns);
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
    [[nodiscard]] std::optional<Member> contradicted() const;
    // Fails at once, without the detour: nothing that comes is to be believed any more.
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
    // All that this member wrote is with all members. When that is so on every member, and not
    // before, they may leave.
    [[nodiscard]] bool is_acknowledged() const { return sender_.is_acknowledged(); }
    [[nodiscard]] GroupCounters counters() const;
    [[nodiscard]] const Params& params() const { return params_; }

  private:
    struct Stream {
        Stream(const Params& params, Member stream)
            : receiver(params, stream),
              continuity(params),
              replays(replay_counters(params)),
              acks(params, stream) {}
        Receiver receiver;
        Continuity continuity;
        ReplayWindow replays;
        AckNode acks;
        uint64_t ack_ns = kNever;
        uint32_t vain_naks = 0;   // in a row, for what all members have acknowledged, by times
        uint64_t vain_ns = 0;     // the last time
        uint32_t refused = 0;     // by the gate, each time the first packet that is missing
        bool is_missing = false;  // as the receiver says
        bool waits_for_sender = false;
        std::array<bool, kFanOutMax> waits_for_child{};
    };
    explicit Group(const Params& params);

    void on_body(uint64_t now_ns, Member from, const Data& data);
    void on_body(uint64_t now_ns, Member from, const Heartbeat& beat);
    void on_body(uint64_t now_ns, Member from, const Nak& nak);
    void on_body(uint64_t now_ns, Member from, const Ack& ack);
    void on_body(uint64_t now_ns, Member from, const Ask& ask);
    void on_body(uint64_t now_ns, Member from, const Failure& failure);
    void on_body(uint64_t now_ns, Member from, const Probe& probe);
    void on_body(uint64_t now_ns, Member from, const ProbeAnswer& answer);

    void count_vain(uint64_t now_ns, Member from, const Nak& nak);
    void refresh(uint64_t now_ns, Member stream);
    void refresh_waits(uint64_t now_ns, Member stream);
    void set_wait(uint64_t now_ns, bool& waits, bool wanted, Member member);
    size_t do_work(uint64_t now_ns, std::span<std::byte> out, Member& to);
    size_t write_ack(Member stream, std::span<std::byte> out, Member& to);
    size_t write_ask(Member member, std::span<std::byte> out, Member& to);
    [[nodiscard]] Member stream_behind(Member member) const;
    void tick_streams(uint64_t now_ns);
    void schedule(uint64_t now_ns, const Stream& stream);
    void tick_watch(uint64_t now_ns);
    size_t next_unnumbered(uint64_t now_ns, std::span<std::byte> out, Member& to);
    size_t generate(uint64_t now_ns, std::span<std::byte> out, Member& to);
    size_t write_notice(std::span<std::byte> out, Member& to);
    void refresh_flush(uint64_t now_ns);
    void fail(uint64_t now_ns);

    Params params_;
    Prng prng_;
    Sender sender_;
    std::vector<Stream> streams_;  // by member; of the own one only the acknowledgements count
    Inbox inbox_;
    Watch watch_;
    Prober prober_;
    Gate gate_;
    GroupWork work_;
    uint64_t streams_ns_ = kNever;  // the earliest deadline of any stream, or earlier
    uint32_t missing_streams_ = 0;
    size_t packet_bytes_ = 0;  // of the packet being handled
    uint64_t arrival_ns_ = 0;  // the same
    Member contradicted_ = kNobody;
    Detour detour_;  // after it was given up
    DetourCopies copies_;
    uint64_t packets_ = 0;  // sent so far
    uint64_t bytes_per_s_ = 0;
    GroupCounters counters_;
};

}  // namespace tutti::mcast
