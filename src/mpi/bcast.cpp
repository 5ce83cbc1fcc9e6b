// SPDX-License-Identifier: BSD-3-Clause
// Barrier and broadcast.
#include "mpi/buffers.h"
#include "mpi/collectives.h"
#include "mpi/run.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

// A datatype with gaps: the root packs, the others unpack.
[[gnu::noinline]] int bcast_packed(CommState& state, tutti_call& call, const Side& side) {
    std::byte* packed = state.recv_scratch.get(side.bytes);
    if (packed == nullptr) return no_memory(state);
    const bool at_root = state.rank == call.root;
    int status = abi::kSuccess;
    if (at_root) {
        status = pack(side.block(0), packed, side.count, side.type, *side.info, state.comm);
        if (status != abi::kSuccess) return not_packed(state, status);
    }
    call.recv = packed;
    status = run(state, call);
    if (status == abi::kSuccess && !at_root) {
        status = unpack(packed, side.block(0), side.count, side.type, *side.info, state.comm);
    }
    state.recv_scratch.trim();
    return status;
}

}  // namespace

int barrier(const BarrierArgs& a) {
    CommState* state = enter(a.comm);
    if (state == nullptr) return host_barrier(a);
    const auto hand_over = [&](const char* why) {
        return by_host(*state, kBarrier, 0, why, [&] { return host_barrier(a); });
    };
    if (state->team == nullptr) return hand_over(state->why);
    tutti_call call{};
    call.collective = TUTTI_BARRIER;
    if (is_for_host(*state, call)) {
        return by_all_ranks(a.comm, kBarrier, kByTheRules, hand_over);
    }
    return run(*state, call);
}

int bcast(const BcastArgs& a) {
    CommState* state = enter(a.comm);
    if (state == nullptr) return host_bcast(a);
    const auto hand_over = [&](const char* why) {
        return by_host(*state, kBcast, reported_bytes(*state, a.count, a.type), why,
                       [&] { return host_bcast(a); });
    };
    if (state->team == nullptr) return hand_over(state->why);
    Side side;
    if (static_cast<uint32_t>(a.root) >= state->size || !side.set(a.buffer, a.count, a.type) ||
        !side.has_memory()) {
        return by_this_rank(*state, kBcast, hand_over);
    }
    tutti_call call{};
    call.collective = TUTTI_BCAST;
    call.root = static_cast<uint32_t>(a.root);
    call.bytes = side.bytes;
    if (side.bytes == 0) return run_empty(*state, call);
    if (is_for_host(*state, call)) {
        return by_all_ranks(a.comm, kBcast, kByTheRules, hand_over);
    }
    const auto by_tutti = [&] {
        if (!side.contiguous(1)) return bcast_packed(*state, call, side);
        call.recv = side.data();
        return run(*state, call);
    };
    if (is_plain()) [[likely]]
        return by_tutti();
    const Part part = state->rank == call.root ? reads(side) : writes(side);
    return on_readable_memory(
        *state, kBcast, {part}, [&] { return verified(*state, call, {.recv = &side}, by_tutti); },
        [&](int status) { return verified_failure(*state, call, status); });
}

}  // namespace tutti::mpi
