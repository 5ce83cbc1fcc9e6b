// SPDX-License-Identifier: BSD-3-Clause
// The messages of a team that are under way, from send() or recv() until they are complete: in
// lists, and from a pool that grows to as many as are under way at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "run/transport/transport.h"
#include "run/transport/verbs/exposures.h"

namespace tutti::transport::verbs {

// So many writes of a message at a time, 16 MiB: more than is on its way on any network, and less
// than would keep other messages to that peer waiting for long.
inline constexpr size_t kWritesAtOnce = 4;

// How far a long message is that goes straight from the sender's memory into the receiver's. No
// copy; each end registers its memory for this message alone, but what is exposed (exposures.h): of
// memory that is unmapped a program has no reliable word, so nothing is remembered.
//
//   sender (peer_sends.h)                      receiver (peer_receives.h)
//   kAnnounced: word, size       -- slot -->   compares them with its receive, once that is posted;
//                                              registers its memory
//   compares the size          <-- slot --     Offer: address and key
//   registers, writes            -- data -->
//   kWhole                       -- slot -->   gives up the registration: the message has come
//   gives up the registration once the writes are complete: the message is sent
//
// Where either end cannot register, the data follow by slots. Offers go by the stream of signs, so
// they wait for nothing that nobody reads.
enum class Direct : uint8_t {
    kNo,         // it goes by slots
    kWanted,     // of a send: nobody knows yet
    kAnnounced,  // a send waits for an offer, a receive has one to make or has made it
    kOffered,    // of a send: it is being written
    kTold,       // of a send: its end has been told; writes may be under way still
};

// Of a receiver's memory, to who has announced a message. Travels.
struct Offer {
    uint64_t address = 0;
    uint64_t bytes = 0;  // of the message
    uint32_t stream = 0;
    uint32_t key = 0;
    uint32_t is_there = 0;  // else by slots
    uint32_t pad = 0;
};

struct Operation {
    Operation* next = nullptr;
    Ticket* ticket = nullptr;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;  // neither: it was cancelled when it had begun, or is empty
    size_t bytes = 0;
    size_t done = 0;
    CallWord word;
    bool is_begun = false;
    bool is_given_up = false;
    bool is_counted = false;
    bool may_be_short = false;  // of a receive, see MessageId
    Direct direct = Direct::kNo;
    Exposures::Lease lease;                        // its memory, while it is registered
    Offer offer;                                   // that a send has got
    std::array<uint64_t, kWritesAtOnce> writes{};  // their numbers

    [[nodiscard]] bool is_registered() const { return lease.region.handle != nullptr; }
    // Nobody waits for it any more.
    void call_off() {
        if (ticket) ticket->state = State::kFailed;
        ticket = nullptr;
        is_given_up = true;
    }
};

// Operations in the order in which they were posted.
struct Line {
    Operation* first = nullptr;
    Operation* last = nullptr;

    void append(Operation* operation) {
        (first ? last->next : first) = operation;
        last = operation;
    }
    // The first one.
    Operation* pop() {
        TUTTI_ASSERT(first, "an operation is there");
        Operation* operation = first;
        first = operation->next;
        return operation;
    }
    void remove(Operation* operation) {
        Operation* before = nullptr;
        for (Operation* at = first; at != operation; at = at->next) before = at;
        (before ? before->next : first) = operation->next;
        if (last == operation) last = before;
    }
    // nullptr: there is none.
    [[nodiscard]] Operation* find(const Ticket& ticket) const {
        Operation* at = first;
        while (at && at->ticket != &ticket) at = at->next;
        return at;
    }
};

// A line for each stream of a team with a peer.
class StreamLines {
  public:
    // Those that are not empty, by bits.
    [[nodiscard]] uint32_t busy() const { return busy_; }
    [[nodiscard]] Operation* first(uint32_t stream) const { return lines_[stream].first; }
    [[nodiscard]] Operation* find(uint32_t stream, const Ticket& ticket) const {
        return lines_[stream].find(ticket);
    }
    void append(uint32_t stream, Operation* operation) {
        lines_[stream].append(operation);
        busy_ |= 1u << stream;
    }
    Operation* pop(uint32_t stream) {
        Operation* operation = lines_[stream].pop();
        if (!lines_[stream].first) busy_ &= ~(1u << stream);
        return operation;
    }
    void remove(uint32_t stream, Operation* operation) {
        lines_[stream].remove(operation);
        if (!lines_[stream].first) busy_ &= ~(1u << stream);
    }

  private:
    std::array<Line, kSlotsMax> lines_;
    uint32_t busy_ = 0;
};

class OperationPool {
  public:
    // Anew; nullptr: there is no memory.
    Operation* take() {
        if (!free_ && !grow()) [[unlikely]]
            return nullptr;
        Operation* operation = free_;
        free_ = operation->next;
        *operation = Operation{};
        return operation;
    }
    // So many may be under way from now on. False: there is no memory.
    [[nodiscard]] bool reserve(size_t count) {
        while (all_.size() * kAtOnce < count) {
            if (!grow()) return false;
        }
        return true;
    }
    void release(Operation* operation) {
        TUTTI_ASSERT(!operation->is_registered(), "its memory was given back");
        operation->next = free_;
        free_ = operation;
    }
    // Those that are not under way have no memory registered.
    template <class Use>
    void for_all(Use use) const {
        for (const auto& some : all_) {
            for (size_t i = 0; i < kAtOnce; ++i) use(some[i]);
        }
    }

  private:
    static constexpr size_t kAtOnce = 64;

    bool grow();

    std::vector<std::unique_ptr<Operation[]>> all_;
    Operation* free_ = nullptr;
};

}  // namespace tutti::transport::verbs
