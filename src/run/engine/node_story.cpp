// SPDX-License-Identifier: BSD-3-Clause
#include "run/engine/node_story.h"

#include "run/node/tuner.h"

namespace tutti::engine {

node::NodeStory node_story(const Members& members) {
    const node::Team& node = members.node;
    const NodeSource& source = members.node_source;
    const auto& geometry = node.slice.geometry;
    node::NodeStory story;
    story.host = members.host();
    story.processes = source.processes;
    story.rank = node.rank;
    story.ranks = node.size;
    story.is_lean = geometry.is_lean;
    story.can_read = node.single_copy.peers != nullptr;
    story.may_read = node.single_copy.peers && (!node.tuner || node.tuner->may_read());
    story.ring_bytes = geometry.chunk_bytes * geometry.chunk_count;
    story.tuning = node.tuning;
    story.has_measured = source.has_measured;
    if (node.tuner) {
        story.figures = node.tuner->figures();
        story.again = node.tuner->again();
    }
    story.unmeasured = source.is_crowded  ? "ranks share processors"
                       : geometry.is_lean ? "lean ones use the figures of the first on their node"
                                          : "a barrier is as slow as if ranks shared processors";
    return story;
}

}  // namespace tutti::engine
