// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/run.h"

#include <cstdio>

namespace tutti::mpi {

int run_failed(CommState& state, tutti_status status) {
    const bool has_message = status == TUTTI_ERR_MISMATCH || status == TUTTI_ERR_ALGORITHM ||
                             status == TUTTI_ERR_NETWORK || status == TUTTI_ERR_MEMORY;
    // Each rank sees its own message fail; the rest all see alike. Without the check, a mismatch is
    // what one rank has found out, which has said so.
    const bool is_alike = has_message && status != TUTTI_ERR_NETWORK;
    const bool is_said = status == TUTTI_ERR_MISMATCH && !front.check;
    if (!is_said && (state.rank == 0 || !is_alike)) {
        print_line(has_message ? tutti_team_message(state.team) : tutti_status_text(status));
    } else {
        let_rank_0_speak();
    }
    front.host.comm_call_errhandler(state.comm, front.abi.err_other);
    return front.abi.err_other;
}

int no_memory(CommState& state) {
    constexpr const char* kWhy = "no memory to pack a datatype with gaps";
    print_line(kWhy);
    tutti_team_give_up(state.team, kWhy);
    front.host.comm_call_errhandler(state.comm, front.abi.err_no_mem);
    return front.abi.err_no_mem;
}

int refuse(CommState& state, Kind kind) {
    char why[96];
    snprintf(why, sizeof why, "%s with arguments that make no call", kind_function(kind));
    tutti_team_give_up(state.team, why);
    char line[128];
    snprintf(line, sizeof line, "rank %u: %s", state.rank, why);
    print_line(line);
    front.host.comm_call_errhandler(state.comm, front.abi.err_arg);
    return front.abi.err_arg;
}

int not_packed(CommState& state, int status) {
    tutti_team_give_up(state.team, "the host MPI cannot pack its data");
    return status;
}

uint64_t reported_bytes(const CommState& state, abi::Count count, abi::Datatype type) {
    if (!front.report || state.is_inter || count <= 0) return 0;
    if (const TypeInfo* info = front.types.find(type)) {
        return static_cast<uint64_t>(count) * info->size;
    }
    abi::Count size = 0;
    if (!front.abi.may_be(abi::Named::kType, type.bits, front.handles) ||
        front.host.type_size_x(type, &size) != abi::kSuccess || size < 0) {
        return 0;
    }
    return static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
}

int run_reported(CommState& state, const tutti_call& call) {
    const char* algorithm = tutti_algorithm(state.team, &call);
    const uint64_t begin = now_ns();
    const tutti_status status = tutti_run(state.team, &call);
    const uint64_t spent = now_ns() - begin;
    if (status != TUTTI_OK) return run_failed(state, status);
    front.counters.count(static_cast<Kind>(call.collective), state.size, call.bytes, algorithm,
                         spent);
    return abi::kSuccess;
}

int check_foreign(Comm comm, Kind kind) {
    if (!front.check) return abi::kSuccess;
    CommState* state = find_state(comm);
    if (state == nullptr || state->team == nullptr) return abi::kSuccess;
    const tutti_status status = tutti_check_foreign(state->team, kind_function(kind));
    return status == TUTTI_OK ? abi::kSuccess : run_failed(*state, status);
}

}  // namespace tutti::mpi
