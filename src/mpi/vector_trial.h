// SPDX-License-Identifier: BSD-3-Clause
// A vector form of TUTTI_VERIFY, but for reductions: the host moves the same blocks, packed, and
// what it leaves is compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/call_memory.h"
#include "mpi/rank_blocks.h"
#include "mpi/trial.h"

namespace tutti::mpi {

class VectorTrial final : public Trial {
  public:
    VectorTrial(CommState& state, const tutti_call& call, const Subject& subject)
        : state_(state), call_(call), subject_(subject) {}

    bool prepare() override;
    bool run_by_host() override;
    Comparison compare() override;
    [[nodiscard]] size_t element_bytes() const override;
    [[nodiscard]] int64_t surplus() const override { return surplus_; }

  private:
    // One side, packed, as the host is told of it.
    struct Packed {
        Scratch memory;
        Scratch arrays;
        uint32_t blocks = 0;
        std::byte* data = nullptr;
        uint64_t* offsets = nullptr;
        int* counts = nullptr;
        int* displacements = nullptr;
        size_t bytes = 0;
    };
    static bool make(Packed& side, const uint64_t* lengths, uint32_t blocks);
    bool take_input();

    CommState& state_;
    const tutti_call& call_;
    const Subject& subject_;
    Packed in_;
    Packed out_;
    Scratch tutti_;
    std::byte* by_tutti_ = nullptr;
    int64_t surplus_ = 0;
    bool is_sound_ = true;
};

}  // namespace tutti::mpi
