// SPDX-License-Identifier: BSD-3-Clause
// What Tutti keeps with a communicator, as an attribute of it: the team, or why there is none.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "mpi/abi/abi.h"
#include "mpi/call_memory.h"
#include "mpi/fact_log.h"
#include "mpi/front.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

struct CommState : Members {
    tutti_team* team = nullptr;
    const char* why = nullptr;  // without a team: why the host runs this call; stays valid
    bool settled = false;       // the warm-up is over and the choice is made
    bool is_attached = false;   // the host has taken it as an attribute
    uint32_t calls = 0;         // during the warm-up: see first_call_ended()
    // TUTTI_VERIFY: alike on all members; 0 without a team, and so many calls of Tutti's.
    uint64_t verify_number = 0;
    uint64_t verify_calls = 0;
    ScratchPool scratch;            // for packed data
    std::vector<int> in_world;      // the members' ranks, where the report of rank 0 needs them
    std::atomic<uint32_t> uses{0};  // see InUse
    CommState* next = nullptr;
    CommState** link = nullptr;  // what points here
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

// Asks the host.
Members members_of(abi::Comm comm);
// By this thread: its attributes are being deleted.
bool is_being_freed(abi::Comm comm);

// The host deletes an attribute wherever the last use of its communicator ends: within a call of
// the program's, an error handler or the host's own progress, and MPICH under a lock. So the
// callback calls nothing of the host and destroys nothing: it defers that. The next call
// on any communicator that looks a state up does the rest, as every thread's next call must, since
// the generation has changed; MPI_Finalize does it before the report; and what the host's own end
// still deletes is destroyed after that. So no more is deferred than was in use since the last
// call.
void destroy_freed_states();

// While one lives, the state of a communicator that is freed meanwhile is not destroyed.
class InUse {
  public:
    explicit InUse(CommState& state) : state_(state) { ++state_.uses; }
    ~InUse() {
        --state_.uses;
        // It may have been passed over.
        if (front.communicators.has_freed()) ++front.generation;
    }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

  private:
    CommState& state_;
};

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
// found an error in its arguments: no other rank has heard of that one (docs/mpi.md).
void first_call_ended(CommState& state, int status);
// Whether the host found the error before it told anybody of the call.
bool is_argument_error(int status);

// MPI_Comm_free or MPI_Comm_disconnect, `host`, of the communicator in a variable of the program's.
// Delete functions of the program may call collectives on it in there. The host runs these: it has
// a last word on the order in which attributes go, which may differ between ranks.
int free_comm(void* variable, const abi::HostFunction<int(void*)>& host);

int copy_no_attribute(uintptr_t, int, void*, void*, void*, int* flag);
bool create_comm_keyval();
// Gives it a state before any other function asks for it. False where the host takes none.
bool attach_now(abi::Comm comm);
// What teams tell of themselves, of freed communicators and of those still there. Collective over
// the world, which first compares its last samples of arrivals.
FactLog gather_facts();
// After the host's MPI_Finalize: the states of communicators that were never freed.
void destroy_leftover_states();

}  // namespace tutti::mpi
