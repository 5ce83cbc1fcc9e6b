// SPDX-License-Identifier: BSD-3-Clause
// Gather, scatter and allgather: one block on one side, a block of every rank on the other.
#include "mpi/buffers.h"
#include "mpi/collectives.h"
#include "mpi/run.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

// The call as this rank sees it. `one` is its own block, `all` the blocks of every rank; a side
// that is not significant here stays unset.
struct Blocks {
    Side one;
    Side all;
    bool has_one = false;
    bool has_all = false;
    [[nodiscard]] size_t bytes() const { return has_all ? all.bytes : one.bytes; }
};

// The rank's own block names its place among all: what MPI_IN_PLACE is for. The MPICH family
// rejects it where it can tell; Open MPI copies the block onto itself.
bool aliases(const Blocks& b, uint32_t rank) {
    return b.has_one && b.has_all && b.one.bytes > 0 &&
           b.one.address == reinterpret_cast<intptr_t>(b.all.block(rank));
}
bool host_rejects_alias(const Blocks& b) {
    return front.brand->rejects_own_block && b.one.type == b.all.type && b.one.count == b.all.count;
}

// Sets both sides; false where the host shall judge.
bool read_blocks(Blocks& b, const void* one, Count one_count, Datatype one_type, const void* all,
                 Count all_count, Datatype all_type) {
    if (b.has_all && !(b.all.set(all, all_count, all_type) && b.all.has_memory())) {
        return false;
    }
    return !b.has_one || (b.one.set(one, one_count, one_type) && b.one.has_memory());
}

// The blocks of all ranks in one piece: the buffer itself, or packed memory.
std::byte* all_memory(CommState& state, const Side& all, Scratch& scratch) {
    if (all.contiguous(state.size)) return all.data();
    size_t bytes = 0;
    if (__builtin_mul_overflow(all.bytes, state.size, &bytes)) return nullptr;
    return scratch.get(bytes);
}
std::byte* one_memory(const Side& one, Scratch& scratch) {
    return one.contiguous(1) ? one.data() : scratch.get(one.bytes);
}

// A caller's buffer of no bytes may be null.
bool lacks_memory(const Blocks& b, const std::byte* one, const std::byte* all) {
    return b.bytes() > 0 && ((b.has_all && all == nullptr) || (b.has_one && one == nullptr));
}

int pack_side(const CommState& state, const Side& side, uint64_t blocks, std::byte* to) {
    return pack(side.block(0), to, side.count * blocks, side.type, *side.info, state.comm);
}
int unpack_side(const CommState& state, const Side& side, uint64_t blocks, const std::byte* from) {
    return unpack(from, side.block(0), side.count * blocks, side.type, *side.info, state.comm);
}

void trim(CommState& state) {
    state.send_scratch.trim();
    state.recv_scratch.trim();
}

// Gather and allgather: one block goes in, all come out where has_all.
int collect(CommState& state, tutti_call& call, const Blocks& b) {
    const bool packs_all = b.has_all && !b.all.contiguous(state.size);
    std::byte* all = b.has_all ? all_memory(state, b.all, state.recv_scratch) : nullptr;
    std::byte* one = b.has_one ? one_memory(b.one, state.send_scratch) : nullptr;
    if (lacks_memory(b, one, all)) return no_memory(state);
    int status = abi::kSuccess;
    if (b.has_one && !b.one.contiguous(1)) {
        status = pack_side(state, b.one, 1, one);
    } else if (!b.has_one && packs_all) {
        // In place: this rank's own block stands among the others and is needed packed.
        status = pack(b.all.block(state.rank), all + state.rank * b.all.bytes, b.all.count,
                      b.all.type, *b.all.info, state.comm);
    }
    if (status != abi::kSuccess) return not_packed(state, status);
    call.send = b.has_one ? one : TUTTI_IN_PLACE;
    call.recv = all;
    status = run(state, call);
    if (status == abi::kSuccess && packs_all) {
        status = unpack_side(state, b.all, state.size, all);
    }
    trim(state);
    return status;
}

// Scatter: all blocks go in at the root, one comes out.
int distribute(CommState& state, tutti_call& call, const Blocks& b) {
    const bool unpacks_one = b.has_one && !b.one.contiguous(1);
    std::byte* all = b.has_all ? all_memory(state, b.all, state.send_scratch) : nullptr;
    std::byte* one = b.has_one ? one_memory(b.one, state.recv_scratch) : nullptr;
    if (lacks_memory(b, one, all)) return no_memory(state);
    int status = abi::kSuccess;
    if (b.has_all && !b.all.contiguous(state.size)) {
        status = pack_side(state, b.all, state.size, all);
        if (status != abi::kSuccess) return not_packed(state, status);
    }
    call.send = all;
    call.recv = b.has_one ? one : TUTTI_IN_PLACE;
    status = run(state, call);
    if (status == abi::kSuccess && unpacks_one) status = unpack_side(state, b.one, 1, one);
    trim(state);
    return status;
}

struct Shape {
    tutti_collective collective;
    Kind kind;
    bool has_root;
    bool one_is_sent;  // gather and allgather; in a scatter the one is received
    int (*own)(const BlocksArgs&);
};

Part part_of_one(Blocks& b, const Shape& shape) {
    if (!b.has_one) return {};
    return shape.one_is_sent ? reads(b.one) : writes(b.one);
}
// In place, this rank's own block is what it sends.
Part part_of_all(Blocks& b, const Shape& shape, const CommState& state) {
    if (!b.has_all) return {};
    if (!shape.one_is_sent) return reads(b.all, state.size);
    return {&b.all, state.size, state.rank, b.has_one ? 0u : 1u, true};
}

// The rank's own block has another size than its place among all: nobody else has to do with that.
// The host moves it, as it would in a call of its own, and the call goes on as one in place; what
// the host says of a block that is too long is what the caller is told at last.
template <class Run>
[[gnu::noinline]] int with_odd_block(const Shape& shape, const BlocksArgs& a,
                                     const CommState& state, Blocks& b, Run run_blocks) {
    BlocksArgs own = a;
    if (shape.one_is_sent) {
        own.recv = b.all.block(state.rank);
    } else {
        own.send = b.all.block(state.rank);
    }
    const int moved = host_moves_own(own, shape.own);
    b.has_one = false;
    const int status = run_blocks();
    if (moved == abi::kSuccess || status != abi::kSuccess) return status;
    front.host.comm_call_errhandler(state.comm, moved);
    return moved;
}

// Of a gather or scatter others may have room for more, and take it for one that is verified.
int run_no_bytes(CommState& state, const Shape& shape, tutti_call& call) {
    const auto run = [&] { return run_empty(state, call); };
    return shape.has_root ? verified(state, call, {}, run) : run();
}

// On memory that the processor can read, and verified where that is due.
int run_blocks(CommState& state, const Shape& shape, tutti_call& call, Blocks& b) {
    if (call.bytes == 0) return run_no_bytes(state, shape, call);
    const intptr_t places[2] = {b.one.address, b.all.address};
    const auto by_tutti = [&] {
        // What is unpacked or copied back afterwards, is so as a whole.
        const bool is_staged = places[0] != b.one.address || places[1] != b.all.address;
        const bool has_gaps =
            (b.has_one && !b.one.contiguous(1)) || (b.has_all && !b.all.contiguous(state.size));
        call.element_bytes = is_staged || has_gaps ? call.bytes : 0;
        return shape.one_is_sent ? collect(state, call, b) : distribute(state, call, b);
    };
    if (is_plain()) [[likely]]
        return by_tutti();
    const Side* own = b.has_one ? &b.one : nullptr;
    const Side* others = b.has_all ? &b.all : nullptr;
    const Subject subject = shape.one_is_sent ? Subject{own, others} : Subject{others, own};
    const Part one_part = part_of_one(b, shape), all_part = part_of_all(b, shape, state);
    return on_readable_memory(
        state, shape.kind, {one_part, all_part},
        [&] { return verified(state, call, subject, by_tutti); },
        [&](int status) { return verified_failure(state, call, status); });
}

template <class HostCall>
int blocks_any(const Shape& shape, const BlocksArgs& a, HostCall host_call) {
    CommState* state = enter(a.comm);
    if (state == nullptr) return host_call();
    const bool at_root = !shape.has_root || state->rank == static_cast<uint32_t>(a.root);
    const void* one = shape.one_is_sent ? a.send : a.recv;
    const void* all = shape.one_is_sent ? a.recv : a.send;
    const Count one_count = shape.one_is_sent ? a.send_count : a.recv_count;
    const Count all_count = shape.one_is_sent ? a.recv_count : a.send_count;
    const Datatype one_type = shape.one_is_sent ? a.send_type : a.recv_type;
    const Datatype all_type = shape.one_is_sent ? a.recv_type : a.send_type;
    const auto hand_over = [&](const char* why) {
        const uint64_t bytes = at_root ? reported_bytes(*state, all_count, all_type)
                                       : reported_bytes(*state, one_count, one_type);
        return by_host(*state, shape.kind, bytes, why, host_call);
    };
    if (state->team == nullptr) return hand_over(state->why);
    Blocks b;
    b.has_all = at_root;
    b.has_one = !(at_root && is_in_place(one));
    if ((shape.has_root && static_cast<uint32_t>(a.root) >= state->size) ||
        !read_blocks(b, one, one_count, one_type, all, all_count, all_type)) {
        return by_this_rank(*state, shape.kind, hand_over);
    }
    if (aliases(b, state->rank)) {
        if (front.host_checks && host_rejects_alias(b))
            return by_this_rank(*state, shape.kind, hand_over);
        b.has_one = false;
    }
    tutti_call call{};
    call.collective = shape.collective;
    call.root = shape.has_root ? static_cast<uint32_t>(a.root) : 0;
    call.bytes = b.bytes();
    const bool is_odd = b.has_one && b.has_all && b.one.bytes != b.all.bytes;
    if (call.bytes == 0 && !is_odd) return run_no_bytes(*state, shape, call);
    if (is_for_host(*state, call)) {
        return by_all_ranks(a.comm, shape.kind, kByTheRules, hand_over);
    }
    const auto run_all = [&] { return run_blocks(*state, shape, call, b); };
    return is_odd ? with_odd_block(shape, a, *state, b, run_all) : run_all();
}

}  // namespace

int gather(const BlocksArgs& a) {
    static constexpr Shape kShape{TUTTI_GATHER, kGather, true, true, host_gather};
    return blocks_any(kShape, a, [&] { return host_gather(a); });
}

int scatter(const BlocksArgs& a) {
    static constexpr Shape kShape{TUTTI_SCATTER, kScatter, true, false, host_scatter};
    return blocks_any(kShape, a, [&] { return host_scatter(a); });
}

int allgather(const BlocksArgs& a) {
    static constexpr Shape kShape{TUTTI_ALLGATHER, kAllgather, false, true, host_allgather};
    return blocks_any(kShape, a, [&] { return host_allgather(a); });
}

}  // namespace tutti::mpi
