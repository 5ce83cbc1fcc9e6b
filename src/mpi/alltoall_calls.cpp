// SPDX-License-Identifier: BSD-3-Clause
// Alltoall: a block of every rank on both sides.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include "mpi/buffers.h"
#include "mpi/call.h"
#include "mpi/collective_calls.h"
#include "mpi/own_by_host.h"
#include "mpi/passed_bytes.h"
#include "mpi/run_call.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

// The call as this rank sees it.
struct Exchange {
    TypedBuffer send;  // in place: unset
    TypedBuffer recv;
    bool is_in_place = false;

    [[nodiscard]] const TypedBuffer& source() const { return is_in_place ? recv : send; }
    // The blocks that this rank sends have another size than the places of those that it gets.
    [[nodiscard]] bool is_odd() const { return send.bytes != recv.bytes && !is_in_place; }
    // Tutti reads where the caller's blocks lie.
    [[nodiscard]] bool reads_given(uint64_t ranks) const {
        return !is_in_place && !is_odd() && send.contiguous(ranks);
    }
    // Nothing is to be prepared. Open MPI does not look for null pointers.
    [[nodiscard]] bool is_simple(uint64_t ranks) const {
        return reads_given(ranks) && recv.contiguous(ranks) && send.data() != nullptr &&
               recv.data() != nullptr;
    }
};

// False where the host shall judge.
bool read_exchange(Exchange& e, const BlocksArgs& a) {
    if (!(e.recv.set(a.recv, a.recv_count, a.recv_type) && e.recv.has_memory())) return false;
    e.is_in_place = is_in_place(a.send);
    return e.is_in_place || (e.send.set(a.send, a.send_count, a.send_type) && e.send.has_memory());
}

// Both sides are the same bytes: what MPI_IN_PLACE is for. Equal addresses do not say so, as two
// datatypes may name different bytes from one base.
bool is_one_buffer(const Exchange& e, uint32_t ranks) {
    if (e.is_in_place || e.send.bytes == 0 || e.send.bytes != e.recv.bytes) return false;
    if (e.send.given == e.recv.given) return e.send.address == e.recv.address;
    return e.send.contiguous(ranks) && e.recv.contiguous(ranks) && e.send.data() == e.recv.data();
}

// By its arguments alone. The MPICH family finds one buffer on both sides where also the counts and
// types are equal; Open MPI runs that. It compares the sizes of both sides instead.
bool host_rejects(const Exchange& e, bool is_aliased) {
    const abi::Brand& brand = *front.host.brand;
    if (e.is_odd()) return brand.compares_alltoall_sizes;
    return is_aliased && brand.rejects_own_block && e.send.given == e.recv.given;
}

// The sizes of both sides differ.
class OddExchange final : public OwnByHost {
  public:
    OddExchange(const CommState& state, const BlocksArgs& a, const Exchange& e)
        : state_(state), a_(a), e_(e) {}

  private:
    int move() override {
        BlocksArgs own = a_;
        own.send = e_.send.block(state_.rank);
        own.recv = e_.recv.block(state_.rank);
        return host_moves_own(own, host_alltoall);
    }

    const CommState& state_;
    const BlocksArgs& a_;
    const Exchange& e_;
};

// Packs and unpacks what has gaps, and copies what would be overwritten in place.
class ExchangeBuffers final : public Preparation {
  public:
    ExchangeBuffers(CommState& state, tutti_call& call, const Exchange& e)
        : state_(state),
          call_(call),
          e_(e),
          send_scratch_(state.scratch),
          recv_scratch_(state.scratch),
          block_scratch_(state.scratch) {}

    Unready before() override {
        size_t bytes = 0;
        if (__builtin_mul_overflow(call_.bytes, size_t{state_.size}, &bytes)) return no_memory();
        const bool reads_given = e_.reads_given(state_.size);
        is_unpacked_ = !e_.recv.contiguous(state_.size);
        std::byte* const in = reads_given ? e_.send.data() : send_scratch_.get(bytes);
        out_ = is_unpacked_ ? recv_scratch_.get(bytes) : e_.recv.data();
        std::byte* const one = e_.is_odd() ? block_scratch_.get(e_.send.bytes) : in;
        if (in == nullptr || out_ == nullptr || one == nullptr) return no_memory();
        const int status = reads_given   ? abi::kSuccess
                           : e_.is_odd() ? pack_odd(in, one)
                                         : pack_all(e_.source(), in);
        if (status != abi::kSuccess) return not_packed(status);
        call_.send = in;
        call_.recv = out_;
        is_ready_ = true;
        return {};
    }

    int after(int status) override {
        if (!is_ready_ || !is_unpacked_ || status != abi::kSuccess) return status;
        const TypedBuffer& recv = e_.recv;
        return unpack(out_, recv.block(0), recv.count * state_.size, recv.type, *recv.info);
    }

  private:
    [[nodiscard]] int pack_all(const TypedBuffer& side, std::byte* to) const {
        if (!side.contiguous(state_.size)) {
            return pack(side.block(0), to, side.count * state_.size, side.type, *side.info);
        }
        memcpy(to, side.data(), side.bytes * state_.size);
        return abi::kSuccess;
    }

    // What a block lacks comes from the place of the block of that rank: where all ranks have the
    // same there, it stays as it was. Its own block is there already, and comes once more. one: has
    // room for a block as it is sent.
    [[nodiscard]] int pack_odd(std::byte* to, std::byte* one) const {
        int status = pack_all(e_.recv, to);
        const TypedBuffer& send = e_.send;
        for (uint32_t i = 0; i < state_.size && status == abi::kSuccess; ++i) {
            if (i == state_.rank) continue;
            status = pack(send.block(i), one, send.count, send.type, *send.info);
            if (status != abi::kSuccess) break;
            memcpy(to + i * call_.bytes, one, std::min(send.bytes, call_.bytes));
        }
        return status;
    }

    CommState& state_;
    tutti_call& call_;
    const Exchange& e_;
    CallScratch send_scratch_;
    CallScratch recv_scratch_;
    CallScratch block_scratch_;
    std::byte* out_ = nullptr;
    bool is_unpacked_ = false;
    bool is_ready_ = false;
};

// Where the call is not plain, in place, or buffers have gaps.
class AlltoallCall final : public Call {
  public:
    AlltoallCall(CommState& state, const tutti_call& call, const BlocksArgs& a, Exchange&& e)
        : Call(state, call), a_(a), e_(std::move(e)) {
        const bool is_odd = e_.is_odd();
        stage(is_odd);
        if (is_odd) needs(odd_.emplace(state_, a_, e_));
        // Nor can what the host makes of odd sizes be compared.
        const Subject subject{e_.is_in_place ? nullptr : &e_.send, &e_.recv};
        if (call_.bytes > 0) needs(verified_.emplace(state_, call_, is_odd ? Subject{} : subject));
        needs(buffers_.emplace(state_, call_, e_));
    }
    // What Verified leaves, then what came of a block that the host moved.
    Ended run() {
        const Ended ended = Call::run();
        return odd_ ? odd_->told(ended) : ended;
    }

  private:
    void stage(bool is_odd) {
        const uint64_t ranks = state_.size;
        const Part sent = e_.is_in_place ? Part{} : reads(e_.send, ranks);
        Part received = writes(e_.recv, ranks);
        if (e_.is_in_place || is_odd) received.read_blocks = ranks;
        needs(staging_.emplace(state_, kAlltoall, std::initializer_list<Part>{sent, received}));
    }

    BlocksArgs a_;
    Exchange e_;
    std::optional<Staging> staging_;
    std::optional<OddExchange> odd_;
    std::optional<Verified> verified_;
    std::optional<ExchangeBuffers> buffers_;
};

[[gnu::noinline]] Ended alltoall_prepared(CommState& state, const tutti_call& call,
                                          const BlocksArgs& a, Exchange& e) {
    return AlltoallCall(state, call, a, std::move(e)).run();
}

}  // namespace

int alltoall(const BlocksArgs& a) {
    CommState* state = find_state(a.comm);
    if (state == nullptr) return host_alltoall(a);
    const auto hand_over = [&](const char* why) {
        const PassedBytes<kAlltoall> moved{*state};
        const uint64_t bytes = !front.asked.report
                                   ? 0
                                   : moved(a.send, a.send_count, a.send_type, a.recv, a.recv_count,
                                           a.recv_type, a.comm);
        return by_host(*state, kAlltoall, bytes, why, [&] { return host_alltoall(a); });
    };
    if (has_no_team(*state)) return hand_over(state->why);
    Exchange e;
    if (!read_exchange(e, a)) return by_this_rank(*state, kAlltoall, hand_over);
    const bool is_aliased = is_one_buffer(e, state->size);
    if (front.host.checks_arguments && host_rejects(e, is_aliased)) {
        return by_this_rank(*state, kAlltoall, hand_over);
    }
    if (is_aliased) e.is_in_place = true;
    make_ready(*state, false);
    if (state->team == nullptr) return hand_over(state->why);
    tutti_call call{};
    call.collective = TUTTI_ALLTOALL;
    call.bytes = e.recv.bytes;
    if (front.asked.check) call.dtype = e.recv.info->told();
    if (call.bytes == 0 && !e.is_odd()) return run_empty(*state, call);
    if (is_plain() && e.is_simple(state->size)) [[likely]] {
        call.send = e.send.data();
        call.recv = e.recv.data();
        return run(*state, call, hand_over);
    }
    const Ended ended = alltoall_prepared(*state, call, a, e);
    return ended ? answer(a.comm, *ended) : by_the_rules(*state, call, hand_over);
}

}  // namespace tutti::mpi
