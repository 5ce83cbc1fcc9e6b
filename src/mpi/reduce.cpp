// SPDX-License-Identifier: BSD-3-Clause
// Reduce, allreduce and reduce_scatter_block. MPI makes the operator and the element type equal on
// all ranks, so both may decide whether Tutti runs the call.
#include <algorithm>

#include "mpi/buffers.h"
#include "mpi/collectives.h"
#include "mpi/run.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

constexpr const char* kNoKernel = "host: this operator on this datatype";
constexpr const char* kLargeElement = "host: user operator on a large element";

// What the arguments mean on this rank.
struct Roles {
    bool receives;
    bool in_place;
    uint64_t blocks;  // that each rank gives; it gets one of them
};

// Elements with gaps under a user operator: packed on the way in and out.
[[gnu::noinline]] int reduce_packed(CommState& state, tutti_call& call, const Side& send,
                                    const Side& recv, const Roles& roles) {
    const size_t all_bytes = call.bytes * roles.blocks;
    const size_t out_bytes = roles.in_place ? all_bytes : call.bytes;
    std::byte* in = roles.in_place ? nullptr : state.send_scratch.get(all_bytes);
    std::byte* out = roles.receives ? state.recv_scratch.get(out_bytes) : nullptr;
    if ((in == nullptr && !roles.in_place) || (out == nullptr && roles.receives)) {
        return no_memory(state);
    }
    const Side& source = roles.in_place ? recv : send;
    int status = pack(source.block(0), roles.in_place ? out : in, source.count, source.type,
                      *source.info, state.comm);
    if (status != abi::kSuccess) return not_packed(state, status);
    call.send = roles.in_place ? TUTTI_IN_PLACE : in;
    call.recv = out;
    status = run(state, call);
    if (status == abi::kSuccess && roles.receives) {
        const uint64_t count = roles.in_place ? recv.count / roles.blocks : recv.count;
        status = unpack(out, recv.block(0), count, recv.type, *recv.info, state.comm);
    }
    state.send_scratch.trim();
    state.recv_scratch.trim();
    return status;
}

[[gnu::noinline]] int reduce_with_user_op(CommState& state, tutti_call& call, const ReduceArgs& a,
                                          const Side& send, const Side& recv, const Roles& roles) {
    const TypeInfo& info = *(roles.in_place ? recv.info : send.info);
    UserReduction user{};
    user.op = a.op;
    user.type = a.type;
    user.comm = a.comm;
    const size_t room = user.plan(info);
    if (room > 0) {
        user.laid_out = state.user_scratch.get(room);
        if (user.laid_out == nullptr) return no_memory(state);
    }
    call.reduce_user = &user;
    if (!info.dense) return reduce_packed(state, call, send, recv, roles);
    call.send = roles.in_place ? TUTTI_IN_PLACE : send.data();
    call.recv = roles.receives ? recv.data() : nullptr;
    return run(state, call);
}

int reduce_with_kernel(CommState& state, tutti_call& call, const Side& send, const Side& recv,
                       const Roles& roles) {
    call.send = roles.in_place ? TUTTI_IN_PLACE : send.block(0);
    call.recv = roles.receives ? recv.block(0) : nullptr;
    return run(state, call);
}

// What all ranks know alike of operator and elements.
void set_operator(tutti_call& call, const ReduceArgs& a, int op, const TypeInfo& info) {
    if (op == kUserOp) {
        call.op = TUTTI_OP_USER;
        call.dtype = TUTTI_BYTE;
        call.reduce = reduce_user;
        call.element_bytes = std::max<size_t>(info.size, 1);
        front.host.op_commutative(a.op, &call.commutes);
        return;
    }
    call.op = static_cast<tutti_op>(op);
    call.dtype = static_cast<tutti_dtype>(info.dtype);
    // A predefined operator works on C structs with their padding; MPI's size leaves that out.
    call.bytes = static_cast<size_t>(a.count) * static_cast<size_t>(info.extent);
}

// False where the host shall judge.
bool read_sides(const ReduceArgs& a, const Roles& roles, Side& send, Side& recv) {
    Count given = 0;
    if (__builtin_mul_overflow(a.count, static_cast<Count>(roles.blocks), &given)) return false;
    const TypeInfo* info = type_info(a.type);
    if (!roles.in_place && !(send.set(a.send, given, a.type, info) && send.has_memory())) {
        return false;
    }
    const Count room = roles.in_place ? given : a.count;
    return !roles.receives || (recv.set(a.recv, room, a.type, info) && recv.has_memory());
}

// Why no rank lets Tutti run this operator on this element type; null where all do.
const char* why_not(const TypeInfo& info, int op) {
    if (op == kHostOp) return kNoKernel;
    if (op == kUserOp) return info.size > TUTTI_ELEMENT_BYTES_MAX ? kLargeElement : nullptr;
    const bool has_kernel = info.dtype != kNoDtype && front.ops.reducible(info.dtype, op);
    return has_kernel ? nullptr : kNoKernel;
}

template <tutti_collective kCollective, int (*kHost)(const ReduceArgs&)>
int reduce_any(const ReduceArgs& a) {
    constexpr bool kAll = kCollective != TUTTI_REDUCE;
    constexpr bool kScatters = kCollective == TUTTI_REDUCE_SCATTER_BLOCK;
    constexpr auto kKind = static_cast<Kind>(kCollective);
    CommState* state = enter(a.comm);
    if (state == nullptr) return kHost(a);
    const auto hand_over = [&](const char* why) {
        return by_host(*state, kKind, reported_bytes(*state, a.count, a.type), why,
                       [&] { return kHost(a); });
    };
    if (state->team == nullptr) return hand_over(state->why);
    const bool receives = kAll || state->rank == static_cast<uint32_t>(a.root);
    Roles roles{receives, is_in_place(a.send), kScatters ? state->size : 1u};
    const int op = front.ops.find(a.op);
    if ((!kAll && static_cast<uint32_t>(a.root) >= state->size) || (roles.in_place && !receives) ||
        op == kNoOp) {
        return by_this_rank(*state, kKind, hand_over);
    }
    Side send, recv;
    if (!read_sides(a, roles, send, recv)) return by_this_rank(*state, kKind, hand_over);
    const TypeInfo& info = *(roles.in_place ? recv.info : send.info);
    if (const char* why = why_not(info, op)) return by_all_ranks(a.comm, kKind, why, hand_over);
    if (receives && !roles.in_place && a.send == a.recv && a.count > 0) {
        // Open MPI takes an allreduce of a buffer into itself for one in place; all else is an
        // error where the host looks, and where it does not, meant as in place.
        const bool may_alias =
            kCollective == TUTTI_ALLREDUCE && front.brand->takes_allreduce_into_itself;
        if (front.host_checks && !may_alias) return by_this_rank(*state, kKind, hand_over);
        roles.in_place = true;
        if (kScatters && !read_sides(a, roles, send, recv)) {
            return by_this_rank(*state, kKind, hand_over);
        }
    }
    tutti_call call{};
    call.collective = kCollective;
    call.root = kAll ? 0 : static_cast<uint32_t>(a.root);
    call.bytes = (roles.in_place ? recv.bytes : send.bytes) / roles.blocks;
    set_operator(call, a, op, info);
    if (call.bytes == 0) return run_empty(*state, call);
    if (is_for_host(*state, call)) {
        return by_all_ranks(a.comm, kKind, kByTheRules, hand_over);
    }
    const auto by_tutti = [&] {
        if (op == kUserOp) return reduce_with_user_op(*state, call, a, send, recv, roles);
        return reduce_with_kernel(*state, call, send, recv, roles);
    };
    if (is_plain()) [[likely]]
        return by_tutti();
    Part parts[2];
    if (!roles.in_place) parts[0] = reads(send);
    if (receives) parts[1] = {&recv, 1, 0, roles.in_place ? 1u : 0u, true};
    const Subject subject{roles.in_place ? nullptr : &send, receives ? &recv : nullptr, a.op,
                          a.type};
    return on_readable_memory(
        *state, kKind, {parts[0], parts[1]},
        [&] { return kScatters ? by_tutti() : verified(*state, call, subject, by_tutti); },
        [&](int status) { return kScatters ? status : verified_failure(*state, call, status); });
}

}  // namespace

int reduce(const ReduceArgs& a) { return reduce_any<TUTTI_REDUCE, host_reduce>(a); }

int allreduce(const ReduceArgs& a) { return reduce_any<TUTTI_ALLREDUCE, host_allreduce>(a); }

// The host does not run it again to compare (TUTTI_VERIFY).
int reduce_scatter_block(const ReduceArgs& a) {
    return reduce_any<TUTTI_REDUCE_SCATTER_BLOCK, host_reduce_scatter_block>(a);
}

}  // namespace tutti::mpi
