// SPDX-License-Identifier: BSD-3-Clause
// What messages between hosts take: a few pairs of hosts tell it for all, one kind of pair a level
// of switches (the parameters of src/plan/price). Knows no clock; experiments are made by the
// caller.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/topo/fabric.h"
#include "lab/survey/experiment.h"

namespace tutti::survey {

// By transfer: its time, or kMissingNs.
using Make = std::function<Result<std::vector<uint64_t>>(const Experiment& experiment)>;

struct LinkFigures {
    uint64_t latency_ns = 0;  // from a host to another on the same switch, one way, of a few bytes
    uint64_t post_ns = 0;     // that a message holds up its sender
    uint64_t bits_per_s = 0;  // of payload, of a host's link, one way at a time
    // Longer messages wait until they are asked for.
    uint64_t eager_bytes = 0;
    // A link lets so many bytes pass at once after a pause.
    uint64_t burst_bytes = 0;
    // While both ways of a host's link are full, each takes so much of its time; in thousandths.
    uint32_t both_ways_permille = 1000;
    // The same of long messages, on average: the answers to their requests may wait; 0: as the
    // others.
    uint32_t long_both_ways_permille = 0;
    // Of two hosts that send each other long messages one sends first, then the other.
    bool long_in_turn = false;
    // Of each link between switches; 0: the fabric has no two switches with hosts.
    uint64_t hop_ns = 0;
    uint64_t trunk_bits_per_s = 0;
    // Whether those links were full when that rate was seen; else they carry that at least.
    bool is_trunk_full = false;
};

// Transfers are of kLinkBytesMax at most.
inline constexpr uint64_t kLinkBytesMax = 4u << 20;

// At least two hosts; the fabric tells which of them share a switch, its rates and times do not
// count. An error where an experiment is one, or where no pair answers.
Result<LinkFigures> measure_links(const topo::Fabric& fabric, const Make& make);

}  // namespace tutti::survey
