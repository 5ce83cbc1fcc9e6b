// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/run_call.h"

#include <cstdio>
#include <numeric>

#include "base/collectives.h"
#include "mpi/watches.h"

namespace tutti::mpi {

int tell_failure(const CommState& state, tutti_status status) {
    const bool has_message = status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_ALGORITHM ||
                             status == TUTTI_ERR_NETWORK || status == TUTTI_ERR_MEMORY ||
                             status == TUTTI_ERR_SYSTEM;
    // Each rank sees its own message fail; the rest all see alike. Without the check, a mismatch is
    // what one rank has found out, which has said so.
    const bool is_alike = has_message && status != TUTTI_ERR_NETWORK;
    const bool is_said = status == TUTTI_ERR_MISMATCH && !front.asked.check;
    if (!is_said && (state.rank == 0 || !is_alike)) {
        print_line(has_message ? tutti_team_message(state.team) : tutti_status_text(status));
    } else {
        let_rank_0_speak();
    }
    return front.host.abi.err_other;
}

int answer(Comm comm, int status) {
    if (status != abi::kSuccess) front.host.comm_call_errhandler(comm, status);
    return status;
}

Unready no_memory() {
    constexpr const char* kWhy = "no memory to pack a datatype with gaps";
    print_line(kWhy);
    return {front.host.abi.err_no_mem, kWhy};
}

Unready not_packed(int status) { return {status, "your MPI cannot pack its data"}; }

int lacks_memory(CommState& state) {
    const Unready unready = no_memory();
    make_ready(state, false);
    if (state.team != nullptr) tutti_team_give_up(state.team, unready.why);
    return answer(state.comm, unready.status);
}

int refuse(CommState& state, Kind kind) {
    char why[96];
    snprintf(why, sizeof why, "%s with arguments that make no call", kind_function(kind));
    tutti_team_give_up(state.team, why);
    char line[128];
    snprintf(line, sizeof line, "rank %u: %s", state.rank, why);
    print_line(line);
    return answer(state.comm, front.host.abi.err_arg);
}

uint64_t reported_bytes(const CommState& state, abi::Count count, abi::Datatype type) {
    return front.asked.report && !state.is_inter ? bytes_of(count, type) : 0;
}

uint64_t bytes_of_derived(abi::Count count, abi::Datatype type) {
    abi::Count size = 0;
    if (!front.host.abi.may_be(abi::Named::kType, type.bits, front.host.handles) ||
        front.host.type_size_x(type, &size) != abi::kSuccess || size < 0) {
        return 0;
    }
    return static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
}

static uint64_t sum(const uint64_t* bytes, uint32_t ranks) {
    return std::accumulate(bytes, bytes + ranks, uint64_t{0});
}

// As calls of the host are counted (passed_bytes.h): of an alltoall all that a rank sends, of a
// vector form the blocks of all, where this rank knows them. A root's own block that stays in place
// does not move.
static uint64_t counted_bytes(const CommState& state, const tutti_call& call) {
    const tutti_blocks* const blocks = call.blocks;
    if (blocks == nullptr) {
        return is_between_all(call.collective) ? call.bytes * uint64_t{state.size} : call.bytes;
    }
    const bool is_all_sent = blocks->send_bytes != nullptr;
    const uint64_t* const bytes = is_all_sent ? blocks->send_bytes : blocks->recv_bytes;
    if (bytes == nullptr) return call.bytes;
    const void* const own = is_all_sent ? call.recv : call.send;
    const bool is_unmoved = has_root(call.collective) && own == TUTTI_IN_PLACE;
    return sum(bytes, state.size) - (is_unmoved ? bytes[state.rank] : 0);
}

void count_call(CommState& state, const tutti_call& call, tutti_status status, uint64_t took_ns) {
    note_watched(state, status, took_ns);
    if (!front.asked.report || status != TUTTI_OK) return;
    const uint64_t bytes = counted_bytes(state, call);
    // Others may have bytes where a rank knows its own alone.
    const bool is_counted =
        bytes > 0 || call.collective == TUTTI_BARRIER || has_private_lengths(call.collective);
    if (!is_counted) return;
    front.counts.calls.count(static_cast<Kind>(call.collective), state.size, bytes,
                             tutti_team_ran(state.team), took_ns);
}

tutti_status run_and_count(CommState& state, const tutti_call& call) {
    const uint64_t begin = now_ns();
    const tutti_status status = tutti_run(state.team, &call);
    count_call(state, call, status, now_ns() - begin);
    return status;
}

int check_foreign(const CommState& state, Kind kind) {
    if (state.team == nullptr) return abi::kSuccess;
    const tutti_status status = tutti_check_foreign(state.team, kind_function(kind));
    note_compared(state, status);
    return status == TUTTI_OK ? abi::kSuccess : run_failed(state, status);
}

}  // namespace tutti::mpi
