// SPDX-License-Identifier: BSD-3-Clause
// The one global of the front end: a preloaded library has no other place to keep what it knows
// about its process. It is constant-initialised and trivially destroyed, so that loading the
// library into a shell or an interpreter runs nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mpi/abi/abi.h"
#include "mpi/communicators.h"
#include "mpi/device/runtime_watch.h"
#include "mpi/host_mpi.h"
#include "mpi/presence_mail.h"
#include "mpi/report.h"
#include "mpi/team_failures.h"
#include "mpi/types.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

struct CommState;

// What a rank knows of a communicator by itself: enough to count its calls.
struct Members {
    abi::Comm comm{};
    uint32_t rank = 0;
    uint32_t size = 0;   // of the local group
    uint32_t peers = 0;  // ranks that this one exchanges blocks with: between groups, the others
    bool is_inter = false;
};

// Of a communicator that a thread has used lately.
struct KnownMembers {
    static constexpr uint32_t kNotAsked = UINT32_MAX;

    Members members;
    uint32_t neighbors;   // that this rank sends to, in its topology; or kNotAsked
    uint64_t generation;  // 0: nothing cached
    // Its last call that was counted here. Kind and form as one number, and where it counts.
    uint32_t call;
    uint64_t call_bytes;
    Tally* tally;  // null: nowhere
};

// A communicator that a thread is about to free, while the MPI does it.
struct FreedComm {
    abi::Comm comm;
    const FreedComm* outer;  // in one of whose delete functions it is freed
};

// For the report: what this rank staged because it was device memory.
struct StagedCounters {
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<const char*> runtime{nullptr};
};

// What became of the chosen calls of TUTTI_VERIFY; each is counted by its communicator's rank 0.
struct VerifyCounters {
    std::atomic<uint64_t> calls{0};  // also those that were not chosen
    std::atomic<uint64_t> equal{0};
    std::atomic<uint64_t> different{0};
    std::atomic<uint64_t> undecided{0};  // bits differ, and nobody can tell which are right
    std::atomic<uint64_t> skipped{0};    // too large, or no memory
    std::atomic<uint64_t> failed{0};     // the call itself ended with an error
};

// What TUTTI_CHECK and TUTTI_STALL find on this rank: see CheckTotals and StallTotals.
struct WatchCounters {
    std::atomic<uint64_t> compared{0};
    std::atomic<uint64_t> different{0};
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> stalls{0};
    std::atomic<uint64_t> longest_ns{0};
};

struct Verification {
    bool is_on = false;
    double share = 0;
    uint64_t seed = 0;
    const char* settings = "";  // to repeat the run with
    std::atomic<uint32_t> lines{0};
    std::atomic<uint32_t> communicators{0};  // that this rank has numbered
    VerifyCounters counters;
};

// What the settings of this run ask of its calls.
struct Asked {
    bool check = false;         // TUTTI_CHECK
    bool report = false;        // TUTTI_REPORT
    bool counts_calls = false;  // for one of these, or TUTTI_STALL
    bool tunes_live = false;    // TUTTI_TUNE
    bool tells_exits = false;   // the ends of the host's own collectives are wanted
    uint32_t warmup_calls = 0;  // TUTTI_WARMUP
    double stall_s = 0;         // TUTTI_STALL; 0: never
};

// What this rank counts, for the report and the lines at the end.
struct Counts {
    uint64_t begin_ns = 0;  // the end of MPI_Init
    Counters calls;
    StagedCounters staged;
    WatchCounters watched;
};

struct Requests;

struct Front {
    // Calls look at these first.
    std::atomic<bool> active{false};  // between MPI_Init and the end of MPI_Finalize, unless off
    bool is_serial = false;           // the program calls MPI from one thread at a time
    Asked asked;
    // Raised whenever a communicator or a datatype loses its attribute: caches of older generations
    // may name an object that is gone, whose handle the host has given to another.
    std::atomic<uint64_t> generation{1};

    Communicators communicators;
    std::mutex mutex;  // creation of attributes; never held while a peer is waited for
    HostMpi host;
    OwnObjects own;
    World world;
    tutti_context* context = nullptr;
    // Here, since the host may read and write it until its end.
    Presence presence;
    HostMail mail;

    TeamFailures team_failures;
    device::Watch devices;
    Counts counts;
    Verification verify;
    std::atomic<Requests*> requests{nullptr};  // see requests.h; null: there is none to know
};

extern Front front;

// What the libraries of a job compare; one place in the file, of one length.
extern const char kLibraryVersion[64];

// What this thread used last, and whether it is inside the host on Tutti's behalf.
struct ThreadState {
    abi::Comm comm;
    uint64_t comm_generation;  // 0: nothing cached
    CommState* state;
    abi::Datatype type;
    uint64_t type_generation;
    const TypeInfo* info;
    const FreedComm* freed;  // the innermost; null: none
    uint32_t host_depth;
    uint32_t uncounted_depth;  // see Uncounted
    KnownMembers known[4];
};

extern thread_local constinit ThreadState thread_state;

// While one lives, in a call that is counted, calls from within are not counted: a host may make
// one collective by calling another by its name. Those that Tutti takes over run as always.
class Uncounted {
  public:
    Uncounted() { ++thread_state.uncounted_depth; }
    ~Uncounted() { --thread_state.uncounted_depth; }
    Uncounted(const Uncounted&) = delete;
    Uncounted& operator=(const Uncounted&) = delete;
};

// While one lives, collectives that the host calls from within go straight to the host.
class HostGuard {
  public:
    // What this thread had cached is right again afterwards: from within nothing is cached.
    HostGuard() : generation_(thread_state.comm_generation) {
        ++thread_state.host_depth;
        thread_state.comm_generation = 0;
    }
    ~HostGuard() {
        --thread_state.host_depth;
        thread_state.comm_generation = generation_;
    }
    HostGuard(const HostGuard&) = delete;
    HostGuard& operator=(const HostGuard&) = delete;

  private:
    Uncounted uncounted_;
    uint64_t generation_;
};

// The handle in a variable of the program's, or at a place of an array of them: an int or a
// pointer.
inline uintptr_t handle_at(const void* variables, size_t index = 0) {
    if (!front.host.abi.handles_are_ints) return static_cast<const uintptr_t*>(variables)[index];
    return static_cast<const uint32_t*>(variables)[index];
}

inline abi::Status* status_ignore() {
    return reinterpret_cast<abi::Status*>(front.host.abi.status_ignore);
}

// At the first call: finds the host MPI of this process and its ABI, and leads all names to where
// they go from now on (export_slots.h). Where the host is one that Tutti cannot take over, one line
// is said, and every call goes on to whom it would have gone without Tutti. Ends the process with
// one line if there is no MPI: an MPI function was called, so there is no way to go on.
void pick_host();

// What the program would have called by that name without Tutti; null in a process without MPI.
void* function_behind(const char* name);

// For a name that the host does not have: ends the process with one line.
[[noreturn]] void no_such_function(const char* name);

// One line to standard error, "tutti: ..." in front, in one write.
void print_line(const char* text);

// TUTTI=off in this process. For words alone: what holds is rank 0's.
bool is_off_here();

// For ranks that leave the speaking to rank 0 and are about to end the job: the launcher kills
// whoever has not yet spoken once a rank is gone, so rank 0 gets a head start. There is no other
// way to order the two where no rank may wait for another.
void let_rank_0_speak();

}  // namespace tutti::mpi
