// SPDX-License-Identifier: BSD-3-Clause
// Gatherv, scatterv, allgatherv, alltoallv and alltoallw: blocks that differ in length. What each
// is, on which rank which side counts and what MPI_IN_PLACE means there, follows from its row in
// the table of collectives.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/collectives.h"
#include "mpi/buffers.h"
#include "mpi/call.h"
#include "mpi/collective_calls.h"
#include "mpi/own_by_host.h"
#include "mpi/passed_bytes.h"
#include "mpi/rank_blocks.h"
#include "mpi/run_call.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

struct VectorKind {
    tutti_collective collective;
    int (*host)(const VectorArgs&);
    // The host's collective that moves one block.
    int (*move_own)(const BlocksArgs&);
    uint64_t (*moved)(const Members&, const VectorArgs&);

    [[nodiscard]] const Collective& what() const { return facts(collective); }
    [[nodiscard]] bool is_between_all() const { return tutti::is_between_all(collective); }
};

// The call as this rank sees it. A side that is not significant here, or in place, is not set.
struct Sides {
    explicit Sides(CommState& state) : rank(state.rank), send(state), recv(state) {}

    uint32_t rank;
    RankBlocks send;
    RankBlocks recv;
    bool has_send = false;
    bool has_recv = false;
    // In place: what is sent is a copy of what stands in the receive buffer.
    bool is_copied = false;
    // The own block has one length where it is sent and another where it is received.
    bool is_odd = false;

    [[nodiscard]] uint32_t own(const RankBlocks& side) const {
        return side.blocks() > 1 ? rank : 0;
    }
    // Nothing is to be prepared.
    [[nodiscard]] bool is_simple() const {
        return !is_odd && !is_copied && (!has_send || send.is_direct()) &&
               (!has_recv || recv.is_direct());
    }
    [[nodiscard]] bool lack_memory() const { return send.lacks_memory() || recv.lacks_memory(); }
    // The side for which MPI_IN_PLACE is given says nothing.
    void put_in_place(const VectorKind& kind) {
        (kind.what().marked_by == MarkedBy::kSend ? has_send : has_recv) = false;
    }
};

bool read_side(RankBlocks& side, const VectorSide& given, Holds holds, uint32_t ranks) {
    return holds == Holds::kAll ? side.set_each(given, ranks) : side.set_one(given);
}

// False where the host shall judge, or there is no memory.
bool read_vector(Sides& s, const VectorKind& kind, const VectorArgs& a, const CommState& state) {
    const Collective& what = kind.what();
    const auto root = static_cast<uint32_t>(a.root);
    if (has_root(what) && root >= state.size) return false;
    s.has_send = is_on(what.input.on, state.rank, root);
    s.has_recv = is_on(what.output.on, state.rank, root);
    const void* const marker = what.marked_by == MarkedBy::kSend ? a.send.buffer : a.recv.buffer;
    if (s.has_send && s.has_recv && is_in_place(marker)) {
        s.put_in_place(kind);
        s.is_copied = what.in_place == InPlace::kCopied;
    }
    if (s.has_recv && !read_side(s.recv, a.recv, what.output.holds, state.size)) return false;
    if (s.has_send && !read_side(s.send, a.send, what.input.holds, state.size)) return false;
    return !s.is_copied || s.send.set_copy(s.recv);
}

// What is sent is what is received, byte for byte: what MPI_IN_PLACE is for. Of an alltoallv that
// is all blocks, else the own one.
bool is_aliased(const Sides& s, const VectorKind& kind) {
    if (!s.has_send || !s.has_recv) return false;
    if (kind.is_between_all()) return s.send.is_same(s.recv);
    return s.send.has_same_block(s.own(s.send), s.recv, s.own(s.recv));
}

// The MPICH family looks for it where the types are equal, and in an alltoallv the arrays of
// counts too; else where displacements in sizes, not extents, would have put the block.
bool rejects_alias(const Sides& s, const VectorKind& kind) {
    if (!front.host.brand->rejects_own_block) return false;
    const VectorSide &send = s.send.given(), &recv = s.recv.given();
    if (kind.is_between_all()) {
        return send.buffer == recv.buffer && send.counts == recv.counts && send.type == recv.type &&
               send.types == recv.types;
    }
    const bool sends_one = kind.what().input.holds == Holds::kOne;
    const VectorSide &one = sends_one ? send : recv, &all = sends_one ? recv : send;
    const auto size = static_cast<intptr_t>((sends_one ? s.send : s.recv).info()->size);
    return one.type == all.type && reinterpret_cast<intptr_t>(one.buffer) ==
                                       reinterpret_cast<intptr_t>(all.buffer) +
                                           static_cast<intptr_t>(all.offsets[s.rank]) * size;
}

// By its arguments alone. Open MPI compares what a rank sends itself in an alltoallv.
bool rejects_vector(const Sides& s, const VectorKind& kind, bool is_aliased) {
    if (!front.host.checks_arguments) return false;
    if (s.is_odd) return kind.is_between_all() && front.host.brand->compares_alltoall_sizes;
    return is_aliased && rejects_alias(s, kind);
}

// No rank has any bytes, as all know.
bool is_empty(const Sides& s, const VectorKind& kind) {
    return !has_private_lengths(kind.collective) && s.recv.all_bytes() == 0;
}

// Of the own block as the host is to move it; of no bytes where it has none.
struct OwnBlock {
    void* address = nullptr;
    Count count = 0;
    Datatype type = front.host.handles.type[abi::kTypeByte];
};
OwnBlock own_block(const RankBlocks& side, uint32_t block) {
    if (side.bytes(block) == 0) return {};
    const TypedBuffer& one = side.buffer(block);
    return {one.block(0), static_cast<Count>(one.count), one.type};
}

class OddOwnBlock final : public OwnByHost {
  public:
    OddOwnBlock(const VectorKind& kind, const Sides& s)
        : kind_(kind), send_(s.send), recv_(s.recv), from_(s.own(s.send)), to_(s.own(s.recv)) {
        sent_ = own_block(send_, from_);
        received_ = own_block(recv_, to_);
    }

  private:
    // Device memory has been staged since.
    int move() override {
        if (sent_.count > 0) sent_.address = send_.buffer(from_).block(0);
        if (received_.count > 0) received_.address = recv_.buffer(to_).block(0);
        return host_moves_own({sent_.address,
                               sent_.count,
                               sent_.type,
                               received_.address,
                               received_.count,
                               received_.type,
                               0,
                               {},
                               true},
                              kind_.move_own);
    }

    const VectorKind& kind_;
    const RankBlocks& send_;
    const RankBlocks& recv_;
    uint32_t from_;
    uint32_t to_;
    OwnBlock sent_;
    OwnBlock received_;
};

// Where the sides lie for Tutti; packs and unpacks blocks that have gaps or were staged, and copies
// what would be overwritten in place.
class VectorBuffers final : public Preparation {
  public:
    VectorBuffers(CommState& state, tutti_call& call, Sides& s, bool packs_send, bool packs_recv,
                  bool has_buffers)
        : call_(call),
          s_(s),
          packs_send_(packs_send),
          packs_recv_(packs_recv),
          has_buffers_(has_buffers),
          send_scratch_(state.scratch),
          recv_scratch_(state.scratch) {
        if (packs_send_) s_.send.close_up();
        if (packs_recv_) s_.recv.close_up();
    }

    Unready before() override {
        std::byte* const in = packs_send_ ? send_scratch_.get(s_.send.all_bytes()) : s_.send.base();
        std::byte* const out =
            packs_recv_ ? recv_scratch_.get(s_.recv.all_bytes()) : s_.recv.base();
        const bool has_in = s_.has_send || s_.is_copied;
        if (!has_buffers_ || (has_in && in == nullptr) || (s_.has_recv && out == nullptr)) {
            return no_memory();
        }
        const int status = pack(in, out);
        if (status != abi::kSuccess) return not_packed(status);
        call_.send = has_in ? in : TUTTI_IN_PLACE;
        call_.recv = s_.has_recv ? out : TUTTI_IN_PLACE;
        if (packs_recv_) packed_ = out;
        return {};
    }

    int after(int status) override {
        if (packed_ != nullptr && status == abi::kSuccess) status = s_.recv.unpack(packed_);
        return status;
    }

  private:
    [[nodiscard]] int pack(std::byte* in, std::byte* out) const {
        if (s_.is_copied) return s_.recv.pack(in, s_.send.offsets());
        if (packs_send_) return s_.send.pack(in, s_.send.offsets());
        if (!packs_recv_ || s_.has_send) return abi::kSuccess;
        // In place: this rank's own block stands among the others, and is needed packed.
        const uint32_t own = s_.own(s_.recv);
        return s_.recv.pack_block(own, out + s_.recv.offsets()[own]);
    }

    tutti_call& call_;
    Sides& s_;
    bool packs_send_;
    bool packs_recv_;
    bool has_buffers_;
    CallScratch send_scratch_;
    CallScratch recv_scratch_;
    std::byte* packed_ = nullptr;
};

// Where the call is not plain, is in place, or blocks have gaps. The sides lie with its caller.
class VectorCall final : public Call {
  public:
    VectorCall(CommState& state, const VectorKind& kind, const tutti_call& call, Sides& s)
        : Call(state, call), kind_(kind), s_(s) {
        has_buffers_ =
            (!s_.has_send || s_.send.make_buffers()) && (!s_.has_recv || s_.recv.make_buffers());
        if (has_buffers_) {
            stage();
            if (s_.is_odd) leave_own_to_host();
        }
        compare();
        const bool is_staged = staging_ && staging_->is_needed();
        const bool packs_send =
            s_.is_copied || (s_.has_send && (is_staged || !s_.send.is_direct()));
        const bool packs_recv = s_.has_recv && (is_staged || !s_.recv.is_direct());
        needs(buffers_.emplace(state_, call_, s_, packs_send, packs_recv, has_buffers_));
    }
    // What the others leave, then what came of a block that the host moved.
    Ended run() {
        const Ended ended = Call::run();
        return odd_ ? odd_->told(ended) : ended;
    }

  private:
    void stage() {
        const auto function = static_cast<Kind>(kind_.collective);
        needs(staging_.emplace(state_, function, s_.send.blocks() + size_t{s_.recv.blocks()}));
        for (uint32_t i = 0; s_.has_send && i < s_.send.blocks(); ++i) {
            staging_->add(reads(s_.send.buffer(i)));
        }
        // In place a rank's own block stands where it receives, or all that it sends.
        for (uint32_t i = 0; s_.has_recv && i < s_.recv.blocks(); ++i) {
            const bool is_own = i == s_.own(s_.recv) && (!s_.has_send || s_.is_odd);
            const bool is_input = s_.is_copied || (is_own && !is_dealt(kind_.collective));
            Part part = writes(s_.recv.buffer(i));
            if (is_input || (is_own && s_.is_odd)) part.read_blocks = 1;
            staging_->add(part);
        }
    }

    // What the host makes of an odd block cannot be compared. Nor is a call of no bytes, as all
    // know.
    void compare() {
        if (is_empty(s_, kind_)) return;
        Subject subject;
        if (has_buffers_ && !s_.is_odd) {
            if (s_.has_send) subject.sent = &s_.send;
            if (s_.has_recv) subject.received = &s_.recv;
        }
        needs(verified_.emplace(state_, call_, subject));
    }

    // The call goes on as one in place, or of no own block.
    void leave_own_to_host() {
        needs(odd_.emplace(kind_, s_));
        if (kind_.is_between_all()) {
            s_.send.leave_out(s_.rank);
            s_.recv.leave_out(s_.rank);
        } else {
            s_.put_in_place(kind_);
        }
    }

    const VectorKind& kind_;  // static
    Sides& s_;
    bool has_buffers_ = false;
    std::optional<Staging> staging_;
    std::optional<OddOwnBlock> odd_;
    std::optional<Verified> verified_;
    std::optional<VectorBuffers> buffers_;
};

[[gnu::noinline]] Ended vector_prepared(CommState& state, const VectorKind& kind,
                                        const tutti_call& call, Sides& s) {
    return VectorCall(state, kind, call, s).run();
}

// Of elements that are moved, as far as all ranks that move any have the same type: not where a
// rank knows its partners' blocks alone.
tutti_dtype told_type(const Sides& s, const VectorKind& kind) {
    const RankBlocks& side = s.has_recv ? s.recv : s.send;
    return kind.is_between_all() || side.all_bytes() == 0 ? TUTTI_BYTE : side.info()->told();
}

// What all sides say together; the arrays stay the sides'.
tutti_blocks told_blocks(const Sides& s, const VectorKind& kind) {
    tutti_blocks blocks{};
    if (kind.what().input.holds == Holds::kAll && (s.has_send || s.is_copied)) {
        blocks.send_bytes = s.send.lengths();
        blocks.send_offsets = s.send.offsets();
    }
    if (kind.what().output.holds == Holds::kAll && s.has_recv) {
        blocks.recv_bytes = s.recv.lengths();
        blocks.recv_offsets = s.recv.offsets();
    }
    return blocks;
}

// The own block of a gatherv or scatterv; at the root its place among all.
uint64_t told_bytes(const Sides& s, const VectorKind& kind) {
    if (!has_root(kind.collective)) return 0;
    const bool sends_one = kind.what().input.holds == Holds::kOne;
    const bool has_all = sends_one ? s.has_recv : s.has_send;
    const RankBlocks& side = has_all == sends_one ? s.recv : s.send;
    return side.bytes(s.own(side));
}

int vector_any(const VectorKind& kind, const VectorArgs& a) {
    CommState* state = find_state(a.comm);
    if (state == nullptr) return kind.host(a);
    const auto function = static_cast<Kind>(kind.collective);
    const auto hand_over = [&](const char* why) {
        const uint64_t bytes = front.asked.report ? kind.moved(*state, a) : 0;
        return by_host(*state, function, bytes, why, [&] { return kind.host(a); });
    };
    if (has_no_team(*state)) return hand_over(state->why);
    Sides s(*state);
    if (!read_vector(s, kind, a, *state)) {
        if (s.lack_memory()) return lacks_memory(*state);
        return by_this_rank(*state, function, hand_over);
    }
    const bool is_alias = is_aliased(s, kind);
    s.is_odd =
        s.has_send && s.has_recv && s.send.bytes(s.own(s.send)) != s.recv.bytes(s.own(s.recv));
    if (rejects_vector(s, kind, is_alias)) return by_this_rank(*state, function, hand_over);
    if (is_alias) {
        s.put_in_place(kind);
        s.is_copied = kind.is_between_all();
        if (s.is_copied && !s.send.set_copy(s.recv)) return lacks_memory(*state);
    }
    make_ready(*state, false);
    if (state->team == nullptr) return hand_over(state->why);
    const tutti_blocks blocks = told_blocks(s, kind);
    tutti_call call{};
    call.collective = kind.collective;
    call.root = has_root(kind.collective) ? static_cast<uint32_t>(a.root) : 0;
    call.bytes = told_bytes(s, kind);
    call.blocks = &blocks;
    if (front.asked.check) call.dtype = told_type(s, kind);
    if (is_empty(s, kind) && !s.is_odd) return run_empty(*state, call);
    if (is_plain() && s.is_simple()) [[likely]] {
        call.send = s.has_send ? s.send.base() : TUTTI_IN_PLACE;
        call.recv = s.has_recv ? s.recv.base() : TUTTI_IN_PLACE;
        return run(*state, call, hand_over);
    }
    const Ended ended = vector_prepared(*state, kind, call, s);
    return ended ? answer(a.comm, *ended) : by_the_rules(*state, call, hand_over);
}

// PassedBytes of the arguments as MPI has them.
template <Kind kKind>
uint64_t moved_to_root(const Members& members, const VectorArgs& a) {
    const VectorSide &send = a.send, &recv = a.recv;
    const PassedBytes<kKind> moved{members};
    if constexpr (kKind == kScatterv) {
        return moved(send.buffer, send.counts, send.offsets, send.type, recv.buffer, recv.count,
                     recv.type, a.root, a.comm);
    } else {
        return moved(send.buffer, send.count, send.type, recv.buffer, recv.counts, recv.offsets,
                     recv.type, a.root, a.comm);
    }
}
uint64_t moved_to_all(const Members& members, const VectorArgs& a) {
    return PassedBytes<kAllgatherv>{members}(a.send.buffer, a.send.count, a.send.type,
                                             a.recv.buffer, a.recv.counts, a.recv.offsets,
                                             a.recv.type, a.comm);
}
uint64_t moved_between(const Members& members, const VectorArgs& a) {
    return PassedBytes<kAlltoallv>{members}(a.send.buffer, a.send.counts, a.send.offsets,
                                            a.send.type, a.recv.buffer, a.recv.counts,
                                            a.recv.offsets, a.recv.type, a.comm);
}
uint64_t moved_by_type(const Members& members, const VectorArgs& a) {
    return PassedBytes<kAlltoallw>{members}(a.send.buffer, a.send.counts, a.send.offsets,
                                            a.send.types, a.recv.buffer, a.recv.counts,
                                            a.recv.offsets, a.recv.types, a.comm);
}

}  // namespace

int gatherv(const VectorArgs& a) {
    static constexpr VectorKind kVector{TUTTI_GATHERV, host_gatherv, host_gather,
                                        moved_to_root<kGatherv>};
    return vector_any(kVector, a);
}

int scatterv(const VectorArgs& a) {
    static constexpr VectorKind kVector{TUTTI_SCATTERV, host_scatterv, host_scatter,
                                        moved_to_root<kScatterv>};
    return vector_any(kVector, a);
}

int allgatherv(const VectorArgs& a) {
    static constexpr VectorKind kVector{TUTTI_ALLGATHERV, host_allgatherv, host_allgather,
                                        moved_to_all};
    return vector_any(kVector, a);
}

int alltoallv(const VectorArgs& a) {
    static constexpr VectorKind kVector{TUTTI_ALLTOALLV, host_alltoallv, host_alltoall,
                                        moved_between};
    return vector_any(kVector, a);
}

int alltoallw(const VectorArgs& a) {
    static constexpr VectorKind kVector{TUTTI_ALLTOALLW, host_alltoallw, host_alltoall,
                                        moved_by_type};
    return vector_any(kVector, a);
}

}  // namespace tutti::mpi
