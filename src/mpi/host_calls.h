// SPDX-License-Identifier: BSD-3-Clause
// The collectives with their arguments as one value, whether they came with int counts or
// with MPI-4's large ones, and the way to hand them to the host unchanged.
#pragma once

#include "mpi/abi/abi.h"

namespace tutti::mpi {

using abi::Comm;
using abi::Count;
using abi::Datatype;
using abi::Op;

struct BarrierArgs {
    Comm comm;
};

struct BcastArgs {
    void* buffer;
    Count count;
    Datatype type;
    int root;
    Comm comm;
    bool large;  // called by the _c name
};

// Reductions; the root is significant in a reduce only.
struct ReduceArgs {
    const void* send;
    void* recv;
    Count count;
    Datatype type;
    Op op;
    int root;
    Comm comm;
    bool large;
};

// Gather, scatter, allgather and alltoall; the root is not significant in the last two.
struct BlocksArgs {
    const void* send;
    Count send_count;
    Datatype send_type;
    void* recv;
    Count recv_count;
    Datatype recv_type;
    int root;
    Comm comm;
    bool large;
};

// A host without large counts gets the int form if the counts fit, and otherwise MPI_ERR_COUNT is
// raised on the communicator.
int host_barrier(const BarrierArgs& a);
int host_bcast(const BcastArgs& a);
int host_reduce(const ReduceArgs& a);
int host_allreduce(const ReduceArgs& a);
int host_reduce_scatter_block(const ReduceArgs& a);
int host_gather(const BlocksArgs& a);
int host_scatter(const BlocksArgs& a);
int host_allgather(const BlocksArgs& a);
int host_alltoall(const BlocksArgs& a);
int host_scan(const ReduceArgs& a);
int host_exscan(const ReduceArgs& a);

// Whether the host looks at arguments at all: it can be told not to. Asked with a broadcast of
// nothing, whose root is out of range, on a copy of MPI_COMM_SELF.
bool host_checks_arguments();
// This rank's own block, of a collective of that kind, from where it is sent to where it is
// received, by the host, on that copy: a.send and a.recv name one block each. The host's status,
// which is an error where the block is cut.
int host_moves_own(const BlocksArgs& a, int (*host)(const BlocksArgs&));

}  // namespace tutti::mpi
