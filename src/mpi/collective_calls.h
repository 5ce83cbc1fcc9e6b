// SPDX-License-Identifier: BSD-3-Clause
// The collectives that Tutti takes over. Each either runs in Tutti on all ranks or is handed
// unchanged to the host on all ranks; the choice depends only on what MPI makes equal on all ranks.
// The exception are arguments that the host shall reject: a rank hands those over by itself.
#pragma once

#include "mpi/host_calls.h"

namespace tutti::mpi {

int barrier(const BarrierArgs& a);
int bcast(const BcastArgs& a);
int reduce(const ReduceArgs& a);
int allreduce(const ReduceArgs& a);
int reduce_scatter_block(const ReduceArgs& a);
int gather(const BlocksArgs& a);
int scatter(const BlocksArgs& a);
int allgather(const BlocksArgs& a);
int alltoall(const BlocksArgs& a);
int scan(const ReduceArgs& a);
int exscan(const ReduceArgs& a);
int gatherv(const VectorArgs& a);
int scatterv(const VectorArgs& a);
int allgatherv(const VectorArgs& a);
int alltoallv(const VectorArgs& a);
int alltoallw(const VectorArgs& a);
int reduce_scatter(const ReduceArgs& a);

}  // namespace tutti::mpi
