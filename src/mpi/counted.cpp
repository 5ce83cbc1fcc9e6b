// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/counted.h"

#include "mpi/comm_state.h"

namespace tutti::mpi {

Neighbors neighbors_of(const Members& members) {
    const abi::Host& host = front.host;
    int topology = front.host.abi.undefined, from = 0, to = 0, weighted = 0;
    host.topo_test(members.comm, &topology);
    if (topology == front.host.abi.topologies.grid) {
        host.cartdim_get(members.comm, &to);
        from = to *= 2;
    } else if (topology == front.host.abi.topologies.graph) {
        host.graph_neighbors_count(members.comm, static_cast<int>(members.rank), &to);
        from = to;
    } else if (topology == front.host.abi.topologies.distributed_graph) {
        host.dist_graph_neighbors_count(members.comm, &from, &to, &weighted);
    }
    return {static_cast<uint32_t>(from), static_cast<uint32_t>(to)};
}

KnownMembers* find_members_slow(Comm comm, KnownMembers& known) {
    if (!front.active.load(std::memory_order_acquire)) return nullptr;
    if (!front.host.abi.may_be(abi::Named::kComm, comm.bits, front.host.handles) ||
        is_being_freed(comm))
        return nullptr;
    const uint64_t generation = front.generation.load(std::memory_order_acquire);
    known = {members_of(comm), KnownMembers::kNotAsked, generation, kNoCall, 0, nullptr};
    if (known.members.size != 0) return &known;
    known.generation = 0;
    return nullptr;
}

Tally* find_tally_slow(KnownMembers& known, Kind kind, Form form, uint64_t bytes) {
    known.call = call_number(kind, form);
    known.call_bytes = bytes;
    known.tally = front.counts.calls.passed(kind, form, known.members.size, bytes);
    return known.tally;
}

Members among_neighbors(KnownMembers& known) {
    if (known.neighbors == KnownMembers::kNotAsked) {
        known.neighbors = neighbors_of(known.members).to;
    }
    Members members = known.members;
    members.peers = known.neighbors;
    return members;
}

}  // namespace tutti::mpi
