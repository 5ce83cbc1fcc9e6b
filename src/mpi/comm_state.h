// SPDX-License-Identifier: BSD-3-Clause
// What Tutti keeps with a communicator, as an attribute of it: the team, or why there is none.
#pragma once

#include <cstdint>

#include "mpi/abi/abi.h"
#include "mpi/front.h"
#include "mpi/pack.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

struct CommState {
    tutti_team* team = nullptr;
    const char* why = nullptr;  // without a team: why the host runs this call; stays valid
    uint32_t rank = 0;
    uint32_t size = 0;     // of the local group
    bool settled = false;  // the warm-up is over and the choice is made
    bool is_inter = false;
    bool is_attached = false;  // the host has taken it as an attribute
    uint32_t calls = 0;        // during the warm-up
    abi::Comm comm{};
    // TUTTI_VERIFY: alike on all members; 0 without a team, and so many calls of Tutti's.
    uint64_t verify_number = 0;
    uint64_t verify_calls = 0;
    // For packed data: what this rank sends, what it receives, operands of user operators. A
    // communicator has one blocking collective at a time, so these need no lock.
    Scratch send_scratch;
    Scratch recv_scratch;
    Scratch user_scratch;
    Scratch mask_scratch;
    CommState* next = nullptr;
    CommState** link = nullptr;  // whoever points here
};

// The state of a communicator; made if there is none yet. Null while Tutti is not active, inside
// the host's own calls, and for handles that are no communicator: then the host gets the call,
// uncounted.
CommState* find_state_slow(abi::Comm comm);
inline CommState* find_state(abi::Comm comm) {
    const ThreadState& thread = thread_state;
    if (thread.comm == comm &&
        thread.comm_generation == front.generation.load(std::memory_order_acquire)) [[likely]] {
        return thread.state;
    }
    return find_state_slow(comm);
}

// Counts the warm-up and makes the team when it is over. Every rank calls it for the same calls.
void settle(CommState& state);
// With a team in which each rank counts as a host of its own, if it has none yet.
void settle_apart(CommState& state);

// Beginning of each of the calls that Tutti takes over.
inline CommState* enter(abi::Comm comm) {
    CommState* state = find_state(comm);
    if (state != nullptr && !state->settled) [[unlikely]]
        settle(*state);
    return state;
}

bool create_comm_keyval();
// What there is to say about multicast, of communicators that are gone and of those that are here.
MulticastLog gather_multicasts();
// The same of messages by RDMA.
VerbsLog gather_verbs();
// And about how data moves within nodes.
NodeLog gather_nodes();
// And about who comes late. Collective over the world, whose last samples are compared.
ArrivalLog gather_arrivals();
// And about what live tuning has tried.
TuningLog gather_tunings();
// After the host's MPI_Finalize: the states of communicators that were never freed.
void destroy_leftover_states();

}  // namespace tutti::mpi
