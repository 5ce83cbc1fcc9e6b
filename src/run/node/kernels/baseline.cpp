// SPDX-License-Identifier: BSD-3-Clause
#include "run/node/kernels/loops.h"

namespace tutti::node {

constinit const KernelTable kBaselineKernels = make_table();

}  // namespace tutti::node
