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
    uint64_t serial = 0;  // of this process; no other state has it, ever
    tutti_team* team = nullptr;
    const char* why = nullptr;  // without a team: why the host runs this call; stays valid
    uint32_t rank = 0;
    uint32_t size = 0;     // of the local group
    bool settled = false;  // the warm-up is over and the choice is made
    bool is_inter = false;
    bool is_attached = false;  // the host has taken it as an attribute
    uint32_t calls = 0;        // during the warm-up: see first_call_ended()
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
// the host's own calls, while the communicator is freed, and for handles that are no communicator:
// then the host gets the call, uncounted.
CommState* find_state_slow(abi::Comm comm);
inline CommState* find_state(abi::Comm comm) {
    const ThreadState& thread = thread_state;
    if (thread.comm == comm &&
        thread.comm_generation == front.generation.load(std::memory_order_acquire)) [[likely]] {
        return thread.state;
    }
    return find_state_slow(comm);
}

// Before a call whose arguments this rank finds right: makes the team once the warm-up is over.
// Nothing is waited for before the arguments are right: an error on one rank alone is no call, and
// the others know nothing of it. keeps_order: the result depends on the order of operands, which is
// to be the same from the first call on, so the team is made for the first such call.
void make_ready_slow(CommState& state, bool keeps_order);
inline void make_ready(CommState& state, bool keeps_order) {
    if (!state.settled) [[unlikely]]
        make_ready_slow(state, keeps_order);
}
// Nothing is going to change that.
inline bool has_no_team(const CommState& state) { return state.settled && state.team == nullptr; }
// With a team in which each rank counts as a host of its own, if it has none yet.
void settle_apart(CommState& state);

// A call that the host ran during the warm-up. It counts as one of the first calls unless the host
// found an error in its arguments: no other rank has heard of that one (docs/mpi.md). An error
// handler may have freed the communicator, so the state is looked up.
void first_call_ended(uint64_t serial, int status);
// Whether the host found the error before it told anybody of the call.
bool is_argument_error(int status);
// The state of that serial number; nullptr where its communicator has been freed.
CommState* find_living(uint64_t serial);

// MPI_Comm_free or MPI_Comm_disconnect, `host`, of the communicator in a variable of the program's.
// Delete functions of the program may call collectives on it in there. The host runs these: it has
// a last word on the order in which attributes go, which may differ between ranks.
int free_comm(void* variable, const abi::HostFunction<int(void*)>& host);

int copy_no_attribute(uintptr_t, int, void*, void*, void*, int* flag);
bool create_comm_keyval();
// Gives it a state before any other function asks for it. False where the host takes none.
bool attach_now(abi::Comm comm);
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
