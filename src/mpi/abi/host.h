// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's functions, looked up by name in its library, so that nothing is linked to it.
#pragma once

#include <string>

#include "mpi/abi/border.h"
#include "mpi/abi/handles.h"

namespace tutti::mpi::abi {

inline constexpr int kSuccess = 0;  // in every ABI
inline constexpr int kThreadMultiple = 3;

// What the host calls about an attribute. None of ours looks at the handle, which is a pointer, or
// an int in the lower half of a word.
using CopyAttribute = int (*)(uintptr_t, int, void*, void*, void*, int*);
using DeleteAttribute = int (*)(uintptr_t, int, void*, void*);

struct Host {
#define TUTTI_MPI(member, Name, need, parameters) HostFunction<int parameters> member;
#include "mpi/abi/functions.inc"
};

// Fills the table from `library`, a handle from dlopen. `prefix` is "PMPI_" for the host's own
// functions. Returns the first name that is missing, or an empty string.
std::string load_host(void* library, const std::string& prefix, bool handles_are_ints, Host& host);

}  // namespace tutti::mpi::abi
