// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a team go on when its group has failed: over the messages between them, with the
// multicasts that were under way, and with none from an agreed call on.
//
// Source: ours. It rests on two properties of the ring (ring.h): a frozen ring shows for good which
// numbers have reached this node, and whatever has not reached every node still stands in the ring
// of its sender. So every rank
//
//   1. tells the highest call it has begun and whether it holds anything, up a binomial tree and
//      down again: later calls are planned without multicast, by all alike; and all name the member
//      that rank 0 takes for the cause; where a node's ring is contradicted it ends here, and
//      calls fail, for nobody knows what is right;
//   2. for each rank that holds something, in the order of ranks: gets the numbers that rank holds
//      and answers which of them it misses;
//   3. sends what it holds to those who miss it, and from then on each multicast of its own to all
//      ranks; and receives, number by number, what its node's ring does not have.
//
// 1 is recovery_tree.h, 2 recovery_lists.h, 3 resends.h.
//
// No rank waits for another one inside; a rank in a call of the team advances it by step().
// Messages use a slot of their own, in the same order on both sides: those of 1 and 2, then
// multicasts from one rank to another by ascending number.
//
// Invariants:
//   I1  a rank takes part only when its node's ring is frozen;
//   I2  to each rank a number goes once: by the ring of its node or by a message;
//   I3  one message at a time goes to each rank, and none waits for another rank's.
#pragma once

#include <cstdint>
#include <optional>

#include "run/transport/carrier/multicast_progress.h"
#include "run/transport/carrier/recovery_lists.h"
#include "run/transport/carrier/recovery_messages.h"
#include "run/transport/carrier/recovery_tree.h"
#include "run/transport/carrier/resends.h"
#include "run/transport/carrier/ring.h"
#include "run/transport/transport.h"

namespace tutti::transport::carrier {

// One rank's part. Allocates when it is made.
class Recovery {
  public:
    Recovery(Ring ring, Transport& network, Rank rank, Rank ranks);
    // What has not come is not written to its memory any more.
    ~Recovery() { messages_.call_off(); }
    Recovery(const Recovery&) = delete;
    Recovery& operator=(const Recovery&) = delete;

    // The rank begins a call of the team that may multicast.
    void begin_call(uint64_t call) { calls_end_ = call + 1; }
    // Lets it go on, once the ring is frozen.
    void step(const Progress& progress);
    // 1 is over: calls from this one on are planned without multicast.
    [[nodiscard]] bool is_decided() const { return tree_.is_decided() || phase_ == Phase::kFailed; }
    [[nodiscard]] uint64_t calls_end() const { return tree_.calls_end(); }
    [[nodiscard]] mcast::Member dead() const { return tree_.dead(); }
    // 2 is over: multicasts go by send() and recv().
    [[nodiscard]] bool is_ready() const { return phase_ == Phase::kReady; }
    [[nodiscard]] bool has_failed() const { return phase_ == Phase::kFailed; }
    // A node's ring is contradicted, so it has failed on all ranks. Until that is decided, what is
    // known may still be coming from the parent.
    [[nodiscard]] bool is_contradicted() const { return is_decided() && tree_.is_contradicted(); }
    // Nobody misses anything of this rank.
    [[nodiscard]] bool is_settled() const { return is_ready() && resends_.is_over(); }

    // Of what this rank held when the group failed. When ready.
    [[nodiscard]] uint32_t missed_by_others() const { return resends_.missed(); }

    // Who held that number then, which was offered: so this rank had come to it, and posts it next.
    // When ready.
    [[nodiscard]] std::optional<Rank> holder_of(uint64_t number) const {
        return lists_.holder_of(number);
    }

    // In the order of numbers, and all that is under way before step() is called again. The memory
    // stays until is_sent() of what this returns.
    uint64_t send(uint64_t number, const std::byte* data, size_t bytes);
    [[nodiscard]] bool is_sent(uint64_t item) const { return resends_.is_sent(item); }
    // What the ring does not have, in the order of numbers.
    void recv(uint64_t number, Rank sender, std::byte* data, size_t bytes, Ticket& ticket);
    State test(Ticket& ticket) { return messages_.test(ticket); }
    // Nothing is written to its memory any more.
    void cancel(Ticket& ticket) { messages_.call_off(ticket); }
    // What send() was given is read no more, and nothing comes behind it: the call has failed. What
    // the ring holds of calls before it goes on.
    void call_off() { resends_.call_off(); }

  private:
    // In the order in which they follow each other.
    enum class Phase : uint8_t { kIdle, kTree, kLists, kReady, kFailed };

    void begin();
    void go_on(const Progress& progress);

    Ring ring_;
    Phase phase_ = Phase::kIdle;
    uint64_t calls_end_ = 0;
    RecoveryMessages messages_;
    RecoveryTree tree_;    // 1
    RecoveryLists lists_;  // 2
    Resends resends_;      // 3
};

}  // namespace tutti::transport::carrier
