// SPDX-License-Identifier: BSD-3-Clause
// Between a buffer with gaps and one without, by the host's own MPI_Pack and MPI_Unpack.
#pragma once

#include <cstddef>

#include "mpi/abi/abi.h"
#include "mpi/types.h"

namespace tutti::mpi {

// Piecewise, so that no count or size exceeds an int. Return the host's status; no error handler is
// called, which might come back into the call that is being made.
int pack(const void* from, std::byte* to, size_t count, abi::Datatype type, const TypeInfo& info);
int unpack(const std::byte* from, void* to, size_t count, abi::Datatype type, const TypeInfo& info);

// Whether this host's packed form is the bare data, as Tutti needs it.
bool packs_without_header();

// Memory for packed data; grows, and shrinks again after a large call.
class Scratch {
  public:
    Scratch() = default;
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    // Null where there is no memory. The contents are not kept.
    std::byte* get(size_t bytes);
    void trim();

  private:
    static constexpr size_t kKeptBytes = size_t{8} << 20;
    std::byte* memory_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace tutti::mpi
