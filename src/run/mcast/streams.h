// SPDX-License-Identifier: BSD-3-Clause
// All streams of a group at one member: what it has of each, what it owes to others for that, and
// whom it waits for.
//
// Source: ours; docs/protocol/multicast.md, "Acknowledgements" and "Death". A member owes
// acknowledgements to its parent in each stream's tree (ack_node.h), and NAKs to senders of which
// it misses packets (receiver.h). It waits for a sender of which it misses packets or has posted
// messages, and for those of its children that are behind the stream. Each such wait is one reason
// of the watch; each debt that is due is one item of the group's work.
//
// Of the own stream there are only the children, and what they acknowledge.
//
// Invariants, of each stream behind each step:
//   I1  its tree knows of this member what receiver and inbox have: placed <= received <= granted;
//   I2  an acknowledgement or a NAK that is due is queued, or next_ns() is no later;
//   I3  this member waits for whom it has a reason to wait for, and for nobody else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "run/mcast/ack_node.h"
#include "run/mcast/group_work.h"
#include "run/mcast/inbox.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"
#include "run/mcast/receiver.h"
#include "run/mcast/watch.h"

namespace tutti::mcast {

struct StreamCounters {
    ReceiverCounters received;  // of all streams together
    uint64_t acks_sent = 0;
    uint64_t asks_sent = 0;
    uint64_t packets_dropped = 0;  // of teams that are not open here
};

class Streams {
  public:
    // The others are the group's and outlive this.
    Streams(const Params& params, Prng& prng, Watch& watch, GroupWork& work);
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    // --- messages: as in the inbox, with what follows for grants and waits ---
    Result<Done> open_team(uint32_t team) { return inbox_.open_team(team); }
    void close_team(uint64_t now_ns, uint32_t team);
    Result<PostId> post(uint64_t now_ns, Member sender, const MessageName& name,
                        std::span<std::byte> place);
    Result<PostId> post_any(uint64_t now_ns, const MessageName& name, std::span<std::byte> place);
    void release(uint64_t now_ns, PostId id);
    [[nodiscard]] const Inbox& inbox() const { return inbox_; }

    // --- what others say ---
    // Of a data packet, which is counted. One that is new is taken next, unless it is not let in.
    Receiver::Verdict judge(Member from, uint64_t sequence);
    void take(uint64_t now_ns, Member from, const Data& data);
    // Another member's stream reaches to `end`, and somebody may want to know what is here.
    void reveal(uint64_t now_ns, Member stream, uint64_t end, bool is_asked);
    // Of another member's stream.
    void on_nak(uint64_t now_ns, Member from, const Nak& nak);
    // False: it is of no child here, or of what was never sent.
    bool on_ack(uint64_t now_ns, Member from, const Ack& ack);

    // --- the own stream ---
    // It has left up to there.
    void on_sent(uint64_t now_ns, uint64_t sent_end);
    [[nodiscard]] uint64_t sent_end() const { return sent_end_; }
    // What all other members have of it.
    [[nodiscard]] Reached acknowledged() const { return streams_[own_].acks.joined(); }

    // --- debts ---
    void tick(uint64_t now_ns);
    // When tick() is to be called, or earlier.
    [[nodiscard]] uint64_t next_ns() const { return next_ns_; }
    // What was queued, when its turn comes. 0 bytes: it is no longer due.
    size_t write_ack(Member stream, std::span<std::byte> out, Member& to);
    size_t write_nak(uint64_t now_ns, Member stream, std::span<std::byte> out, Member& to);
    size_t write_ask(Member member, std::span<std::byte> out, Member& to);

    [[nodiscard]] uint64_t received_end(Member stream) const {
        return streams_[stream].receiver.received_end();
    }
    // Of some stream packets are known to be missing.
    [[nodiscard]] bool is_missing() const { return missing_ > 0; }
    [[nodiscard]] StreamCounters counters() const;

  private:
    struct Stream {
        Stream(const Params& params, Member stream)
            : receiver(params, stream), acks(params, stream) {}
        Receiver receiver;
        AckNode acks;
        uint64_t ack_ns = kNever;
        bool is_missing = false;  // as the receiver says
        bool waits_for_sender = false;
        std::array<bool, kFanOutMax> waits_for_child{};
    };

    void refresh(uint64_t now_ns, Member member);
    void refresh_waits(uint64_t now_ns, Member member);
    void set_wait(uint64_t now_ns, bool& waits, bool wanted, Member member);
    void schedule(uint64_t now_ns, Member member);
    [[nodiscard]] Reached reached(Member stream) const;
    // Up to where the stream is known to reach.
    [[nodiscard]] uint64_t end_of(Member stream) const;
    [[nodiscard]] Member stream_behind(Member member) const;
    // Assert the invariants: of one stream, and of all, which takes longer.
    void check(Member member) const;
    void check_all() const;
    [[nodiscard]] bool are_waits_watched() const;
    [[nodiscard]] uint32_t reasons_for(Member member) const;
    [[nodiscard]] uint32_t count_missing() const;

    const Params params_;
    const Member own_;
    Prng& prng_;
    Watch& watch_;
    GroupWork& work_;
    Inbox inbox_;
    std::vector<Stream> streams_;  // by member
    uint64_t sent_end_ = 0;
    uint64_t next_ns_ = kNever;  // the earliest deadline of any stream, or earlier
    uint32_t missing_ = 0;       // streams
    uint64_t acks_sent_ = 0;
    uint64_t asks_sent_ = 0;
};

}  // namespace tutti::mcast
