// SPDX-License-Identifier: BSD-3-Clause
// Gather, scatter and allgather: one block on one side, a block of every rank on the other.
#include <initializer_list>
#include <optional>
#include <utility>

#include "mpi/buffers.h"
#include "mpi/call.h"
#include "mpi/collective_calls.h"
#include "mpi/own_by_host.h"
#include "mpi/run_call.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

// The call as this rank sees it. `one` is its own block, `all` the blocks of every rank; a side
// that is not significant here stays unset.
struct Blocks {
    TypedBuffer one;
    TypedBuffer all;
    bool has_one = false;
    bool has_all = false;
    // The rank's own block has another size than its place among all.
    bool is_odd = false;
    [[nodiscard]] size_t bytes() const { return has_all ? all.bytes : one.bytes; }
    [[nodiscard]] bool are_contiguous(uint64_t ranks) const {
        return (!has_one || one.contiguous(1)) && (!has_all || all.contiguous(ranks));
    }
    // A caller's buffer of no bytes may be null.
    [[nodiscard]] bool lacks_memory(const std::byte* own, const std::byte* others) const {
        return bytes() > 0 && ((has_all && others == nullptr) || (has_one && own == nullptr));
    }
};

// The rank's own block lies, byte for byte, in its place among all: what MPI_IN_PLACE is for. The
// MPICH family rejects it where it can tell; Open MPI copies the block onto itself. Equal addresses
// do not say so: two datatypes may name different bytes from one base, MPI_BOTTOM as a rule. Equal
// bytes with gaps under two handles need not be found out: they are packed and unpacked.
bool aliases(const Blocks& b, uint32_t rank) {
    if (!b.has_one || !b.has_all || b.one.bytes == 0) return false;
    const auto place = reinterpret_cast<intptr_t>(b.all.block(rank));
    if (b.one.given == b.all.given) return b.one.address == place;
    return b.one.contiguous(1) && b.all.contiguous(1) &&
           b.one.address + b.one.info->true_lb == place + b.all.info->true_lb;
}
// The MPICH family looks for it where blocks of size, not extent, would have put it.
bool host_rejects_alias(const Blocks& b, uint32_t rank) {
    return front.host.brand->rejects_own_block && b.one.given == b.all.given &&
           b.one.count == b.all.count &&
           b.one.address == b.all.address + static_cast<intptr_t>(rank * b.all.bytes);
}

// Sets both sides; false where the host shall judge.
bool read_blocks(Blocks& b, const void* one, Count one_count, Datatype one_type, const void* all,
                 Count all_count, Datatype all_type) {
    if (b.has_all && !(b.all.set(all, all_count, all_type) && b.all.has_memory())) {
        return false;
    }
    return !b.has_one || (b.one.set(one, one_count, one_type) && b.one.has_memory());
}

// Packs and unpacks what has gaps. Gather and allgather: one block goes in, all come out where
// has_all. Scatter: all go in at the root, one comes out.
class BlocksBuffers final : public Preparation {
  public:
    BlocksBuffers(CommState& state, tutti_call& call, const Blocks& b, bool one_is_sent)
        : state_(state),
          call_(call),
          b_(b),
          one_is_sent_(one_is_sent),
          send_scratch_(state.scratch),
          recv_scratch_(state.scratch) {}
    Unready before() override;
    int after(int status) override;

  private:
    std::byte* memory(const TypedBuffer& side, uint64_t blocks, bool is_sent);
    int pack_sent();
    int pack(const TypedBuffer& side, uint64_t first, uint64_t blocks, std::byte* to) const {
        return mpi::pack(side.block(first), to, side.count * blocks, side.type, *side.info);
    }
    int unpack(const TypedBuffer& side, uint64_t blocks, const std::byte* from) const {
        return mpi::unpack(from, side.block(0), side.count * blocks, side.type, *side.info);
    }

    CommState& state_;
    tutti_call& call_;
    const Blocks& b_;
    bool one_is_sent_;
    CallScratch send_scratch_;
    CallScratch recv_scratch_;
    std::byte* one_ = nullptr;
    std::byte* all_ = nullptr;
    bool is_ready_ = false;
};

void set_blocks(tutti_call& call, const Blocks& b, bool one_is_sent, std::byte* one,
                std::byte* all) {
    const void* const own = b.has_one ? one : TUTTI_IN_PLACE;
    call.send = one_is_sent ? own : all;
    call.recv = one_is_sent ? all : const_cast<void*>(own);
}

// In one piece: the caller's buffer itself, or memory for a packed copy.
std::byte* BlocksBuffers::memory(const TypedBuffer& side, uint64_t blocks, bool is_sent) {
    if (side.contiguous(blocks)) return side.data();
    size_t bytes = 0;
    if (__builtin_mul_overflow(side.bytes, blocks, &bytes)) return nullptr;
    return (is_sent ? send_scratch_ : recv_scratch_).get(bytes);
}

int BlocksBuffers::pack_sent() {
    if (!one_is_sent_) {
        if (!b_.has_all || b_.all.contiguous(state_.size)) return abi::kSuccess;
        return pack(b_.all, 0, state_.size, all_);
    }
    if (b_.has_one) return b_.one.contiguous(1) ? abi::kSuccess : pack(b_.one, 0, 1, one_);
    if (!b_.has_all || b_.all.contiguous(state_.size)) return abi::kSuccess;
    // In place: this rank's own block stands among the others and is needed packed.
    return pack(b_.all, state_.rank, 1, all_ + state_.rank * b_.all.bytes);
}

Unready BlocksBuffers::before() {
    if (b_.has_all) all_ = memory(b_.all, state_.size, !one_is_sent_);
    if (b_.has_one) one_ = memory(b_.one, 1, one_is_sent_);
    if (b_.lacks_memory(one_, all_)) return no_memory();
    const int status = pack_sent();
    if (status != abi::kSuccess) return not_packed(status);
    set_blocks(call_, b_, one_is_sent_, one_, all_);
    is_ready_ = true;
    return {};
}

int BlocksBuffers::after(int status) {
    if (is_ready_ && status == abi::kSuccess) {
        const bool has_come = one_is_sent_ ? b_.has_all : b_.has_one;
        const TypedBuffer& come = one_is_sent_ ? b_.all : b_.one;
        const uint64_t blocks = one_is_sent_ ? state_.size : 1;
        if (has_come && !come.contiguous(blocks)) {
            status = unpack(come, blocks, one_is_sent_ ? all_ : one_);
        }
    }
    return status;
}

struct BlocksKind {
    tutti_collective collective;
    Kind function;
    bool has_root;
    bool one_is_sent;  // gather and allgather; in a scatter the one is received
    int (*own)(const BlocksArgs&);
};

Part part_of_one(Blocks& b, const BlocksKind& kind) {
    if (!b.has_one) return {};
    return kind.one_is_sent ? reads(b.one) : writes(b.one);
}
// In place, this rank's own block is what it sends.
Part part_of_all(Blocks& b, const BlocksKind& kind, const CommState& state) {
    if (!b.has_all) return {};
    if (!kind.one_is_sent) return reads(b.all, state.size);
    return {&b.all, state.size, state.rank, b.has_one ? 0u : 1u, true};
}

// The rank's own block has another size than its place among all. The call goes on as one in place.
class OddBlock final : public OwnByHost {
  public:
    OddBlock(const CommState& state, const BlocksKind& kind, const BlocksArgs& a, Blocks& b)
        : state_(state), kind_(kind), a_(a), b_(b) {}

  private:
    int move() override {
        BlocksArgs own = a_;
        void* const place = b_.all.block(state_.rank);
        own.send = kind_.one_is_sent ? b_.one.block(0) : place;
        own.recv = kind_.one_is_sent ? place : b_.one.block(0);
        const int moved = host_moves_own(own, kind_.own);
        b_.has_one = false;
        return moved;
    }

    const CommState& state_;
    const BlocksKind& kind_;
    const BlocksArgs& a_;
    Blocks& b_;
};

// Where the call is not plain, or buffers have gaps.
class BlocksCall final : public Call {
  public:
    BlocksCall(CommState& state, const BlocksKind& kind, const tutti_call& call,
               const BlocksArgs& a, Blocks&& b)
        : Call(state, call), kind_(kind), a_(a), b_(std::move(b)) {
        b_.is_odd ? prepare_odd() : prepare_even();
    }
    // What Verified leaves, then what came of a block that the host moved.
    Ended run() {
        const Ended ended = Call::run();
        return odd_ ? odd_->told(ended) : ended;
    }

  private:
    // Of a gather or scatter of no bytes others may have room for more, and take it for one that is
    // verified.
    void prepare_even() {
        const bool has_bytes = call_.bytes > 0;
        if (has_bytes) stage(part_of_one(b_, kind_), part_of_all(b_, kind_, state_));
        const bool has_own = b_.has_one && has_bytes;
        if (has_bytes || kind_.has_root) compare(has_own ? &b_.one : nullptr);
        if (!has_bytes) return;
        move_whole(staging_->is_needed() || !b_.are_contiguous(state_.size));
    }
    // Its own block moves within the call: what is there before is read, the rest of it stays.
    void prepare_odd() {
        Part one = part_of_one(b_, kind_), all = part_of_all(b_, kind_, state_);
        one.read_blocks = 1;
        if (kind_.one_is_sent) all.read_blocks = 1;
        stage(one, all);
        needs(odd_.emplace(state_, kind_, a_, b_));
        compare(nullptr);
        move_whole(staging_->takes(b_.all) || !b_.all.contiguous(state_.size));
    }

    void stage(const Part& one, const Part& all) {
        needs(staging_.emplace(state_, kind_.function, std::initializer_list<Part>{one, all}));
    }
    // own: nullptr where there is none, or it is not compared.
    void compare(const TypedBuffer* own) {
        const TypedBuffer* others = b_.has_all && call_.bytes > 0 ? &b_.all : nullptr;
        const Subject subject = kind_.one_is_sent ? Subject{own, others} : Subject{others, own};
        needs(verified_.emplace(state_, call_, subject));
    }
    // What is unpacked or copied back afterwards, is so as a whole.
    void move_whole(bool is_whole) {
        call_.element_bytes = is_whole ? call_.bytes : 0;
        needs(buffers_.emplace(state_, call_, b_, kind_.one_is_sent));
    }

    const BlocksKind& kind_;  // static
    BlocksArgs a_;
    Blocks b_;
    std::optional<Staging> staging_;
    std::optional<OddBlock> odd_;
    std::optional<Verified> verified_;
    std::optional<BlocksBuffers> buffers_;
};

[[gnu::noinline]] Ended blocks_prepared(CommState& state, const BlocksKind& kind,
                                        const tutti_call& call, const BlocksArgs& a, Blocks& b) {
    return BlocksCall(state, kind, call, a, std::move(b)).run();
}

template <class HostCall>
int blocks_any(const BlocksKind& kind, const BlocksArgs& a, HostCall host_call) {
    CommState* state = find_state(a.comm);
    if (state == nullptr) return host_call();
    const bool at_root = !kind.has_root || state->rank == static_cast<uint32_t>(a.root);
    const void* one = kind.one_is_sent ? a.send : a.recv;
    const void* all = kind.one_is_sent ? a.recv : a.send;
    const Count one_count = kind.one_is_sent ? a.send_count : a.recv_count;
    const Count all_count = kind.one_is_sent ? a.recv_count : a.send_count;
    const Datatype one_type = kind.one_is_sent ? a.send_type : a.recv_type;
    const Datatype all_type = kind.one_is_sent ? a.recv_type : a.send_type;
    const auto hand_over = [&](const char* why) {
        const uint64_t bytes = at_root ? reported_bytes(*state, all_count, all_type)
                                       : reported_bytes(*state, one_count, one_type);
        return by_host(*state, kind.function, bytes, why, host_call);
    };
    if (has_no_team(*state)) return hand_over(state->why);
    Blocks b;
    b.has_all = at_root;
    b.has_one = !(at_root && is_in_place(one));
    if ((kind.has_root && static_cast<uint32_t>(a.root) >= state->size) ||
        !read_blocks(b, one, one_count, one_type, all, all_count, all_type)) {
        return by_this_rank(*state, kind.function, hand_over);
    }
    if (aliases(b, state->rank)) {
        if (front.host.checks_arguments && host_rejects_alias(b, state->rank))
            return by_this_rank(*state, kind.function, hand_over);
        b.has_one = false;
    }
    make_ready(*state, false);
    if (state->team == nullptr) return hand_over(state->why);
    tutti_call call{};
    call.collective = kind.collective;
    call.root = kind.has_root ? static_cast<uint32_t>(a.root) : 0;
    call.bytes = b.bytes();
    if (front.asked.check) call.dtype = (b.has_all ? b.all : b.one).info->told();
    b.is_odd = b.has_one && b.has_all && b.one.bytes != b.all.bytes;
    std::byte* const own = b.has_one ? b.one.data() : nullptr;
    std::byte* const others = b.has_all ? b.all.data() : nullptr;
    const bool is_simple =
        !b.is_odd && b.are_contiguous(state->size) && !b.lacks_memory(own, others);
    if (is_plain() && is_simple) [[likely]] {
        if (call.bytes == 0) return run_empty(*state, call);
        set_blocks(call, b, kind.one_is_sent, own, others);
        return run(*state, call, hand_over);
    }
    const Ended ended = blocks_prepared(*state, kind, call, a, b);
    return ended ? answer(a.comm, *ended) : by_the_rules(*state, call, hand_over);
}

}  // namespace

int gather(const BlocksArgs& a) {
    static constexpr BlocksKind kBlocks{TUTTI_GATHER, kGather, true, true, host_gather};
    return blocks_any(kBlocks, a, [&] { return host_gather(a); });
}

int scatter(const BlocksArgs& a) {
    static constexpr BlocksKind kBlocks{TUTTI_SCATTER, kScatter, true, false, host_scatter};
    return blocks_any(kBlocks, a, [&] { return host_scatter(a); });
}

int allgather(const BlocksArgs& a) {
    static constexpr BlocksKind kBlocks{TUTTI_ALLGATHER, kAllgather, false, true, host_allgather};
    return blocks_any(kBlocks, a, [&] { return host_allgather(a); });
}

}  // namespace tutti::mpi
