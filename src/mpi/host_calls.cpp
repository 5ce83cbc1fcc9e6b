// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/host_calls.h"

#include <climits>
#include <mutex>

#include "mpi/front.h"

namespace tutti::mpi {

namespace {

bool fits(Count count) { return count >= INT_MIN && count <= INT_MAX; }

// Counts that are not significant on this rank may hold anything, so they are only cut.
int narrow(Count count) { return static_cast<int>(count); }

int refuse(Comm comm) {
    front.host.comm_call_errhandler(comm, abi::kErrCount);
    return abi::kErrCount;  // the handler's own success is not the call's
}

}  // namespace

int host_barrier(const BarrierArgs& a) { return front.host.barrier(a.comm); }

int host_bcast(const BcastArgs& a) {
    const abi::Host& host = front.host;
    if (!a.large) return host.bcast(a.buffer, narrow(a.count), a.type, a.root, a.comm);
    if (host.bcast_c != nullptr) return host.bcast_c(a.buffer, a.count, a.type, a.root, a.comm);
    if (!fits(a.count)) return refuse(a.comm);
    return host.bcast(a.buffer, narrow(a.count), a.type, a.root, a.comm);
}

int host_reduce(const ReduceArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.reduce_c != nullptr) {
        return host.reduce_c(a.send, a.recv, a.count, a.type, a.op, a.root, a.comm);
    }
    if (!fits(a.count)) return refuse(a.comm);
    return host.reduce(a.send, a.recv, narrow(a.count), a.type, a.op, a.root, a.comm);
}

int host_allreduce(const ReduceArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.allreduce_c != nullptr) {
        return host.allreduce_c(a.send, a.recv, a.count, a.type, a.op, a.comm);
    }
    if (!fits(a.count)) return refuse(a.comm);
    return host.allreduce(a.send, a.recv, narrow(a.count), a.type, a.op, a.comm);
}

int host_gather(const BlocksArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.gather_c != nullptr) {
        return host.gather_c(a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type,
                             a.root, a.comm);
    }
    return host.gather(a.send, narrow(a.send_count), a.send_type, a.recv, narrow(a.recv_count),
                       a.recv_type, a.root, a.comm);
}

int host_scatter(const BlocksArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.scatter_c != nullptr) {
        return host.scatter_c(a.send, a.send_count, a.send_type, a.recv, a.recv_count, a.recv_type,
                              a.root, a.comm);
    }
    return host.scatter(a.send, narrow(a.send_count), a.send_type, a.recv, narrow(a.recv_count),
                        a.recv_type, a.root, a.comm);
}

int host_allgather(const BlocksArgs& a) {
    const abi::Host& host = front.host;
    if (a.large && host.allgather_c != nullptr) {
        return host.allgather_c(a.send, a.send_count, a.send_type, a.recv, a.recv_count,
                                a.recv_type, a.comm);
    }
    if (!fits(a.recv_count)) return refuse(a.comm);
    return host.allgather(a.send, narrow(a.send_count), a.send_type, a.recv, narrow(a.recv_count),
                          a.recv_type, a.comm);
}

bool host_checks_arguments() {
    int word = 0;
    return front.host.bcast(&word, 0, front.handles.type[abi::kTypeByte], 1, front.quiet_comm) !=
           abi::kSuccess;
}

int host_moves_own(const BlocksArgs& a, int (*host)(const BlocksArgs&)) {
    BlocksArgs own = a;
    own.root = 0;
    own.comm = front.quiet_comm;
    const HostGuard guard;
    const std::lock_guard lock(front.mutex);  // one collective at a time on a communicator
    return host(own);
}

}  // namespace tutti::mpi
