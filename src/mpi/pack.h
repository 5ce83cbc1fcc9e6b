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

}  // namespace tutti::mpi
