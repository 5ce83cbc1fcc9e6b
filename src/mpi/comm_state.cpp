// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm_state.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/host_messages.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

// The members' ranks in the world; empty where one is not in it, or the host does not say.
std::vector<int> ranks_in_world(abi::Comm comm, int size) {
    std::vector<int> ranks(static_cast<size_t>(size)), world_ranks(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    abi::Group group{}, world{};
    if (front.host.comm_group(comm, &group) != abi::kSuccess) return {};
    bool is_within = front.host.comm_group(front.host.handles.comm_world, &world) == abi::kSuccess;
    if (is_within) {
        is_within = front.host.group_translate_ranks(group, size, ranks.data(), world,
                                                     world_ranks.data()) == abi::kSuccess;
        front.host.group_free(&world);
    }
    front.host.group_free(&group);
    const bool has_all = is_within && std::find(world_ranks.begin(), world_ranks.end(),
                                                front.host.abi.undefined) == world_ranks.end();
    return has_all ? world_ranks : std::vector<int>{};
}

// One that is in no list.
void destroy_state(CommState* state) {
    // What is left behind the host's end has been reported.
    if (front.asked.report && !front.host.has_ended.load(std::memory_order_relaxed)) {
        front.communicators.keep_facts(*state);
    }
    if (state->team != nullptr) tutti_team_destroy(state->team);
    delete state;
}

int delete_state(uintptr_t, int, void* value, void*) {
    // A communicator of a session may outlive MPI_Finalize; its state does not.
    if (!front.active.load(std::memory_order_acquire)) return abi::kSuccess;
    front.communicators.defer_destruction(*static_cast<CommState*>(value));
    front.generation.fetch_add(1, std::memory_order_release);
    return abi::kSuccess;
}

// While the team is made, and in its calls when it tries multicast.
int team_allgather(void* user, const void* in, void* out, size_t bytes) {
    const auto& state = *static_cast<CommState*>(user);
    if (bytes > INT_MAX) return 1;
    const HostGuard guard;
    const int count = static_cast<int>(bytes);
    const abi::Datatype byte = front.host.handles.type[abi::kTypeByte];
    return front.host.allgather(in, count, byte, out, count, byte, state.comm) == abi::kSuccess ? 0
                                                                                                : 1;
}

CommState* attribute_of(abi::Comm comm) {
    void* value = nullptr;
    int found = 0;
    if (front.host.comm_get_attr(comm, front.own.comm_key, &value, &found) != abi::kSuccess) {
        return nullptr;
    }
    return found != 0 ? static_cast<CommState*>(value) : nullptr;
}

// Reasons that settle a communicator without asking anybody else.
void look_at(CommState& state) {
    static_cast<Members&>(state) = members_of(state.comm);
    const int size = static_cast<int>(state.size);
    if (front.host.has_fault_tolerance) {
        state.why = "host: fault tolerance (ULFM) is on";
        state.settled = true;
    } else if (state.is_inter) {
        state.why = "host: intercommunicator";
        state.settled = true;
    } else if (size == 1) {
        // The host copies at most; a team would cost memory and gain nothing.
        state.why = "host: one rank";
        state.settled = true;
    } else if (ranks_in_world(state.comm, size).empty()) {
        // Processes of another world (spawned, or connected to) may have other settings, or no
        // Tutti, and then they do not take part in making a team. Seen alike by all members, of
        // whatever world.
        state.why = "host: processes of another MPI_COMM_WORLD";
        state.settled = true;
    } else {
        state.why = "host: first calls on a communicator";
    }
}

// Before the host deletes attributes: what becomes of this one is alike on all ranks.
void forget(abi::Comm comm) {
    CommState* state = front.communicators.find(comm);
    if (state == nullptr) {
        // One whose members alone are known, as a report has them counted.
        if (front.asked.report) front.generation.fetch_add(1, std::memory_order_release);
        return;
    }
    if (state->is_attached) {
        front.host.comm_delete_attr(comm, front.own.comm_key);
        return;
    }
    front.communicators.defer_destruction(*state);
    front.generation.fetch_add(1, std::memory_order_release);
}

// Where the host does not take it, which other ranks do not see, the state counts on all the same:
// this rank has to be there when they make the team, and says then that it can have none. The host
// is asked again in each call.
CommState* attach_state(abi::Comm comm) {
    const HostGuard guard;
    CommState* state = front.communicators.find_unattached(comm);
    if (state == nullptr) {
        auto made = std::make_unique<CommState>();
        made->comm = comm;
        look_at(*made);
        state = made.release();
        front.communicators.add(*state);
    }
    if (front.host.comm_set_attr(comm, front.own.comm_key, state) == abi::kSuccess) {
        front.communicators.set_attached(*state);
    }
    return state;
}

std::string name_of(abi::Comm comm) {
    char name[abi::kObjectNameMax + 1] = {};
    int length = 0;
    if (front.host.comm_get_name(comm, name, &length) != abi::kSuccess || length <= 0) {
        return "a communicator";
    }
    return {name, static_cast<size_t>(length)};
}

// Said once for each kind of failure, by rank 0.
void explain_failure(CommState& state, tutti_status status, const char* message,
                     const std::string& name) {
    state.why = front.team_failures.keep(std::string("host: ") + message);
    if (status == TUTTI_ERR_OFF || state.rank != 0) return;
    if (!front.team_failures.is_first(status)) return;
    const std::string line = name + " stays with your MPI: " + message;
    print_line(line.c_str());
}

void make_team(CommState& state, bool is_apart) {
    const HostGuard guard;
    const std::string name = name_of(state.comm);
    tutti_team_params params{};
    params.struct_bytes = sizeof params;
    params.rank = state.rank;
    params.size = state.size;
    params.allgather = team_allgather;
    params.allgather_user = &state;
    params.name = name.c_str();
    const std::vector<int> world_ranks = ranks_in_world(state.comm, static_cast<int>(state.size));
    const std::vector<uint32_t> peers(world_ranks.begin(), world_ranks.end());
    if (front.asked.report && state.rank == 0) state.in_world = world_ranks;
    const tutti_p2p p2p = p2p_callbacks();
    params.p2p = &p2p;
    params.peers = peers.data();
    params.apart = is_apart ? 1 : 0;
    params.multicast_later = 1;
    // Its blocking collectives come in such an order, if MPI allows the program at all.
    params.in_turn = front.is_serial ? 1 : 0;
    params.cannot = state.is_attached ? 0 : 1;
    char message[512] = {};
    const tutti_status status =
        tutti_team_create(front.context, &params, &state.team, message, sizeof message);
    if (status == TUTTI_OK) {
        state.why = nullptr;
        if (front.verify.is_on) agree_on_verify_number(state);
        return;
    }
    state.team = nullptr;
    explain_failure(state, status, message[0] != '\0' ? message : tutti_status_text(status), name);
}

}  // namespace

bool is_being_freed(abi::Comm comm) {
    const FreedComm* one = thread_state.freed;
    while (one != nullptr && !(one->comm == comm)) one = one->outer;
    return one != nullptr;
}

Members members_of(abi::Comm comm) {
    int inter = 0, rank = 0, size = 0, peers = 0;
    front.host.comm_test_inter(comm, &inter);
    front.host.comm_rank(comm, &rank);
    front.host.comm_size(comm, &size);
    peers = size;
    if (inter != 0) front.host.comm_remote_size(comm, &peers);
    return {comm, static_cast<uint32_t>(rank), static_cast<uint32_t>(size),
            static_cast<uint32_t>(peers), inter != 0};
}

CommState* find_state_slow(abi::Comm comm) {
    if (!front.active.load(std::memory_order_acquire)) return nullptr;
    ThreadState& thread = thread_state;
    if (thread.host_depth != 0 ||
        !front.host.abi.may_be(abi::Named::kComm, comm.bits, front.host.handles))
        return nullptr;
    if (is_being_freed(comm)) return nullptr;
    const uint64_t generation = front.generation.load(std::memory_order_acquire);
    destroy_freed_states();
    CommState* state = attribute_of(comm);
    if (state == nullptr) state = attach_state(comm);
    if (!state->is_attached) return state;  // not to be kept: nobody says when it is gone
    thread.comm = comm;
    thread.comm_generation = generation;
    thread.state = state;
    return state;
}

void make_ready_slow(CommState& state, bool keeps_order) {
    if (!keeps_order && state.calls < front.asked.warmup_calls) return;
    make_team(state, false);
    state.settled = true;
}

// All of MPI's standard classes up to MPI_ERR_ARG name an argument, in every ABI; those behind it
// (MPI_ERR_TRUNCATE, MPI_ERR_OTHER, ...) come up once a call is under way.
bool is_argument_error(int status) {
    int error_class = 0;
    return status != abi::kSuccess &&
           front.host.error_class(status, &error_class) == abi::kSuccess &&
           error_class <= front.host.abi.err_arg;
}

void first_call_ended(CommState& state, int status) {
    if (!is_argument_error(status)) ++state.calls;
}

void settle_apart(CommState& state) {
    if (state.settled) return;
    make_team(state, true);
    state.settled = true;
}

int free_comm(void* variable, const abi::HostFunction<int(void*)>& host) {
    ThreadState& thread = thread_state;
    if (thread.host_depth != 0 || !front.active.load(std::memory_order_acquire) ||
        variable == nullptr) {
        return host(variable);
    }
    const abi::Comm comm{handle_at(variable)};
    // The host refuses to.
    if (comm == front.host.handles.comm_world || comm == front.host.handles.comm_self)
        return host(variable);
    forget(comm);
    const FreedComm freed{comm, thread.freed};
    thread.freed = &freed;
    const int status = host(variable);
    thread.freed = freed.outer;
    return status;
}

int copy_no_attribute(uintptr_t, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return abi::kSuccess;
}

bool attach_now(abi::Comm comm) { return attach_state(comm)->is_attached; }

bool create_comm_keyval() {
    return front.host.comm_create_keyval(copy_no_attribute, delete_state, &front.own.comm_key,
                                         nullptr) == abi::kSuccess;
}

// The comparison counts in what networks tell.
FactLog gather_facts() {
    const CommState* world = attribute_of(front.host.handles.comm_world);
    if (world != nullptr && world->team != nullptr) tutti_team_finish_arrivals(world->team);
    return front.communicators.facts();
}

void destroy_freed_states() {
    while (CommState* const state = front.communicators.take_freed()) destroy_state(state);
}

void destroy_leftover_states() {
    front.generation.fetch_add(1, std::memory_order_release);
    destroy_freed_states();
    while (CommState* const state = front.communicators.take_leftover()) {
        if (state->uses.load(std::memory_order_relaxed) == 0) {
            destroy_state(state);
            continue;
        }
        // MPI_Finalize from an error handler: the call that it came from still reads the state.
        if (state->team != nullptr) tutti_team_destroy(state->team);
        state->team = nullptr;
    }
}

}  // namespace tutti::mpi
