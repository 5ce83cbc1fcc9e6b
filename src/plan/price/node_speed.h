// SPDX-License-Identifier: BSD-3-Clause
// The times of calls within a node, at the rates that its ranks measured; in integers.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/price/cluster_parameters.h"
#include "run/node/cost.h"
#include "run/node/tuning.h"

namespace tutti::price {

// Such that 64 KiB one way through rings by the tuning's way take what was measured: a flag for
// each piece, and the copying of one side, while the other copies. A flag is what a barrier takes.
// Folding, and what figures do not tell, stay as they are assumed. A barrier is measured.
NodeParameters parameters_of(const node::Figures& figures, const node::Tuning& tuning);

// What 64 KiB take, in nanoseconds, and a flag.
struct NodeSpeeds {
    uint64_t flag_ns = 0;
    uint64_t start_ns = 0;  // what the first KiB that is read takes longer than others
    uint64_t write_ns = 0;
    uint64_t read_ns = 0;
    uint64_t fold_ns = 0;  // as it is read
    uint64_t own_ns = 0;   // within a rank's own memory; assumed
};

// Such that what so many ranks measured takes what it took: 64 KiB one way through rings as the
// tuning has them, and 1 KiB through slots; of two ranks 64 KiB both ways and folded, too. One way
// a rank writes while the other one reads; both ways each does both. What was not measured: writing
// takes as long as reading, folding no longer. Nothing: not even 64 KiB one way was.
std::optional<NodeSpeeds> speeds_of(const node::Figures& figures, const node::Tuning& tuning,
                                    uint32_t ranks);
// By single copy nothing is written, and what is folded is read before. At the rate of the next
// size that was measured one way; none was: nothing.
std::optional<NodeSpeeds> single_speeds_of(const node::Figures& figures, uint64_t bytes);

// Of one rank: its chain of flags, and then what it moves and folds itself.
uint64_t time_ns(const node::Cost& cost, const NodeParameters& parameters);
// The same, with what others write before its first read, and copies within its own memory.
uint64_t time_ns(const node::Cost& cost, const NodeSpeeds& speeds);

}  // namespace tutti::price
