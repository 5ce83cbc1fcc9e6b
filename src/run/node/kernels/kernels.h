// SPDX-License-Identifier: BSD-3-Clause
// Reduction kernels: one loop for every predefined type and operator, compiled for several
// instruction sets. The bits of a result do not depend on the instruction set.
#pragma once

#include <cstddef>

#include "base/settings.h"
#include "run/node/reducer.h"

namespace tutti::node {

enum class Isa { kBaseline, kAvx2, kAvx512 };

// The best instruction set that this processor (and its operating system) has, at most `limit`.
Isa best_isa(IsaChoice limit);
const char* isa_name(Isa isa);

// nullptr where the MPI standard does not allow the combination (MPI-4.1, table 6.3 ff.).
Kernel find_kernel(tutti_dtype dtype, tutti_op op, Isa isa);

// Copies what another core has written: asks for the lines ahead of the one that it copies, but for
// none behind the last, which may be another core's to write. As memcpy.
using CopyAhead = void (*)(void* out, const void* in, size_t bytes);
CopyAhead find_copy_ahead(Isa isa);

// sizeof the C type; 0 for a value out of range.
size_t dtype_bytes(tutti_dtype dtype);

}  // namespace tutti::node
