// SPDX-License-Identifier: BSD-3-Clause
// The two ways that a call can go, and the counting of both.
#pragma once

#include "mpi/comm_state.h"
#include "mpi/front.h"
#include "mpi/host_calls.h"
#include "mpi/preparation.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

// Lets the communicator's error handler decide about an error. A handler may free the communicator,
// and its state with it: each call does this last, and reads nothing of the state afterwards.
int answer(Comm comm, int status);
// Says why Tutti could not run a call. Never MPI_SUCCESS.
int tell_failure(const CommState& state, tutti_status status);
inline int run_failed(const CommState& state, tutti_status status) {
    return answer(state.comm, tell_failure(state, status));
}
// A call that has ended, after so long a time in Tutti.
void count_call(CommState& state, const tutti_call& call, tutti_status status, uint64_t took_ns);
tutti_status run_and_count(CommState& state, const tutti_call& call);
// Counts the call, too.
inline tutti_status run_counted(CommState& state, const tutti_call& call) {
    if (front.asked.counts_calls) [[unlikely]]
        return run_and_count(state, call);
    return tutti_run(state.team, &call);
}

// There is no memory to pack into: says so.
Unready no_memory();
// The host could not pack: `status` is what it said.
Unready not_packed(int status);
// This rank has no memory for what it would tell of a call that the others are in.
int lacks_memory(CommState& state);

inline constexpr const char* kByTheRules = "host: the rules leave it to your MPI";
inline constexpr const char* kByLiveTuning = "host: live tuning tries it, or found it faster";
inline constexpr const char* kDoubtful = "host: doubtful arguments, for it to check";

// For the report alone; 0 without one, and on an intercommunicator, where it takes more than a
// rank to know which arguments are significant.
uint64_t reported_bytes(const CommState& state, abi::Count count, abi::Datatype type);
// 0 for a count or a datatype that the host shall judge.
uint64_t bytes_of_derived(abi::Count count, abi::Datatype type);
inline uint64_t bytes_of(abi::Count count, abi::Datatype type) {
    if (count <= 0) return 0;
    const TypeInfo* const info = front.host.types.find(type);
    return info != nullptr ? static_cast<uint64_t>(count) * info->size
                           : bytes_of_derived(count, type);
}

// `call` is a call of the host, whose error handler may free the communicator; `why` is for the
// report, which also says who comes late.
template <class HostCall>
int by_host(CommState& state, Kind kind, uint64_t bytes, const char* why, HostCall call) {
    const bool is_first = !state.settled && why == state.why;
    if (!front.asked.tells_exits && !is_first) [[likely]]
        return call();
    const InUse in_use(state);
    const Uncounted within;
    const uint64_t begin = now_ns();
    const int status = call();
    if (is_first) first_call_ended(state, status);
    const bool is_left = why == kByTheRules && state.team != nullptr;
    if (is_left && tutti_team_host_left(state.team) != 0) why = kByLiveTuning;
    if (!front.asked.report) return status;
    front.counts.calls.count(kind, state.size, bytes, why, now_ns() - begin);
    return status;
}

// A call that the rules leave to the host. Where the host finds an error in the arguments of this
// rank alone, the call has its number in the team all the same: the next one like it is this one.
template <class HandOver>
int by_the_rules(CommState& state, const tutti_call& call, HandOver hand_over) {
    const InUse in_use(state);
    const int status = hand_over(kByTheRules);
    if (state.team != nullptr && is_argument_error(status)) [[unlikely]]
        tutti_team_rejected(state.team, &call);
    return status;
}

// A call whose buffers are ready. hand_over(why) has it run by the host.
template <class HandOver>
int run(CommState& state, const tutti_call& call, HandOver hand_over) {
    const tutti_status status = run_counted(state, call);
    if (status == TUTTI_OK) [[likely]]
        return abi::kSuccess;
    return status == TUTTI_HOST ? by_the_rules(state, call, hand_over) : run_failed(state, status);
}

// Arguments that make no call, and that this host would not look at: one line, the error handler,
// and the others are told.
int refuse(CommState& state, Kind kind);

// A call of no bytes: not in the report, but it takes its number, so that ranks which disagree
// notice.
inline int run_empty(CommState& state, tutti_call& call) {
    call.send = nullptr;
    call.recv = nullptr;
    const tutti_status status = run_counted(state, call);
    return status == TUTTI_OK ? abi::kSuccess : run_failed(state, status);
}

// A call that this rank hands to the host by itself, since the host will not like its arguments.
// The host's error is all that comes of it: for the team it is no call, and the program may make it
// again.
template <class HandOver>
int by_this_rank(CommState& state, Kind kind, HandOver hand_over) {
    if (state.team != nullptr)
        return front.host.checks_arguments ? hand_over(kDoubtful) : refuse(state, kind);
    // A host that looks at arguments rejects it, and it is none of the first calls, whatever the
    // host answers: MPICH 5 says MPI_SUCCESS behind an error handler.
    return hand_over(front.host.checks_arguments ? kDoubtful : state.why);
}

// MPI_SUCCESS where the ranks agree, or nobody checks.
int check_foreign(const CommState& state, Kind kind);

// A call that all ranks hand to the host before Tutti has seen it: under TUTTI_CHECK they compare
// it first, and where the host then rejects it on this rank alone, not again.
template <class HostCall>
int checked_by_host(CommState& state, Kind kind, HostCall call) {
    if (!front.asked.check) [[likely]]
        return call();
    const InUse in_use(state);
    const int checked = check_foreign(state, kind);
    if (checked != abi::kSuccess) return checked;
    const int status = call();
    if (state.team != nullptr && is_argument_error(status)) {
        tutti_team_rejected_foreign(state.team, kind_function(kind));
    }
    return status;
}

}  // namespace tutti::mpi
