// SPDX-License-Identifier: BSD-3-Clause
// How the members of a node communicate before they share memory, if there are several nodes: by
// the messages between nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "run/bootstrap/peer_gather.h"
#include "run/bootstrap/rounds.h"
#include "run/engine/inter_node.h"

namespace tutti::bootstrap {

struct NodeTalk {
    // Of the node of this rank of the team. All memory is made here; inter_node outlives it.
    NodeTalk(engine::InterNode& inter_node, uint32_t rank)
        : NodeTalk(inter_node, inter_node.placement().members(inter_node.placement().node_of(rank)),
                   inter_node.placement().index_on_node(rank)) {}

    std::unique_ptr<PeerGather> gather;  // to be kept after a failure
    Circle circle;

  private:
    NodeTalk(engine::InterNode& inter_node, std::span<const uint32_t> members, uint32_t index)
        : gather(std::make_unique<PeerGather>(inter_node.first().transport(),
                                              inter_node.first().messages().notes(), members,
                                              index)),
          circle(index, static_cast<uint32_t>(members.size()), PeerGather::allgather,
                 gather.get()) {
        circle.names = members;
    }
};

}  // namespace tutti::bootstrap
