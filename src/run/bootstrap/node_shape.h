// SPDX-License-Identifier: BSD-3-Clause
// The shape of a team on one node: how its memory is divided, and which ranks meet. Pure functions,
// so that `tutti explain` says what the engine does.
#pragma once

#include <span>
#include <vector>

#include "base/settings.h"
#include "base/topo/node_topology.h"
#include "run/arena/home.h"
#include "run/node/layout.h"
#include "run/node/slice.h"
#include "run/node/tuning.h"

namespace tutti::bootstrap {

// Up to this size all ranks read all others' slots. Beyond it a tree has fewer lines with many
// readers.
inline constexpr uint32_t kFlatRanksMax = 8;
// The longest pieces that any tuning wants. A round of a split reduction is cut among all ranks, so
// that many of them want long ones.
inline constexpr uint32_t kPieceBytesMany = 64 * 1024;

// A process set with many communicators gets smaller rings before it gets none. used_bytes: of
// TUTTI_MEMORY. tuning: that the team will have. tracks: so many such slices it takes.
node::Geometry choose_geometry(const Settings& settings, uint32_t ranks, const node::Tuning& tuning,
                               size_t used_bytes, uint32_t tracks = 1);
// Of a ring: twice a second-level cache of this machine.
size_t long_ring_bytes();
// Results from which on there is no use in keeping them in the caches: as long.
size_t past_caches_bytes_min();

// For so many processes of a node; no places: it is not worth it.
arena::HomeShape choose_homes(const Settings& settings, uint32_t ranks);
// Of TUTTI_MEMORY, what slices may take of teams that may be lean ones, even if homes were to want
// more than the rest.
inline constexpr size_t kSlicesShare = 4;

// That TUTTI_CHUNK allows; 0: as it is measured.
uint32_t piece_bytes_max(const Settings& settings);

// For ranks that have measured nothing.
node::Tuning default_tuning(const Settings& settings, uint32_t ranks);
// For ranks that are to measure: there is memory for whatever they may find.
node::Tuning largest_tuning(const Settings& settings, uint32_t ranks);

// More ranks than processors, for a team or for the whole job on this node. rank_cpus: of each rank
// of the team; usable: of the node; ranks_on_node: of the job.
bool is_crowded(std::span<const topo::CpuSet> rank_cpus, uint32_t usable, uint32_t ranks_on_node);

// Whether so many ranks may want one, where they are not crowded.
bool may_want_tree(const Settings& settings, uint32_t ranks);
// is_crowded: more ranks than processors.
bool wants_tree(const Settings& settings, uint32_t ranks, bool is_crowded);

// Where the ranks stand. cpus: those that each rank may use; on a synthetic topology the ranks
// stand on its processors one after the other instead.
topo::Groups rank_groups(const Settings& settings, std::span<const topo::CpuSet> cpus);
// Children of a rank, at most: see docs/node.md ("Trees for many ranks").
inline constexpr uint32_t kFanInMax = 8;
// A tree in words, as it is handed over: every rank's parent, kNoRank at the root; then every
// rank's innermost group; then how far its parent is.
inline constexpr size_t kTreeWords = 3;  // a rank
std::vector<uint32_t> encode_tree(const topo::Groups& groups, uint32_t ranks,
                                  uint32_t fan_in_max = kFanInMax);
node::Layout tree_layout(std::span<const uint32_t> words);

}  // namespace tutti::bootstrap
