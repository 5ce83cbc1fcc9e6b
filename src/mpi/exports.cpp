// SPDX-License-Identifier: BSD-3-Clause
// The names that the program calls. PMPI_ enters Tutti; MPI_ goes to a profiling tool behind us if
// there is one, which comes back through PMPI_. Both are needed: Fortran bindings of some MPIs and
// many tools call the PMPI_ names.
#include "mpi/collectives.h"
#include "mpi/front.h"
#include "mpi/init.h"
#include "mpi/run.h"

using namespace tutti::mpi;  // NOLINT(google-build-using-namespace): only C names are defined here
using tutti::mpi::abi::Comm;
using tutti::mpi::abi::Count;
using tutti::mpi::abi::Datatype;
using tutti::mpi::abi::Op;

#define TUTTI_MPI_NAME extern "C" __attribute__((visibility("default"), used))

// Defines MPI_name and PMPI_name. `tool` is the member of the tools' table, `body` what the PMPI_
// name does.
#define TUTTI_MPI_PAIR(name, tool, parameters, arguments, body)             \
    TUTTI_MPI_NAME int PMPI_##name parameters {                             \
        ensure_loaded();                                                    \
        return body;                                                        \
    }                                                                       \
    TUTTI_MPI_NAME int MPI_##name parameters {                              \
        ensure_loaded();                                                    \
        if (front.tools.tool != nullptr) return front.tools.tool arguments; \
        return body;                                                        \
    }

TUTTI_MPI_PAIR(Init, init, (int* argc, char*** argv), (argc, argv), init(argc, argv))
TUTTI_MPI_PAIR(Init_thread, init_thread, (int* argc, char*** argv, int required, int* provided),
               (argc, argv, required, provided), init_thread(argc, argv, required, provided))
TUTTI_MPI_PAIR(Finalize, finalize, (), (), finalize())

TUTTI_MPI_PAIR(Barrier, barrier, (Comm comm), (comm), barrier({comm}))
TUTTI_MPI_PAIR(Bcast, bcast, (void* buffer, int count, Datatype type, int root, Comm comm),
               (buffer, count, type, root, comm), bcast({buffer, count, type, root, comm, false}))
TUTTI_MPI_PAIR(Bcast_c, bcast_c, (void* buffer, Count count, Datatype type, int root, Comm comm),
               (buffer, count, type, root, comm), bcast({buffer, count, type, root, comm, true}))

#define TUTTI_MPI_REDUCE(name, tool, Number, large)                                              \
    TUTTI_MPI_PAIR(                                                                              \
        name, tool,                                                                              \
        (const void* send, void* recv, Number count, Datatype type, Op op, int root, Comm comm), \
        (send, recv, count, type, op, root, comm),                                               \
        reduce({send, recv, count, type, op, root, comm, large}))
TUTTI_MPI_REDUCE(Reduce, reduce, int, false)
TUTTI_MPI_REDUCE(Reduce_c, reduce_c, Count, true)

#define TUTTI_MPI_ALLREDUCE(name, tool, Number, large)                                            \
    TUTTI_MPI_PAIR(name, tool,                                                                    \
                   (const void* send, void* recv, Number count, Datatype type, Op op, Comm comm), \
                   (send, recv, count, type, op, comm),                                           \
                   allreduce({send, recv, count, type, op, 0, comm, large}))
TUTTI_MPI_ALLREDUCE(Allreduce, allreduce, int, false)
TUTTI_MPI_ALLREDUCE(Allreduce_c, allreduce_c, Count, true)

#define TUTTI_MPI_ROOTED(name, tool, Number, function, large)                                    \
    TUTTI_MPI_PAIR(                                                                              \
        name, tool,                                                                              \
        (const void* send, Number send_count, Datatype send_type, void* recv, Number recv_count, \
         Datatype recv_type, int root, Comm comm),                                               \
        (send, send_count, send_type, recv, recv_count, recv_type, root, comm),                  \
        function({send, send_count, send_type, recv, recv_count, recv_type, root, comm, large}))
TUTTI_MPI_ROOTED(Gather, gather, int, gather, false)
TUTTI_MPI_ROOTED(Gather_c, gather_c, Count, gather, true)
TUTTI_MPI_ROOTED(Scatter, scatter, int, scatter, false)
TUTTI_MPI_ROOTED(Scatter_c, scatter_c, Count, scatter, true)

#define TUTTI_MPI_ALLGATHER(name, tool, Number, large)                                           \
    TUTTI_MPI_PAIR(                                                                              \
        name, tool,                                                                              \
        (const void* send, Number send_count, Datatype send_type, void* recv, Number recv_count, \
         Datatype recv_type, Comm comm),                                                         \
        (send, send_count, send_type, recv, recv_count, recv_type, comm),                        \
        allgather({send, send_count, send_type, recv, recv_count, recv_type, 0, comm, large}))
TUTTI_MPI_ALLGATHER(Allgather, allgather, int, false)
TUTTI_MPI_ALLGATHER(Allgather_c, allgather_c, Count, true)

// What Tutti does not take over yet is counted, and under TUTTI_CHECK compared, on its way to the
// host.
#define TUTTI_MPI_PASS(name, slot, kind, parameters, arguments) \
    TUTTI_MPI_PAIR(name, slot, parameters, arguments,           \
                   pass_through(comm, kind, [&] { return front.host.slot arguments; }))

TUTTI_MPI_PASS(Alltoall, alltoall, kAlltoall,
               (const void* send, int send_count, Datatype send_type, void* recv, int recv_count,
                Datatype recv_type, Comm comm),
               (send, send_count, send_type, recv, recv_count, recv_type, comm))
TUTTI_MPI_PASS(Alltoallv, alltoallv, kAlltoallv,
               (const void* send, const int* send_counts, const int* send_offsets,
                Datatype send_type, void* recv, const int* recv_counts, const int* recv_offsets,
                Datatype recv_type, Comm comm),
               (send, send_counts, send_offsets, send_type, recv, recv_counts, recv_offsets,
                recv_type, comm))
TUTTI_MPI_PASS(Alltoallw, alltoallw, kAlltoallw,
               (const void* send, const int* send_counts, const int* send_offsets,
                const Datatype* send_types, void* recv, const int* recv_counts,
                const int* recv_offsets, const Datatype* recv_types, Comm comm),
               (send, send_counts, send_offsets, send_types, recv, recv_counts, recv_offsets,
                recv_types, comm))
TUTTI_MPI_PASS(Gatherv, gatherv, kGatherv,
               (const void* send, int send_count, Datatype send_type, void* recv,
                const int* recv_counts, const int* recv_offsets, Datatype recv_type, int root,
                Comm comm),
               (send, send_count, send_type, recv, recv_counts, recv_offsets, recv_type, root,
                comm))
TUTTI_MPI_PASS(Scatterv, scatterv, kScatterv,
               (const void* send, const int* send_counts, const int* send_offsets,
                Datatype send_type, void* recv, int recv_count, Datatype recv_type, int root,
                Comm comm),
               (send, send_counts, send_offsets, send_type, recv, recv_count, recv_type, root,
                comm))
TUTTI_MPI_PASS(Allgatherv, allgatherv, kAllgatherv,
               (const void* send, int send_count, Datatype send_type, void* recv,
                const int* recv_counts, const int* recv_offsets, Datatype recv_type, Comm comm),
               (send, send_count, send_type, recv, recv_counts, recv_offsets, recv_type, comm))
TUTTI_MPI_PASS(Reduce_scatter, reduce_scatter, kReduceScatter,
               (const void* send, void* recv, const int* recv_counts, Datatype type, Op op,
                Comm comm),
               (send, recv, recv_counts, type, op, comm))
TUTTI_MPI_PASS(Reduce_scatter_block, reduce_scatter_block, kReduceScatterBlock,
               (const void* send, void* recv, int recv_count, Datatype type, Op op, Comm comm),
               (send, recv, recv_count, type, op, comm))
TUTTI_MPI_PASS(Scan, scan, kScan,
               (const void* send, void* recv, int count, Datatype type, Op op, Comm comm),
               (send, recv, count, type, op, comm))
TUTTI_MPI_PASS(Exscan, exscan, kExscan,
               (const void* send, void* recv, int count, Datatype type, Op op, Comm comm),
               (send, recv, count, type, op, comm))
