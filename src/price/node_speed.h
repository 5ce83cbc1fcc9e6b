// SPDX-License-Identifier: BSD-3-Clause
// What calls inside a node take at the rates that its ranks measured; in integers.
#pragma once

#include <cstdint>

#include "node/cost.h"
#include "node/tuning.h"
#include "price/parameters.h"

namespace tutti::price {

// Such that 64 KiB one way through rings by the tuning's way take what was measured: a flag for
// each piece, and the copying of one side, while the other copies. A flag is what a barrier takes.
// Nobody measures folding; what figures do not tell stays as it is assumed. A barrier is measured.
NodeParameters parameters_of(const node::Figures& figures, const node::Tuning& tuning);

// As a single copy reads so much one way, of the next size that was measured; 0: none was.
uint64_t single_bytes_per_s(const node::Figures& figures, uint64_t bytes);

// Of one rank: its chain of flags, and then what it moves and folds itself.
uint64_t time_ns(const node::Cost& cost, const NodeParameters& parameters);

}  // namespace tutti::price
