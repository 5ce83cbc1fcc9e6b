// SPDX-License-Identifier: BSD-3-Clause
// Sets of hosts within sets, as a survey finds them, and the fabric that they stand for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/topo/fabric.h"
#include "lab/survey/experiment.h"
#include "lab/survey/latency_groups.h"

namespace tutti::survey {

inline constexpr uint32_t kNoSet = UINT32_MAX;

struct HostSet {
    uint32_t parent = kNoSet;
    std::vector<uint32_t> hosts;     // ascending; those of its children among them
    std::vector<uint32_t> children;  // disjoint; sets that are split into them
    // What its links upwards carry, bytes per nanosecond; what all its hosts can send where they
    // were never seen crowded.
    double crossing = 0;
    bool is_crowded = false;
    bool is_by_load = false;  // found by narrow links
};

// Set 0 holds all. Parents come before children.
using HostSets = std::vector<HostSet>;

// By host: the innermost set that it is in.
std::vector<uint32_t> innermost(const HostSets& sets, uint32_t hosts);

// Splits innermost sets by groups of latency; where these are at odds with narrow links, the latter
// stand. A host in none of a set's children comes into that which its group is in.
void refine(HostSets& sets, std::span<const Partition> partitions);

// Fills in what crosses a set's border, by the most that did; `usual`: the speed of a host's link.
void measure_crossings(HostSets& sets, std::span<const Observation> observations, double usual);

// Takes out sets that say nothing: one whose links upwards carry as much as those of its children
// together; and of two halves of the whole, of which one is split, that one: the link between
// is the other's.
void simplify(HostSets& sets);

// What is known of links by hosts; bytes per nanosecond.
struct HostSpeeds {
    double usual = 0;
    std::vector<double> own;  // by host; 0: as usual
};
// What is known of a pair.
struct RoundTrip {
    Transfer who;
    uint64_t time_ns = 0;
};
// A switch for each set, and one of its own, below the first, for each host that is in no innermost
// set. Rates to four digits.
topo::Fabric fabric_of(const HostSets& sets, const HostSpeeds& speeds,
                       std::span<const RoundTrip> trips);

}  // namespace tutti::survey
