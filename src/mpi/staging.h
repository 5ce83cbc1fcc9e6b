// SPDX-License-Identifier: BSD-3-Clause
// Device memory: each rank copies what its call reads into the processor's memory before, and what
// it wrote back after. The others do not see it: what they choose does not depend on it.
#pragma once

#include <initializer_list>

#include "mpi/buffers.h"
#include "mpi/comm_state.h"
#include "mpi/device/gaps.h"
#include "mpi/device/runtime.h"
#include "mpi/front.h"
#include "mpi/preparation.h"

namespace tutti::mpi {

// One side of a call, and what the call does with the blocks that lie there.
struct Part {
    TypedBuffer* side = nullptr;  // null: not significant on this rank
    uint64_t blocks = 1;
    uint64_t read_first = 0;  // of the blocks
    uint64_t read_blocks = 0;
    bool is_written = false;
};
inline Part reads(TypedBuffer& side, uint64_t blocks = 1) {
    return {&side, blocks, 0, blocks, false};
}
inline Part writes(TypedBuffer& side, uint64_t blocks = 1) { return {&side, blocks, 0, 0, true}; }

// In a process without a GPU's runtime this is a branch.
class Staging final : public Preparation {
  public:
    // Looks where the sides lie, and moves nothing.
    Staging(CommState& state, Kind kind, std::initializer_list<Part> parts);
    // Of so many parts, which add() then looks at.
    Staging(CommState& state, Kind kind, size_t parts);
    void add(const Part& part) {
        if (part.side != nullptr && part.side->bytes > 0 && front.devices.may_meet()) look(part);
    }
    // Some side is device memory.
    [[nodiscard]] bool is_needed() const { return count_ > 0; }
    // This one is.
    [[nodiscard]] bool takes(const TypedBuffer& side) const;
    // Makes copies that the processor reads, and lets the sides name those.
    Unready before() override;
    // Writes results back.
    int after(int status) override;

  private:
    struct Taken {
        Part part;
        device::Runtime* runtime;
        device::Owner owner;
        bool is_split;        // over several allocations: cannot be copied as one
        intptr_t address;     // of the caller's memory
        ptrdiff_t low;        // of the data, relative to it
        device::Block block;  // without memory: none yet

        // Of the byte at `low`.
        [[nodiscard]] std::byte* copy() const { return block.memory; }
    };
    void look(const Part& part);
    Unready take(Taken& taken);
    bool copy_in(Taken& taken);
    int copy_out(Taken& taken);
    int make_mask(const TypedBuffer& side, const unsigned char*& made);
    bool write_back(Taken& taken, const unsigned char* mask);
    bool copy_data(const Taken& taken, const unsigned char* mask);
    bool begin(Taken& taken);
    bool ended(device::Runtime& runtime, bool is_well);
    static void give_back(Taken& taken);
    void say(const char* why) const;
    Unready unready(int error, const char* why) const;
    int failed(int error, const char* why) const;

    static constexpr size_t kFew = 2;  // all but vector forms have no more sides

    CommState& state_;
    Kind kind_;
    Taken few_[kFew] = {};
    CallScratch many_;
    Taken* taken_ = few_;
    size_t room_ = kFew;
    size_t count_ = 0;
    bool lacks_memory_ = false;
    CallScratch mask_;        // which bytes of an element are data
    char problem_[160] = {};  // the runtime's
};

}  // namespace tutti::mpi
