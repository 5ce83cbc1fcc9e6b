// SPDX-License-Identifier: BSD-3-Clause
// Counts calls that Tutti neither takes over nor compares: non-blocking and persistent collectives,
// and those among neighbours. That is for the report alone, local, and to cost some nanoseconds: no
// state of the communicator is made, and the clock is read now and then (Tally).
#pragma once

#include "mpi/front.h"
#include "mpi/host_calls.h"
#include "mpi/report.h"
#include "mpi/requests.h"

namespace tutti::mpi {

// Null where calls on it are not counted: from within the host's own, while Tutti is not active or
// the communicator is freed, and for handles that are no communicator.
KnownMembers* find_members_slow(Comm comm, KnownMembers& known);
[[gnu::always_inline]] inline KnownMembers* find_members(Comm comm) {
    ThreadState& thread = thread_state;
    if (thread.uncounted_depth != 0) [[unlikely]]
        return nullptr;
    // Fibonacci hashing: handles of communicators that are used in turn differ somewhere.
    KnownMembers& known = thread.known[comm.bits * 0x9e3779b97f4a7c15u >> 62];
    if (known.members.comm == comm &&
        known.generation == front.generation.load(std::memory_order_acquire)) [[likely]] {
        return &known;
    }
    return find_members_slow(comm, known);
}
// In the communicator's topology; in a grid also beyond its edges, where they have blocks, too.
struct Neighbors {
    uint32_t from, to;
};
Neighbors neighbors_of(const Members& members);
// As a collective among neighbours sees them: `peers` are those that this rank sends to.
Members among_neighbors(KnownMembers& known);

// Where a call of so many bytes counts.
Tally* find_tally_slow(KnownMembers& known, Kind kind, Form form, uint64_t bytes);
[[gnu::always_inline]] inline Tally* find_tally(KnownMembers& known, Kind kind, Form form,
                                                uint64_t bytes) {
    const uint32_t call = call_number(kind, form);
    if (known.call == call && known.call_bytes == bytes) [[likely]]
        return known.tally;
    return find_tally_slow(known, kind, form, bytes);
}

// Runs a call of the host, and counts it where it ends well; of a null tally nothing is counted.
template <class HostCall>
[[gnu::always_inline]] inline int run_tallied(Tally* tally, uint64_t bytes, const HostCall& call) {
    if (tally == nullptr) [[unlikely]]
        return call();
    const Uncounted within;
    const uint64_t begin_ns = tally->is_timed() ? now_ns() : 0;
    const int status = call();
    if (status != abi::kSuccess) [[unlikely]]
        return status;
    tally->add(bytes, front.is_serial);
    if (begin_ns != 0) [[unlikely]]
        tally->add_time(now_ns() - begin_ns, front.is_serial);
    return status;
}

// For a report. `request` is the program's variable for it, or nullptr. bytes(members): see
// passed_bytes.h.
template <Kind kKind, Form kForm, class Bytes, class HostCall>
[[gnu::noinline]] int count_passed(Comm comm, const void* request, const Bytes& bytes,
                                   const HostCall& call) {
    KnownMembers* const known = find_members(comm);
    if (known == nullptr) return call();
    uint64_t moved = 0;
    if constexpr (is_among_neighbors(kKind)) {
        moved = bytes(among_neighbors(*known));
    } else {
        moved = bytes(known->members);
    }
    if constexpr (kForm == Form::kInit) {
        // Nothing moves before it is started.
        const Startable start{find_tally(*known, kKind, Form::kStart, moved), moved};
        const int status = run_tallied(find_tally(*known, kKind, kForm, 0), 0, call);
        if (status == abi::kSuccess) remember_start(request, start);
        return status;
    } else {
        return run_tallied(find_tally(*known, kKind, kForm, moved), moved, call);
    }
}

}  // namespace tutti::mpi
