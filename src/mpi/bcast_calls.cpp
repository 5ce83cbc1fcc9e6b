// SPDX-License-Identifier: BSD-3-Clause
// Barrier and broadcast.
#include <utility>

#include "mpi/buffers.h"
#include "mpi/call.h"
#include "mpi/collective_calls.h"
#include "mpi/run_call.h"
#include "mpi/staging.h"
#include "mpi/verify.h"

namespace tutti::mpi {

namespace {

// Where the payload lies; of a datatype with gaps the root packs it, and the others unpack.
class BcastBuffer final : public Preparation {
  public:
    BcastBuffer(CommState& state, tutti_call& call, const TypedBuffer& side)
        : state_(state), call_(call), side_(side), scratch_(state.scratch) {}

    Unready before() override {
        call_.recv = side_.data();
        if (side_.contiguous(1)) return {};
        packed_ = scratch_.get(side_.bytes);
        if (packed_ == nullptr) return no_memory();
        call_.recv = packed_;
        if (!is_root()) return {};
        const int status = pack(side_.block(0), packed_, side_.count, side_.type, *side_.info);
        return status == abi::kSuccess ? Unready{} : not_packed(status);
    }

    int after(int status) override {
        if (packed_ != nullptr && status == abi::kSuccess && !is_root()) {
            status = unpack(packed_, side_.block(0), side_.count, side_.type, *side_.info);
        }
        return status;
    }

  private:
    [[nodiscard]] bool is_root() const { return state_.rank == call_.root; }

    CommState& state_;
    tutti_call& call_;
    const TypedBuffer& side_;
    CallScratch scratch_;
    std::byte* packed_ = nullptr;
};

class BcastCall final : public Call {
  public:
    BcastCall(CommState& state, const tutti_call& call, TypedBuffer&& side)
        : Call(state, call),
          side_(std::move(side)),
          staging_(state, kBcast, {state.rank == call.root ? reads(side_) : writes(side_)}),
          verified_(state, call_, {.recv = &side_}),
          buffer_(state, call_, side_) {
        needs(staging_);
        needs(verified_);
        needs(buffer_);
    }

  private:
    TypedBuffer side_;
    Staging staging_;
    Verified verified_;
    BcastBuffer buffer_;
};

[[gnu::noinline]] Ended bcast_prepared(CommState& state, const tutti_call& call,
                                       TypedBuffer& side) {
    return BcastCall(state, call, std::move(side)).run();
}

}  // namespace

int barrier(const BarrierArgs& a) {
    CommState* state = find_state(a.comm);
    if (state == nullptr) return host_barrier(a);
    make_ready(*state, false);
    const auto hand_over = [&](const char* why) {
        return by_host(*state, kBarrier, 0, why, [&] { return host_barrier(a); });
    };
    if (state->team == nullptr) return hand_over(state->why);
    tutti_call call{};
    call.collective = TUTTI_BARRIER;
    return run(*state, call, hand_over);
}

int bcast(const BcastArgs& a) {
    CommState* state = find_state(a.comm);
    if (state == nullptr) return host_bcast(a);
    const auto hand_over = [&](const char* why) {
        return by_host(*state, kBcast, reported_bytes(*state, a.count, a.type), why,
                       [&] { return host_bcast(a); });
    };
    if (has_no_team(*state)) return hand_over(state->why);
    TypedBuffer side;
    if (static_cast<uint32_t>(a.root) >= state->size || !side.set(a.buffer, a.count, a.type) ||
        !side.has_memory()) {
        return by_this_rank(*state, kBcast, hand_over);
    }
    make_ready(*state, false);
    if (state->team == nullptr) return hand_over(state->why);
    tutti_call call{};
    call.collective = TUTTI_BCAST;
    call.root = static_cast<uint32_t>(a.root);
    call.bytes = side.bytes;
    if (front.asked.check) call.dtype = side.info->told();
    if (side.bytes == 0) return run_empty(*state, call);
    if (is_plain() && side.contiguous(1)) [[likely]] {
        call.recv = side.data();
        return run(*state, call, hand_over);
    }
    const Ended ended = bcast_prepared(*state, call, side);
    return ended ? answer(a.comm, *ended) : by_the_rules(*state, call, hand_over);
}

}  // namespace tutti::mpi
