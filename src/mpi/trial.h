// SPDX-License-Identifier: BSD-3-Clause
// A call of TUTTI_VERIFY on this rank: what it gives is kept before Tutti runs it, and given to the
// host afterwards; then both results are compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/collectives.h"
#include "mpi/buffers.h"
#include "mpi/call_memory.h"
#include "mpi/comm_state.h"
#include "mpi/compare.h"
#include "mpi/front.h"
#include "mpi/verify.h"
#include "tutti/tutti.h"

namespace tutti::mpi {

// Of what one rank holds of a call; more is not compared. Beside the program's own buffers a chosen
// call takes up to three times as much for as long as it lasts. Also what an int can count.
inline constexpr uint64_t kVerifiedBytesMax = uint64_t{1} << 30;

// The least or largest of all ranks' words, over the host.
int agree(const CommState& state, int mine, abi::OpName op);

class Trial {
  public:
    Trial() = default;
    virtual ~Trial() = default;
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    // Before Tutti runs: false where there is no memory for it.
    virtual bool prepare() = 0;
    // After it: false where the host could not run it.
    virtual bool run_by_host() = 0;
    virtual Comparison compare() = 0;
    [[nodiscard]] virtual size_t element_bytes() const = 0;
    // Of a vector form: how many bytes more this rank gives than it has room for.
    [[nodiscard]] virtual int64_t surplus() const { return 0; }
};

// Of blocks that are alike, or of a reduction.
class AlikeTrial final : public Trial {
  public:
    AlikeTrial(CommState& state, const tutti_call& call, const Subject& subject)
        : state_(state), call_(call), subject_(subject) {}

    bool prepare() override;
    bool run_by_host() override;
    Comparison compare() override;
    [[nodiscard]] size_t element_bytes() const override;

  private:
    // Elements of what is reduced that a rank gets, as a part of what each gives.
    struct Share {
        size_t first;
        size_t count;
    };

    [[nodiscard]] bool is_reduced() const { return is_reduction(call_.collective); }
    [[nodiscard]] bool is_root() const { return state_.rank == call_.root; }
    [[nodiscard]] bool has_kernel() const { return is_reduced() && call_.op != TUTTI_OP_USER; }
    // A result.
    [[nodiscard]] bool receives() const { return subject_.recv != nullptr && blocks_out() > 0; }
    // Of a reduce_scatter the host reduces all blocks for everybody, as one.
    [[nodiscard]] bool has_shares() const { return is_reduced() && has_lengths(call_.collective); }
    [[nodiscard]] Share share() const;
    // Of one block, or of all that a reduce_scatter reduces.
    [[nodiscard]] size_t bytes() const;
    // Blocks of a reduction that each rank gives; it gets one of them.
    [[nodiscard]] uint64_t reduced_blocks() const {
        return is_reduced() && !has_shares() ? blocks_in() : 1;
    }
    [[nodiscard]] size_t blocks_in() const;
    [[nodiscard]] size_t blocks_out() const;
    [[nodiscard]] size_t slice_elements() const;
    bool take(const TypedBuffer& side, uint64_t first, uint64_t elements, std::byte* to) const;
    bool take_input() const;
    bool move_by_host();
    bool reduce_by_host(const void* in, void* out, int count, abi::Datatype type, abi::Op op) const;
    bool reduce_user(const void* in, void* out, int count) const;
    bool reduce_user_by_host();
    bool reduce_narrow_by_host();
    template <class Fill>
    void fill_slices(size_t first, size_t count, size_t words, Fill fill) const;
    bool add_magnitudes(size_t first, size_t count);
    void compare_elements(Comparison& found);

    CommState& state_;
    const tutti_call& call_;
    const Subject& subject_;
    size_t out_bytes_ = 0;
    Scratch in_;     // what this rank gives
    Scratch host_;   // the host's result
    Scratch tutti_;  // Tutti's
    Scratch mine_;   // of a slice, in a wider type: this rank's
    Scratch all_;    // of all ranks
    std::byte* input_ = nullptr;
    std::byte* by_host_ = nullptr;
    std::byte* by_tutti_ = nullptr;
    double* magnitudes_ = nullptr;
    bool is_sound_ = true;  // nothing failed since the host ran it
};

}  // namespace tutti::mpi
