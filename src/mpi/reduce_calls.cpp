// SPDX-License-Identifier: BSD-3-Clause
// Reduce, allreduce, both reduce_scatters, scan and exscan. MPI makes the operator and the element
// type equal on all ranks, so both may decide whether Tutti runs the call.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/collectives.h"
#include "mpi/buffers.h"
#include "mpi/call.h"
#include "mpi/collective_calls.h"
#include "mpi/passed_bytes.h"
#include "mpi/rank_blocks.h"
#include "mpi/run_call.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

constexpr const char* kNoKernel = "host: this operator on this datatype";
constexpr const char* kLargeElement = "host: user operator on a large element";

// What the arguments mean on this rank.
struct Roles {
    bool receives;  // a result
    bool in_place;
    bool is_copied;  // in place, and Tutti runs it on a copy of the input
    Count given;     // elements of all that this rank gives
    Count got;       // of its result
    // The receive buffer counts. In an exscan rank 0 has no result, but may give what it gives
    // there; it is not written to.
    [[nodiscard]] bool has_recv() const { return receives || in_place; }
};

// One of a kernel lies where the element does, a user's where its data does.
std::byte* place_of(const tutti_call& call, const TypedBuffer& side) {
    return call.op == TUTTI_OP_USER ? side.data() : static_cast<std::byte*>(side.block(0));
}

void set_buffers(tutti_call& call, const TypedBuffer& send, const TypedBuffer& recv,
                 const Roles& roles) {
    call.send = roles.in_place ? TUTTI_IN_PLACE : place_of(call, send);
    call.recv = roles.has_recv() ? place_of(call, recv) : nullptr;
}

// Where the elements lie; those with gaps under a user operator are packed on the way in and out.
class ReduceBuffers final : public Preparation {
  public:
    // user: of a user operator, else nullptr.
    ReduceBuffers(CommState& state, tutti_call& call, const TypedBuffer& send,
                  const TypedBuffer& recv, const Roles& roles, UserReduction* user)
        : call_(call),
          send_(send),
          recv_(recv),
          roles_(roles),
          user_(user),
          send_scratch_(state.scratch),
          recv_scratch_(state.scratch),
          user_scratch_(state.scratch) {}

    Unready before() override {
        const TypeInfo& info = *source().info;
        if (user_ == nullptr || info.dense) {
            set_buffers(call_, send_, recv_, roles_);
            return roles_.in_place && roles_.is_copied ? copy_input() : Unready{};
        }
        user_->laid_out = user_scratch_.get(user_->plan(info));
        return user_->laid_out == nullptr ? no_memory() : pack_elements();
    }

    int after(int status) override {
        if (out_ != nullptr && roles_.receives && status == abi::kSuccess) {
            const auto count = static_cast<uint64_t>(roles_.got);
            status = unpack(out_, recv_.block(0), count, recv_.type, *recv_.info);
        }
        return status;
    }

  private:
    [[nodiscard]] const TypedBuffer& source() const { return roles_.in_place ? recv_ : send_; }

    // Without gaps.
    Unready copy_input() {
        const bool is_users = user_ != nullptr;
        const auto element = is_users ? recv_.info->size : static_cast<size_t>(recv_.info->extent);
        std::byte* const in = send_scratch_.get(static_cast<size_t>(roles_.given) * element);
        if (in == nullptr) return no_memory();
        memcpy(in, call_.recv, static_cast<size_t>(roles_.given) * element);
        call_.send = in;
        return {};
    }

    Unready pack_elements() {
        const size_t element = source().info->size;
        const size_t all_bytes = static_cast<size_t>(roles_.given) * element;
        const bool is_one = roles_.in_place && !roles_.is_copied;  // buffer
        const size_t out_bytes = is_one ? all_bytes : static_cast<size_t>(roles_.got) * element;
        std::byte* const in = is_one ? nullptr : send_scratch_.get(all_bytes);
        out_ = roles_.has_recv() ? recv_scratch_.get(out_bytes) : nullptr;
        if ((in == nullptr && !is_one) || (out_ == nullptr && roles_.has_recv())) {
            return no_memory();
        }
        call_.send = is_one ? TUTTI_IN_PLACE : in;
        call_.recv = out_;
        const int status = pack(source().block(0), is_one ? out_ : in, source().count,
                                source().type, *source().info);
        return status == abi::kSuccess ? Unready{} : not_packed(status);
    }

    tutti_call& call_;
    const TypedBuffer& send_;
    const TypedBuffer& recv_;
    const Roles& roles_;
    UserReduction* user_;
    CallScratch send_scratch_;
    CallScratch recv_scratch_;
    CallScratch user_scratch_;  // operands of a user operator
    std::byte* out_ = nullptr;  // packed
};

Part part_sent(TypedBuffer& send, const Roles& roles) {
    return roles.in_place ? Part{} : reads(send);
}
Part part_received(TypedBuffer& recv, const Roles& roles) {
    if (!roles.has_recv()) return {};
    return {&recv, 1, 0, roles.in_place ? 1u : 0u, roles.receives};
}

// With a user operator, or where the call is not plain.
class ReduceCall final : public Call {
  public:
    ReduceCall(CommState& state, const tutti_call& call, const ReduceArgs& a, TypedBuffer&& send,
               TypedBuffer&& recv, const Roles& roles)
        : Call(state, call), send_(std::move(send)), recv_(std::move(recv)), roles_(roles) {
        const bool is_users = call.op == TUTTI_OP_USER;
        if (is_users) set_user(a);
        const bool is_copied = roles.in_place && roles.is_copied;
        if (is_users && is_plain() && user_.info->dense && !is_copied) {
            set_buffers(call_, send_, recv_, roles_);
        } else {
            prepare(a, is_users ? &user_ : nullptr);
        }
    }

  private:
    void set_user(const ReduceArgs& a) {
        const TypedBuffer& elements = roles_.in_place ? recv_ : send_;
        user_.op = a.op;
        user_.type = a.type;
        user_.pack_type = elements.type;
        user_.info = elements.info;
        call_.reduce_user = &user_;
    }

    void prepare(const ReduceArgs& a, UserReduction* user) {
        const std::initializer_list<Part> parts{part_sent(send_, roles_),
                                                part_received(recv_, roles_)};
        const Subject subject{roles_.in_place ? nullptr : &send_,
                              roles_.has_recv() ? &recv_ : nullptr, a.op, a.type};
        needs(staging_.emplace(state_, static_cast<Kind>(call_.collective), parts));
        needs(verified_.emplace(state_, call_, subject));
        needs(buffers_.emplace(state_, call_, send_, recv_, roles_, user));
    }

    TypedBuffer send_;
    TypedBuffer recv_;
    Roles roles_;
    UserReduction user_{};
    std::optional<Staging> staging_;
    std::optional<Verified> verified_;
    std::optional<ReduceBuffers> buffers_;
};

[[gnu::noinline]] Ended reduce_prepared(CommState& state, const tutti_call& call,
                                        const ReduceArgs& a, TypedBuffer& send, TypedBuffer& recv,
                                        const Roles& roles) {
    return ReduceCall(state, call, a, std::move(send), std::move(recv), roles).run();
}

// What all ranks know alike of operator and elements.
void set_operator(tutti_call& call, const ReduceArgs& a, int op, const TypeInfo& info,
                  const Roles& roles) {
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
    call.bytes = static_cast<size_t>(roles.got) * static_cast<size_t>(info.extent);
}

// False where the host shall judge.
bool read_sides(const ReduceArgs& a, const Roles& roles, TypedBuffer& send, TypedBuffer& recv) {
    const TypeInfo* info = type_info(a.type);
    if (!roles.in_place && !(send.set(a.send, roles.given, a.type, info) && send.has_memory())) {
        return false;
    }
    const Count room = roles.in_place ? roles.given : roles.got;
    return !roles.has_recv() || (recv.set(a.recv, room, a.type, info) && recv.has_memory());
}

// Why no rank lets Tutti run this operator on this element type; null where all do.
const char* why_not(const TypeInfo& info, int op) {
    if (op == kHostOp) return kNoKernel;
    if (op == kUserOp) return info.size > TUTTI_ELEMENT_BYTES_MAX ? kLargeElement : nullptr;
    const bool has_kernel = info.dtype != kNoDtype && front.host.ops.reducible(info.dtype, op);
    return has_kernel ? nullptr : kNoKernel;
}

// Known alike to all ranks. A user's operator may be over floating point.
bool depends_on_order(const TypeInfo& info, int op) {
    return op == kUserOp ||
           tutti_is_exact(static_cast<tutti_dtype>(info.dtype), static_cast<tutti_op>(op)) == 0;
}

// Whether the host takes a reduction of a buffer into itself for one in place.
bool host_takes_into_itself(tutti_collective collective, const ReduceArgs& a) {
    if (!front.host.brand->takes_some_into_itself) return false;
    const bool is_bottom = a.recv == nullptr;
    return has_blocks(collective) || is_prefix(collective) ||
           (collective == TUTTI_ALLREDUCE && (a.count <= 1 || is_bottom));
}

// Whether this rank gets a result.
bool receives(tutti_collective collective, const ReduceArgs& a, const CommState& state) {
    return output_blocks(collective, state.rank, static_cast<uint32_t>(a.root), state.size) > 0;
}

// How many elements this rank gives and gets. False where the host shall judge.
template <tutti_collective kCollective>
bool set_elements(Roles& roles, const ReduceArgs& a, const CommState& state) {
    roles.got = roles.given = a.count;
    if constexpr (kCollective == TUTTI_REDUCE_SCATTER_BLOCK) {
        const auto ranks = static_cast<Count>(state.size);
        return !__builtin_mul_overflow(a.count, ranks, &roles.given);
    }
    if constexpr (kCollective == TUTTI_REDUCE_SCATTER) {
        if (a.counts == nullptr) return false;
        roles.given = 0;
        for (uint32_t i = 0; i < state.size; ++i) {
            const Count count = a.counts[i];
            if (count < 0 || __builtin_add_overflow(roles.given, count, &roles.given)) return false;
        }
        roles.got = a.counts[state.rank];
    }
    return true;
}

// Of a reduce_scatter: what Tutti is told of its blocks. False where there is no memory for that.
bool tell_blocks(tutti_call& call, tutti_blocks& told, RankBlocks& blocks, const ReduceArgs& a,
                 const TypeInfo& info, uint32_t ranks) {
    const bool is_users = call.op == TUTTI_OP_USER;
    const size_t element = is_users ? info.size : static_cast<size_t>(info.extent);
    if (!blocks.set_lengths(a.counts, ranks, element)) return false;
    told.send_bytes = blocks.lengths();
    told.send_offsets = blocks.offsets();
    call.blocks = &told;
    call.bytes = 0;
    return true;
}

template <tutti_collective kCollective>
uint64_t passed_bytes(const CommState& state, const ReduceArgs& a) {
    if constexpr (kCollective != TUTTI_REDUCE_SCATTER) {
        return reported_bytes(state, a.count, a.type);
    } else {
        const PassedBytes<kReduceScatter> moved{state};
        return front.asked.report ? moved(a.send, a.recv, a.counts, a.type, a.op, a.comm) : 0;
    }
}

// The blocks of a reduce_scatter; no other reduction has any.
template <tutti_collective kCollective>
struct Lengths {
    explicit Lengths(CommState&) {}
};
template <>
struct Lengths<TUTTI_REDUCE_SCATTER> {
    explicit Lengths(CommState& state) : blocks(state) {}
    RankBlocks blocks;
    tutti_blocks told{};
};

template <tutti_collective kCollective, int (*kHost)(const ReduceArgs&)>
int reduce_any(const ReduceArgs& a) {
    constexpr bool kHasRoot = has_root(kCollective);
    constexpr bool kHasLengths = has_lengths(kCollective);
    constexpr auto kKind = static_cast<Kind>(kCollective);
    CommState* state = find_state(a.comm);
    if (state == nullptr) return kHost(a);
    const auto hand_over = [&](const char* why) {
        return by_host(*state, kKind, passed_bytes<kCollective>(*state, a), why,
                       [&] { return kHost(a); });
    };
    if (has_no_team(*state)) return hand_over(state->why);
    Roles roles{receives(kCollective, a, *state), is_in_place(a.send), kHasLengths, 0, 0};
    const int op = front.host.ops.find(a.op);
    const bool is_root_wrong = kHasRoot && (static_cast<uint32_t>(a.root) >= state->size ||
                                            (roles.in_place && !roles.receives));
    if (is_root_wrong || op == kNoOp || !set_elements<kCollective>(roles, a, *state)) {
        return by_this_rank(*state, kKind, hand_over);
    }
    TypedBuffer send, recv;
    if (!read_sides(a, roles, send, recv)) return by_this_rank(*state, kKind, hand_over);
    const bool is_looked_at = roles.receives || kCollective == TUTTI_EXSCAN;
    if (is_looked_at && !roles.in_place && a.send == a.recv && roles.given > 0) {
        // Both have one datatype, so they are the same bytes. Where the host does not look, it is
        // meant as in place.
        if (front.host.checks_arguments && !host_takes_into_itself(kCollective, a)) {
            return by_this_rank(*state, kKind, hand_over);
        }
        roles.in_place = roles.receives;
        if (has_blocks(kCollective) && !read_sides(a, roles, send, recv)) {
            return by_this_rank(*state, kKind, hand_over);
        }
    }
    const TypeInfo& info = *(roles.in_place ? recv.info : send.info);
    const char* why = why_not(info, op);
    make_ready(*state, why == nullptr && depends_on_order(info, op));
    if (state->team == nullptr) return hand_over(state->why);
    if (why != nullptr) return checked_by_host(*state, kKind, [&] { return hand_over(why); });
    tutti_call call{};
    call.collective = kCollective;
    call.root = kHasRoot ? static_cast<uint32_t>(a.root) : 0;
    call.bytes = static_cast<size_t>(roles.got) * info.size;
    set_operator(call, a, op, info, roles);
    Lengths<kCollective> lengths(*state);
    if constexpr (kHasLengths) {
        if (!tell_blocks(call, lengths.told, lengths.blocks, a, info, state->size)) {
            return lacks_memory(*state);
        }
    }
    const bool is_empty = kHasLengths ? roles.given == 0 || info.size == 0 : call.bytes == 0;
    if (is_empty) return run_empty(*state, call);
    if (is_plain() && op != kUserOp && !(kHasLengths && roles.in_place)) [[likely]] {
        set_buffers(call, send, recv, roles);
        return run(*state, call, hand_over);
    }
    const Ended ended = reduce_prepared(*state, call, a, send, recv, roles);
    return ended ? answer(a.comm, *ended) : by_the_rules(*state, call, hand_over);
}

}  // namespace

int reduce(const ReduceArgs& a) { return reduce_any<TUTTI_REDUCE, host_reduce>(a); }

int allreduce(const ReduceArgs& a) { return reduce_any<TUTTI_ALLREDUCE, host_allreduce>(a); }

int reduce_scatter_block(const ReduceArgs& a) {
    return reduce_any<TUTTI_REDUCE_SCATTER_BLOCK, host_reduce_scatter_block>(a);
}

int reduce_scatter(const ReduceArgs& a) {
    return reduce_any<TUTTI_REDUCE_SCATTER, host_reduce_scatter>(a);
}

int scan(const ReduceArgs& a) { return reduce_any<TUTTI_SCAN, host_scan>(a); }

int exscan(const ReduceArgs& a) { return reduce_any<TUTTI_EXSCAN, host_exscan>(a); }

}  // namespace tutti::mpi
