// SPDX-License-Identifier: BSD-3-Clause
// The text of `tutti explain` on messages by RDMA.
#pragma once

#include "base/settings.h"
#include "lab/explain/rdma_use.h"

namespace tutti::cli {

// A line: with how many others each rank is connected, what that registers, and, where that is
// known, how many of the chosen algorithm's messages go so.
void print_rdma(const explain::RdmaUse& use, const VerbsSettings& settings);

}  // namespace tutti::cli
