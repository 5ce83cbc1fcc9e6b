// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/host_calls.h"

#include <mutex>

#include "mpi/buffers.h"
#include "mpi/front.h"
#include "mpi/large_calls.h"

namespace tutti::mpi {

namespace {

// Counts that are not significant on this rank may hold anything, so they are only cut. Those that
// are have been looked at.
int narrow(Count count) { return static_cast<int>(count); }

// Of a gather or scatter: `one` is where this rank's own block is.
bool blocks_fit(const BlocksArgs& a, const void* one, Count one_count, Count all_count) {
    const Role role = role_in(a.comm, a.root);
    if (role.is_root && !fits_an_int(all_count)) return false;
    return !role.has_one || is_in_place(one) || fits_an_int(one_count);
}

// Of a reduction without a root.
int fold(const ReduceArgs& a, const decltype(abi::Host::allreduce)& by_int,
         const decltype(abi::Host::allreduce_c)& by_count) {
    if (a.large && by_count) return by_count(a.send, a.recv, a.count, a.type, a.op, a.comm);
    if (!fits_an_int(a.count)) return refuse_count(a.comm);
    return by_int(a.send, a.recv, narrow(a.count), a.type, a.op, a.comm);
}

// Of blocks without a root.
int each_to_each(const BlocksArgs& a, const decltype(abi::Host::allgather)& by_int,
                 const decltype(abi::Host::allgather_c)& by_count) {
    if (a.large && by_count) {
        return by_count(a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type,
                        a.comm);
    }
    const bool send_fits = is_in_place(a.send) || fits_an_int(a.send_count);
    if (!send_fits || !fits_an_int(a.recv_count)) return refuse_count(a.comm);
    return by_int(a.send, narrow(a.send_count), a.send_type, a.recv, narrow(a.recv_count),
                  a.recv_type, a.comm);
}

}  // namespace

int host_barrier(const BarrierArgs& a) { return front.host.barrier(a.comm); }

int host_bcast(const BcastArgs& a) {
    const abi::Host& host = front.host;
    if (!a.large) return host.bcast(a.buffer, narrow(a.count), a.type, a.root, a.comm);
    if (host.bcast_c) return host.bcast_c(a.buffer, a.count, a.type, a.root, a.comm);
    if (!fits_an_int(a.count)) return refuse_count(a.comm);
    return host.bcast(a.buffer, narrow(a.count), a.type, a.root, a.comm);
}

int host_reduce(const ReduceArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.reduce_c) {
        return host.reduce_c(a.send, a.recv, a.count, a.type, a.op, a.root, a.comm);
    }
    if (!fits_an_int(a.count)) return refuse_count(a.comm);
    return host.reduce(a.send, a.recv, narrow(a.count), a.type, a.op, a.root, a.comm);
}

int host_allreduce(const ReduceArgs& a) {
    return fold(a, front.host.allreduce, front.host.allreduce_c);
}

int host_reduce_scatter_block(const ReduceArgs& a) {
    return fold(a, front.host.reduce_scatter_block, front.host.reduce_scatter_block_c);
}

int host_gather(const BlocksArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.gather_c) {
        return host.gather_c(a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type,
                             a.root, a.comm);
    }
    if (a.large && !blocks_fit(a, a.send, a.send_count, a.recv_count)) return refuse_count(a.comm);
    return host.gather(a.send, narrow(a.send_count), a.send_type, a.recv, narrow(a.recv_count),
                       a.recv_type, a.root, a.comm);
}

int host_scatter(const BlocksArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.scatter_c) {
        return host.scatter_c(a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type,
                              a.root, a.comm);
    }
    if (a.large && !blocks_fit(a, a.recv, a.recv_count, a.send_count)) return refuse_count(a.comm);
    return host.scatter(a.send, narrow(a.send_count), a.send_type, a.recv, narrow(a.recv_count),
                        a.recv_type, a.root, a.comm);
}

int host_allgather(const BlocksArgs& a) {
    return each_to_each(a, front.host.allgather, front.host.allgather_c);
}

int host_alltoall(const BlocksArgs& a) {
    return each_to_each(a, front.host.alltoall, front.host.alltoall_c);
}

int host_scan(const ReduceArgs& a) { return fold(a, front.host.scan, front.host.scan_c); }

int host_exscan(const ReduceArgs& a) { return fold(a, front.host.exscan, front.host.exscan_c); }

int host_gatherv(const VectorArgs& a) {
    const VectorSide &send = a.send, &recv = a.recv;
    if (!a.large) {
        return front.host.gatherv(send.buffer, narrow(send.count), send.type, a.received(),
                                  recv.counts.ints(), recv.offsets.ints(), recv.type, a.root,
                                  a.comm);
    }
    return large::call<kGatherv, Form::kBlocking>(
        "Gatherv_c", front.host.gatherv_c, front.host.gatherv, send.buffer, send.count, send.type,
        a.received(), recv.counts.large(), recv.offsets.large(), recv.type, a.root, a.comm);
}

int host_scatterv(const VectorArgs& a) {
    const VectorSide &send = a.send, &recv = a.recv;
    if (!a.large) {
        return front.host.scatterv(send.buffer, send.counts.ints(), send.offsets.ints(), send.type,
                                   a.received(), narrow(recv.count), recv.type, a.root, a.comm);
    }
    return large::call<kScatterv, Form::kBlocking>(
        "Scatterv_c", front.host.scatterv_c, front.host.scatterv, send.buffer, send.counts.large(),
        send.offsets.large(), send.type, a.received(), recv.count, recv.type, a.root, a.comm);
}

int host_allgatherv(const VectorArgs& a) {
    const VectorSide &send = a.send, &recv = a.recv;
    if (!a.large) {
        return front.host.allgatherv(send.buffer, narrow(send.count), send.type, a.received(),
                                     recv.counts.ints(), recv.offsets.ints(), recv.type, a.comm);
    }
    return large::call<kAllgatherv, Form::kBlocking>(
        "Allgatherv_c", front.host.allgatherv_c, front.host.allgatherv, send.buffer, send.count,
        send.type, a.received(), recv.counts.large(), recv.offsets.large(), recv.type, a.comm);
}

int host_alltoallv(const VectorArgs& a) {
    const VectorSide &send = a.send, &recv = a.recv;
    if (!a.large) {
        return front.host.alltoallv(send.buffer, send.counts.ints(), send.offsets.ints(), send.type,
                                    a.received(), recv.counts.ints(), recv.offsets.ints(),
                                    recv.type, a.comm);
    }
    return large::call<kAlltoallv, Form::kBlocking>(
        "Alltoallv_c", front.host.alltoallv_c, front.host.alltoallv, send.buffer,
        send.counts.large(), send.offsets.large(), send.type, a.received(), recv.counts.large(),
        recv.offsets.large(), recv.type, a.comm);
}

int host_alltoallw(const VectorArgs& a) {
    const VectorSide &send = a.send, &recv = a.recv;
    if (!a.large) {
        return front.host.alltoallw(send.buffer, send.counts.ints(), send.offsets.ints(),
                                    send.types, a.received(), recv.counts.ints(),
                                    recv.offsets.ints(), recv.types, a.comm);
    }
    return large::call<kAlltoallw, Form::kBlocking>(
        "Alltoallw_c", front.host.alltoallw_c, front.host.alltoallw, send.buffer,
        send.counts.large(), send.offsets.large(), send.types, a.received(), recv.counts.large(),
        recv.offsets.large(), recv.types, a.comm);
}

int host_reduce_scatter(const ReduceArgs& a) {
    if (!a.large) {
        return front.host.reduce_scatter(a.send, a.recv, a.counts.ints(), a.type, a.op, a.comm);
    }
    return large::call<kReduceScatter, Form::kBlocking>(
        "Reduce_scatter_c", front.host.reduce_scatter_c, front.host.reduce_scatter, a.send, a.recv,
        a.counts.large(), a.type, a.op, a.comm);
}

bool host_checks_arguments() {
    int word = 0;
    return front.host.bcast(&word, 0, front.host.handles.type[abi::kTypeByte], 1,
                            front.own.quiet_comm) != abi::kSuccess;
}

int host_moves_own(const BlocksArgs& a, int (*host)(const BlocksArgs&)) {
    BlocksArgs own = a;
    own.root = 0;
    own.comm = front.own.quiet_comm;
    const HostGuard guard;
    const std::lock_guard lock(front.mutex);  // one collective at a time on a communicator
    return host(own);
}

}  // namespace tutti::mpi
