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

namespace tutti::mpi {

// One side of a call, and what the call does with the blocks that lie there.
struct Part {
    Side* side = nullptr;  // null: not significant on this rank
    uint64_t blocks = 1;
    uint64_t read_first = 0;  // of the blocks
    uint64_t read_blocks = 0;
    bool is_written = false;
};
inline Part reads(Side& side, uint64_t blocks = 1) { return {&side, blocks, 0, blocks, false}; }
inline Part writes(Side& side, uint64_t blocks = 1) { return {&side, blocks, 0, 0, true}; }

class Staging {
  public:
    Staging(CommState& state, Kind kind) : state_(state), kind_(kind) {}
    // Where the side is device memory: makes a copy that the processor reads, and lets the side
    // name that. False after a failure, which has been reported; the call ends with status().
    bool take(const Part& part);
    // Writes results back; `status` is that of the call that was run in between.
    int give_back(int status);
    [[nodiscard]] int status() const { return status_; }

  private:
    struct Taken {
        Part part;
        device::Runtime* runtime;
        device::Owner owner;
        intptr_t address;  // of the caller's memory
        ptrdiff_t low;     // of the data, relative to it
        std::byte* copy;   // of the byte at `low`
    };
    bool copy_in(const Taken& taken, device::Span whole);
    bool copy_out(const Taken& taken);
    bool copy_data(const Taken& taken, const unsigned char* mask);
    const unsigned char* mask_of(const Side& side);
    bool failed(int error, const char* why);

    CommState& state_;
    Kind kind_;
    Taken taken_[2] = {};
    size_t count_ = 0;
    int status_ = abi::kSuccess;
};

// Runs the call on memory that the processor can read. In a process without a GPU's runtime this is
// a branch. Only for calls that Tutti runs: what the host gets it gets as the program gave it.
// `fail` is given the status of a call that ends before it is run, and returns it.
template <class Run, class Fail>
int on_readable_memory(CommState& state, Kind kind, std::initializer_list<Part> parts, Run run,
                       Fail fail) {
    if (!front.devices.may_meet()) [[likely]]
        return run();
    Staging staging(state, kind);
    for (const Part& part : parts) {
        if (!staging.take(part)) return fail(staging.give_back(staging.status()));
    }
    return staging.give_back(run());
}

}  // namespace tutti::mpi
