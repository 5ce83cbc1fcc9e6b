// SPDX-License-Identifier: BSD-3-Clause
// What a team on links has once for all of its peers (team_peer.h): memory that is registered,
// operations, counts, why it has failed, and how far its end has come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/transport/verbs/counted_receives.h"
#include "run/transport/verbs/exposures.h"
#include "run/transport/verbs/first_failure.h"
#include "run/transport/verbs/operations.h"
#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

struct TeamShare {
    TeamShare(Endpoint& endpoint, uint32_t number_there, size_t direct_bytes, uint32_t peers)
        : number(number_there), exposures(endpoint, direct_bytes), counted(endpoint, pool, peers) {}
    TeamShare(const TeamShare&) = delete;
    TeamShare& operator=(const TeamShare&) = delete;

    // On the links.
    [[nodiscard]] uint32_t stream(uint32_t slot) const { return stream_of(number, slot); }
    // Looks for messages that are counted.
    void take_counts() {
        if (!counted.take()) failure.note_count();
    }
    // It is over; its memory is the program's again.
    void end(Operation* operation, State state) {
        exposures.give_back(operation->lease);
        if (operation->ticket) operation->ticket->state = state;
        pool.release(operation);
    }
    // One of the stream's, which nobody waits for and that has nothing registered.
    void forget(StreamLines& lines, uint32_t stream, Operation* operation) {
        lines.remove(stream, operation);
        pool.release(operation);
    }
    // All that the stream has fails; or the lines.
    void drop(StreamLines& lines, uint32_t stream);
    void drop(StreamLines& lines);
    // The same, but memory that is being written from, or to, stays registered until that is
    // complete.
    void drop_but_registered(StreamLines& lines);

    const uint32_t number;  // on the links
    Exposures exposures;
    OperationPool pool;
    CountedReceives counted;
    FirstFailure failure;
    uint64_t sent_straight = 0;  // long messages, from memory to memory
    uint64_t sent_copied = 0;    // and those for which an end could not register its own
    uint64_t sent_counted = 0;   // messages that are counted at peers
    bool is_used = false;        // something was sent or received
    bool is_closing = false;
    bool is_given_up = false;
};

}  // namespace tutti::transport::verbs
