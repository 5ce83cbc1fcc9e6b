// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/node_info.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "run/multicast/team_multicast.h"
#include "run/node/figures_text.h"
#include "run/node/tuner.h"

namespace tutti::engine {
namespace {

static_assert(TUTTI_NODE_WAYS == node::kCopyWays);
static_assert(TUTTI_NODE_SIZES == node::kMeasuredBytes.size());
static_assert(TUTTI_NODE_READERS == node::kReaderLimits);
static_assert(UINT64_MAX == node::kNever && UINT32_MAX == node::kAllReaders);

void describe_times(const node::Times& times, uint32_t (&ring)[TUTTI_NODE_SIZES],
                    uint32_t (&single)[TUTTI_NODE_SIZES]) {
    std::copy(times.ring.begin(), times.ring.end(), ring);
    std::copy(times.single.begin(), times.single.end(), single);
}

void describe_figures(const node::Figures& figures, tutti_node_info& info) {
    info.barrier_ns = figures.barrier_ns;
    std::copy(figures.way_ns.begin(), figures.way_ns.end(), info.way_ns);
    info.short_ring_ns = figures.short_ring_ns;
    describe_times(figures.one_way, info.one_way_ring_ns, info.one_way_single_ns);
    describe_times(figures.all_ways, info.all_ways_ring_ns, info.all_ways_single_ns);
    info.short_ns = figures.short_ns;
    info.fold_ns = figures.fold_ns;
    std::copy(figures.readers_ns.begin(), figures.readers_ns.end(), info.readers_ns);
}

void describe_tuning(const node::Tuning& tuning, tutti_node_info& info) {
    info.way = static_cast<uint32_t>(tuning.way);
    info.piece_count = tuning.pieces.count;
    info.piece_bytes_min = tuning.pieces.bytes_min;
    info.piece_bytes_max = tuning.pieces.bytes_max;
    info.single_one_way_bytes = tuning.single_one_way;
    info.single_all_ways_bytes = tuning.single_all_ways;
    info.single_scatter_bytes = tuning.single_scatter;
    info.single_readers_max = tuning.readers_max;
}

}  // namespace

void describe_node(const Members& members, tutti_node_info& info) {
    const node::Team& node = members.node;
    const NodeSource& source = members.node_source;
    const size_t struct_bytes = info.struct_bytes;
    info = {};
    info.struct_bytes = struct_bytes;
    info.ranks = node.size;
    info.rank = node.rank;
    info.reads = node.peers && (!node.tuner || node.tuner->may_read()) ? 1 : 0;
    info.lean = node.slice.geometry.is_lean ? 1 : 0;
    info.processes = source.processes;
    multicast::set_text(info.host, members.host());
    describe_tuning(node.tuning, info);
    info.ring_bytes = node.slice.geometry.chunk_bytes * node.slice.geometry.chunk_count;
    if (node.size == 1) return;
    const node::Figures figures = node.tuner ? node.tuner->figures() : node::Figures{};
    if (figures.barrier_ns == 0) {
        info.state = TUTTI_NODE_UNMEASURED;
        multicast::set_text(
            info.reason, source.is_crowded ? "ranks share processors"
                         : info.lean != 0  ? "lean ones use the figures of the first on their node"
                                           : "a barrier is as slow as if ranks shared processors");
    } else {
        info.state = source.has_measured ? TUTTI_NODE_MEASURED : TUTTI_NODE_EARLIER;
        info.again = node.tuner->again();
        describe_figures(figures, info);
        std::string text;
        for (const std::string& line : node::figures_text(figures)) {
            text += (text.empty() ? "" : "; ") + line;
        }
        multicast::set_text(info.figures, text);
    }
    multicast::set_text(info.follows,
                        node::consequence_text(figures, node.tuning, node.peers != nullptr));
}

}  // namespace tutti::engine
