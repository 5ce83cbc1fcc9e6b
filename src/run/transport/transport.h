// SPDX-License-Identifier: BSD-3-Clause
// Messages between the ranks of a team: post a send, post a receive, test. One implementation a
// fabric, one conformance suite for all (tests/conformance).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tutti::transport {

// A rank's number in the team.
using Rank = uint32_t;

// What a rank takes the call of a message to be; opaque here. Ranks that run the same call after
// the same calls have the same words, others do not.
struct CallWord {
    uint64_t call = 0;
    uint64_t before = 0;
    // Messages of calls of different kinds do not meet, as far as the fabric has names for them;
    // the same for some calls that are not, so that their messages meet and are compared.
    uint32_t kind = 0;
    bool operator==(const CallWord&) const = default;
};

// Names one message between two ranks of a team; both sides derive it from the schedule. A fabric
// may match by the whole name, and then messages may arrive in any order. Or it keeps order per
// pair and `slot` (as MPI does per tag): both sides post the messages of a slot in the same order.
struct MessageId {
    uint32_t call = 0;  // of the team, counted by all members alike; wraps around
    uint32_t lane = 0;
    uint32_t slot = 0;  // below kSlotsMax
    uint32_t message = 0;
    CallWord word{};
    // It has no bytes and may go as an addition to a counter, where the fabric has them: then
    // receives of such messages, of any peers, are complete when as many have come as were posted.
    // Nobody sends another before the receiver has had all of them. Both sides say it alike.
    bool is_counted = false;
    // The receiver may have room for more than is sent, and has what was sent then. Both sides say
    // it alike.
    bool may_be_short = false;
    bool operator==(const MessageId&) const = default;
};

// One for each lane of a schedule that may be in flight; one for what is none of a schedule's: how
// ranks go on after a multicast group has failed (carrier/recovery.h); and two for participants
// that meet and are released by multicast (run/exec/meet.cpp), in turn.
inline constexpr uint32_t kRecoverySlot = 16;
inline constexpr uint32_t kMeetSlot = kRecoverySlot + 1;
inline constexpr uint32_t kMeetSlots = 2;
inline constexpr uint32_t kSlotsMax = kMeetSlot + kMeetSlots;
// The maker of a schedule cuts longer blocks.
inline constexpr size_t kMessageBytesMax = size_t{1} << 30;

enum class State : uint8_t { kPending, kDone, kFailed };

// One posted message, owned by its poster; it does not move until it is complete.
struct Ticket {
    State state = State::kDone;
    uint8_t way = 0;            // see routes.h, which alone writes it
    bool is_elsewhere = false;  // likewise
    void* handle = nullptr;     // the transport's
    uint64_t number = 0;        // the transport's
    size_t bytes = 0;           // of a receive, where the transport compares
    bool may_be_short = false;  // likewise
    void* parcel = nullptr;     // the transport's
};

// What exposed memory is.
enum class Memory : uint8_t {
    kScratch,  // of many calls
    kInput,    // of one call, which only reads it, often no part of it twice
    kOutput,   // of one call
};

// The ranks do not run the same call, as a message shows: it was of another size than this rank's
// schedule has it, or had another word.
struct Disagreement {
    bool is_there = false;
    bool has_word = false;
    Rank peer = 0;
    CallWord word;            // of the peer; without its kind
    bool is_short = false;    // it had no word, and fewer bytes than were waited for
    bool is_counted = false;  // one of those that were counted; nobody knows which, so no peer
};

// One team's end at one rank. Used by one thread at a time. Nothing waits or allocates, once a
// message has been under way on it as many at a time as before.
class Transport {
  public:
    virtual ~Transport() = default;
    // The memory belongs to the transport until the ticket is complete. peer is never the own rank.
    virtual void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
                      Ticket& ticket) = 0;
    virtual void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
                      Ticket& ticket) = 0;
    // Lets a pending ticket progress and says where it stands; kFailed is final for the team.
    virtual State test(Ticket& ticket) = 0;
    // Looks once at what has come and gone, for all tickets: before some of them are tested. For
    // fabrics that tell by one queue; where test() looks for itself there is nothing to do.
    virtual void poll() {}
    // Of fabrics that one can sleep for: readable when poll() can end something, or let others go
    // on, since arm() said true. -1: a rank that waits for messages under way must poll.
    [[nodiscard]] virtual int wait_fd() { return -1; }
    // Before a sleep, behind a fruitless look at all tickets. False: no sleep, something has come.
    [[nodiscard]] virtual bool arm() { return false; }
    // Where one of the team's ranks has a word to which all of its ranks can add, itself too, and
    // each addition brings back what the word was before: their number, on all of them alike, else
    // 0. A ticket of fetch_add() is tested and cancelled like a message's, one at a time; when it
    // is complete, its `number` is what the word was.
    [[nodiscard]] virtual Rank adders() const { return 0; }
    virtual void fetch_add(uint64_t amount, Ticket& ticket) {
        static_cast<void>(amount);
        ticket.state = State::kFailed;
    }
    // Memory in which many messages of the team will begin or end, until conceal(), which is given
    // the same: the fabric may register it. What is not exposed may be sent from and received to
    // all the same. From conceal() on nothing is written there; what was cancelled may be read.
    virtual void expose(std::span<std::byte> memory, Memory kind) {
        static_cast<void>(memory), static_cast<void>(kind);
    }
    virtual void conceal(std::span<std::byte> memory) { static_cast<void>(memory); }
    // Cancels a pending receive: nothing is written to its memory from here on, where the fabric
    // permits that; to exposed memory, from conceal() on. The ticket must not be tested again.
    virtual void cancel(Ticket& ticket) { static_cast<void>(ticket); }
    // Whether a call may give back its receives and begin anew: withdraw_receive() and
    // clear_disagreement() do it.
    [[nodiscard]] virtual bool can_withdraw_receives() const { return false; }
    // Withdraws a receive, given as it was posted. It is pending, or has shown that ranks disagree,
    // by a word or by too few bytes. What has come for it, or will come, is for the next receive of
    // that name. kPending: ask again, a message is on its way to `data`.
    [[nodiscard]] virtual State withdraw_receive(Rank peer, const MessageId& id,
                                                 const std::byte* data, size_t bytes,
                                                 Ticket& ticket) {
        static_cast<void>(peer), static_cast<void>(id), static_cast<void>(data);
        static_cast<void>(bytes), static_cast<void>(ticket);
        return State::kFailed;
    }
    // The disagreement was none: nothing has failed.
    virtual void clear_disagreement() {}
    // One line that says what failed, after kFailed.
    [[nodiscard]] virtual std::string error() const = 0;
    // Whether that is why.
    [[nodiscard]] virtual Disagreement disagreement() const { return {}; }
};

}  // namespace tutti::transport
