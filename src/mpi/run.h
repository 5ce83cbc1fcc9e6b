// SPDX-License-Identifier: BSD-3-Clause
// The two ways that a call can go, and the counting of both.
#pragma once

#include <initializer_list>
#include <optional>

#include "mpi/comm_state.h"
#include "mpi/front.h"
#include "mpi/host_calls.h"
#include "mpi/preparation.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

// Tells why, then lets the communicator's error handler decide. Never MPI_SUCCESS.
int run_failed(CommState& state, tutti_status status);
tutti_status run_reported(CommState& state, const tutti_call& call, const uint64_t* preparing_ns);
// Counts the call, too. preparing_ns: what of the time is not the call's own, once it is over; may
// be nullptr.
inline tutti_status run_counted(CommState& state, const tutti_call& call,
                                const uint64_t* preparing_ns = nullptr) {
    if (front.report) [[unlikely]]
        return run_reported(state, call, preparing_ns);
    return tutti_run(state.team, &call);
}

// There is no memory to pack into: says so.
Unready no_memory();
// The host could not pack: `status` is what it said.
Unready not_packed(int status);
// What came of unpacking, for the caller: an error goes to its error handler.
int unpacked(const CommState& state, int status);

inline constexpr const char* kByTheRules = "host: the rules leave it to the host MPI";
inline constexpr const char* kDoubtful = "host: arguments that it shall judge";

// For the report alone; 0 without one, and on an intercommunicator, where it takes more than a
// rank to know which arguments are significant.
uint64_t reported_bytes(const CommState& state, abi::Count count, abi::Datatype type);

// `call` is a call of the host; `why` is for the report, which also says who comes late.
template <class HostCall>
int by_host(const CommState& state, Kind kind, uint64_t bytes, const char* why, HostCall call) {
    if (!front.tells_exits) [[likely]]
        return call();
    const uint64_t begin = now_ns();
    const int status = call();
    if (why == kByTheRules) tutti_team_host_left(state.team);
    if (!front.report) return status;
    front.counters.count(kind, state.size, bytes, why, now_ns() - begin);
    return status;
}

// A call whose buffers are ready. hand_over(why) has it run by the host.
template <class HandOver>
int run(CommState& state, const tutti_call& call, HandOver hand_over) {
    const tutti_status status = run_counted(state, call);
    if (status == TUTTI_OK) [[likely]]
        return abi::kSuccess;
    return status == TUTTI_HOST ? hand_over(kByTheRules) : run_failed(state, status);
}

// The status of a call; none where the rules leave it to the host.
using Ended = std::optional<int>;
// A call that needs preparations, the outermost first; each may change `call`, and the last one
// sets its buffers. nullptr is none; of none at all, the buffers are ready.
Ended run_prepared(CommState& state, tutti_call& call,
                   std::initializer_list<Preparation*> preparations);

// Arguments that make no call, and that this host would not look at: one line, the error handler,
// and the others are told.
int refuse(CommState& state, Kind kind);

// A call of no bytes: not counted, but it takes its number, so that ranks which disagree notice.
inline int run_empty(CommState& state, tutti_call& call) {
    call.send = nullptr;
    call.recv = nullptr;
    const tutti_status status = tutti_run(state.team, &call);
    return status == TUTTI_OK ? abi::kSuccess : run_failed(state, status);
}

// A call that this rank hands to the host by itself, since the host will not like its arguments. If
// it does not, the others may be in that call, and the team is told before its next one.
template <class HandOver>
int by_this_rank(CommState& state, Kind kind, HandOver hand_over) {
    if (!front.host_checks) return refuse(state, kind);
    const int status = hand_over(kDoubtful);
    if (status != abi::kSuccess) tutti_team_rejected(state.team);
    return status;
}

int check_foreign(Comm comm, Kind kind);

// A call that all ranks hand to the host before Tutti has seen it: under TUTTI_CHECK they compare
// it first.
template <class HandOver>
int by_all_ranks(Comm comm, Kind kind, const char* why, HandOver hand_over) {
    const int checked = check_foreign(comm, kind);
    return checked == abi::kSuccess ? hand_over(why) : checked;
}

// A collective that Tutti does not take over.
template <class HostCall>
int pass_through(Comm comm, Kind kind, HostCall call) {
    if (!front.report && !front.check) [[likely]]
        return call();
    // Under TUTTI_CHECK a call that is not ours makes the team too: others may be in one that is.
    const CommState* state = front.check ? enter(comm) : find_state(comm);
    if (state == nullptr) return call();
    const int checked = check_foreign(comm, kind);
    if (checked != abi::kSuccess) return checked;
    return by_host(*state, kind, 0, "host: not taken over yet", call);
}

}  // namespace tutti::mpi
