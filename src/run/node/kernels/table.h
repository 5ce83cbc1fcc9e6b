// SPDX-License-Identifier: BSD-3-Clause
// One table of kernels for each instruction set. A table exists only where the compiler's target
// has the instruction set; dispatch.cpp knows where that is.
#pragma once

#include "run/node/kernels/kernels.h"
#include "run/node/reducer.h"

namespace tutti::node {

struct KernelTable {
    Kernel at[TUTTI_DTYPE_COUNT][TUTTI_OP_COUNT];  // nullptr: not a legal combination
    CopyAhead copy_ahead;
};

extern const KernelTable kBaselineKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;

}  // namespace tutti::node
