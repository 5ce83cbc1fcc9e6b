// SPDX-License-Identifier: BSD-3-Clause
#include "cli/explain_memory.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "run/bootstrap/node_shape.h"
#include "run/multicast/multicast_maker.h"
#include "run/networks/ud_multicast/ud_facts.h"

namespace tutti::cli {

namespace ud_multicast = networks::ud_multicast;

namespace {

void print_part(size_t bytes, const std::string& what) {
    fmt::print("{:>7.1f} MiB  {}\n", static_cast<double>(bytes) / 0x1p20, what);
}

// As if the node's ranks measure what they want, since they may want the most then.
size_t slice_bytes(const Settings& settings, uint32_t ranks) {
    const node::Tuning tuning = bootstrap::largest_tuning(settings, ranks);
    return bootstrap::choose_geometry(settings, ranks, tuning, 0).slice_bytes;
}

}  // namespace

void print_memory(const explain::Scenario& scenario, const topo::Placement& placement,
                  const std::optional<explain::RdmaUse>& rdma) {
    const uint32_t ranks = placement.members_max();
    const size_t who = placement.bytes();
    size_t shared = 0;
    size_t own = who;
    fmt::print("\nmemory of this communicator, one call of it under way at a time:\n");
    if (ranks > 1) {
        const size_t slice = slice_bytes(scenario.settings, ranks);
        const bool has_room = slice <= scenario.settings.node.memory_bytes;
        print_part(slice, fmt::format("of a node, shared by {} ranks: flags and rings at most{}",
                                      ranks, has_room ? "" : "; beyond TUTTI_MEMORY"));
        shared += slice;
    }
    if (scenario.has_multicast) {
        const size_t ring = multicast::shared_bytes(ranks, placement.nodes());
        print_part(ring, "of a node: what came by multicast, until all have taken it");
        shared += ring;
    }
    if (rdma) {
        print_part(
            rdma->bytes,
            fmt::format(
                "of a rank, registered: messages to {} others{}", rdma->peers,
                rdma->is_too_much(scenario.settings.verbs) ? "; beyond TUTTI_VERBS_MEMORY" : ""));
        own += rdma->bytes;
    }
    print_part(who, "of a rank: the placement of all ranks");
    print_part(own + shared / ranks, "a rank in all, with its part of its node's");
    if (scenario.has_multicast && ud_multicast::is_wanted(scenario.settings.mcast)) {
        const auto registered = ud_multicast::registered_for(explain::kRdmaMtuBytes);
        print_part(registered.bytes,
                   fmt::format("registered by one process of a node, for the multicast of all its "
                               "communicators: {} receives and {} sends, packets of {}",
                               registered.receives, registered.sends,
                               format_bytes(explain::kRdmaMtuBytes)));
    }
}

}  // namespace tutti::cli
