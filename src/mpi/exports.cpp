// SPDX-License-Identifier: BSD-3-Clause
// The names that the program calls. PMPI_ enters Tutti; MPI_ goes to a profiling tool behind us if
// there is one, which comes back through PMPI_. Both are needed: Fortran bindings of some MPIs and
// many tools call the PMPI_ names.
#include <cstdint>
#include <type_traits>

#include "mpi/collectives.h"
#include "mpi/front.h"
#include "mpi/init.h"
#include "mpi/run.h"

using namespace tutti::mpi;  // NOLINT(google-build-using-namespace): only C names are defined here
using tutti::mpi::abi::Aint;
using tutti::mpi::abi::Count;

namespace {

// A handle as it comes in a register or on the stack, of whichever MPI: a pointer or an int. What
// goes to a host that is not ours must go there whole.
template <class Own>
struct Handle {
    uintptr_t bits;
    operator Own() const {  // NOLINT(google-explicit-constructor): it stands where an Own stands
        if constexpr (std::is_pointer_v<Own>)
            return reinterpret_cast<Own>(bits);
        else
            return static_cast<Own>(bits);
    }
};
using AnyComm = Handle<abi::Comm>;
using AnyType = Handle<abi::Datatype>;
using AnyOp = Handle<abi::Op>;

}  // namespace

#define TUTTI_MPI_NAME extern "C" __attribute__((visibility("default"), used))

// What the program calls where this library stands aside.
#define TUTTI_MPI_BEYOND(name, parameters, arguments)                             \
    if (!is_host_ours()) [[unlikely]] {                                           \
        using Beyond = int parameters;                                            \
        static const auto beyond = reinterpret_cast<Beyond*>(find_beyond(#name)); \
        return beyond arguments;                                                  \
    }

// Defines MPI_name and PMPI_name. `tool` is the member of the tools' table, `body` what the PMPI_
// name does.
#define TUTTI_MPI_PAIR(name, tool, parameters, arguments, body)             \
    TUTTI_MPI_NAME int PMPI_##name parameters {                             \
        TUTTI_MPI_BEYOND(PMPI_##name, parameters, arguments)                \
        return body;                                                        \
    }                                                                       \
    TUTTI_MPI_NAME int MPI_##name parameters {                              \
        TUTTI_MPI_BEYOND(MPI_##name, parameters, arguments)                 \
        if (front.tools.tool != nullptr) return front.tools.tool arguments; \
        return body;                                                        \
    }

TUTTI_MPI_PAIR(Init, init, (int* argc, char*** argv), (argc, argv), init(argc, argv))
TUTTI_MPI_PAIR(Init_thread, init_thread, (int* argc, char*** argv, int required, int* provided),
               (argc, argv, required, provided), init_thread(argc, argv, required, provided))
TUTTI_MPI_PAIR(Finalize, finalize, (), (), finalize())

TUTTI_MPI_PAIR(Barrier, barrier, (AnyComm comm), (comm), barrier({comm}))
TUTTI_MPI_PAIR(Bcast, bcast, (void* buffer, int count, AnyType type, int root, AnyComm comm),
               (buffer, count, type, root, comm), bcast({buffer, count, type, root, comm, false}))

#define TUTTI_MPI_REDUCE(name, tool, Number, large)                                               \
    TUTTI_MPI_PAIR(name, tool,                                                                    \
                   (const void* send, void* recv, Number count, AnyType type, AnyOp op, int root, \
                    AnyComm comm),                                                                \
                   (send, recv, count, type, op, root, comm),                                     \
                   reduce({send, recv, count, type, op, root, comm, large}))
TUTTI_MPI_REDUCE(Reduce, reduce, int, false)

#define TUTTI_MPI_ALLREDUCE(name, tool, Number, large)                                      \
    TUTTI_MPI_PAIR(                                                                         \
        name, tool,                                                                         \
        (const void* send, void* recv, Number count, AnyType type, AnyOp op, AnyComm comm), \
        (send, recv, count, type, op, comm),                                                \
        allreduce({send, recv, count, type, op, 0, comm, large}))
TUTTI_MPI_ALLREDUCE(Allreduce, allreduce, int, false)

#define TUTTI_MPI_ROOTED(name, tool, Number, function, large)                                   \
    TUTTI_MPI_PAIR(                                                                             \
        name, tool,                                                                             \
        (const void* send, Number send_count, AnyType send_type, void* recv, Number recv_count, \
         AnyType recv_type, int root, AnyComm comm),                                            \
        (send, send_count, send_type, recv, recv_count, recv_type, root, comm),                 \
        function({send, send_count, send_type, recv, recv_count, recv_type, root, comm, large}))
TUTTI_MPI_ROOTED(Gather, gather, int, gather, false)
TUTTI_MPI_ROOTED(Scatter, scatter, int, scatter, false)

#define TUTTI_MPI_ALLGATHER(name, tool, Number, large)                                          \
    TUTTI_MPI_PAIR(                                                                             \
        name, tool,                                                                             \
        (const void* send, Number send_count, AnyType send_type, void* recv, Number recv_count, \
         AnyType recv_type, AnyComm comm),                                                      \
        (send, send_count, send_type, recv, recv_count, recv_type, comm),                       \
        allgather({send, send_count, send_type, recv, recv_count, recv_type, 0, comm, large}))
TUTTI_MPI_ALLGATHER(Allgather, allgather, int, false)

// What Tutti does not take over yet is counted, and under TUTTI_CHECK compared, on its way to the
// host. Once with int counts and offsets, once with MPI-4's large ones.
#define TUTTI_MPI_PASS(name, slot, kind, parameters, arguments)         \
    TUTTI_MPI_PAIR(name, slot, parameters, arguments,                   \
                   pass_through(comm, kind, front.host.slot != nullptr, \
                                [&] { return front.host.slot arguments; }))
#define TUTTI_MPI_ALLTOALL(name, slot, Number)                                          \
    TUTTI_MPI_PASS(name, slot, kAlltoall,                                               \
                   (const void* send, Number send_count, AnyType send_type, void* recv, \
                    Number recv_count, AnyType recv_type, AnyComm comm),                \
                   (send, send_count, send_type, recv, recv_count, recv_type, comm))
#define TUTTI_MPI_ALLTOALLV(name, slot, Number, Offset)                                          \
    TUTTI_MPI_PASS(name, slot, kAlltoallv,                                                       \
                   (const void* send, const Number* send_counts, const Offset* send_offsets,     \
                    AnyType send_type, void* recv, const Number* recv_counts,                    \
                    const Offset* recv_offsets, AnyType recv_type, AnyComm comm),                \
                   (send, send_counts, send_offsets, send_type, recv, recv_counts, recv_offsets, \
                    recv_type, comm))
#define TUTTI_MPI_ALLTOALLW(name, slot, Number, Offset)                                           \
    TUTTI_MPI_PASS(name, slot, kAlltoallw,                                                        \
                   (const void* send, const Number* send_counts, const Offset* send_offsets,      \
                    const abi::Datatype* send_types, void* recv, const Number* recv_counts,       \
                    const Offset* recv_offsets, const abi::Datatype* recv_types, AnyComm comm),   \
                   (send, send_counts, send_offsets, send_types, recv, recv_counts, recv_offsets, \
                    recv_types, comm))
#define TUTTI_MPI_GATHERV(name, slot, Number, Offset)                                        \
    TUTTI_MPI_PASS(                                                                          \
        name, slot, kGatherv,                                                                \
        (const void* send, Number send_count, AnyType send_type, void* recv,                 \
         const Number* recv_counts, const Offset* recv_offsets, AnyType recv_type, int root, \
         AnyComm comm),                                                                      \
        (send, send_count, send_type, recv, recv_counts, recv_offsets, recv_type, root, comm))
#define TUTTI_MPI_SCATTERV(name, slot, Number, Offset)                                  \
    TUTTI_MPI_PASS(                                                                     \
        name, slot, kScatterv,                                                          \
        (const void* send, const Number* send_counts, const Offset* send_offsets,       \
         AnyType send_type, void* recv, Number recv_count, AnyType recv_type, int root, \
         AnyComm comm),                                                                 \
        (send, send_counts, send_offsets, send_type, recv, recv_count, recv_type, root, comm))
#define TUTTI_MPI_ALLGATHERV(name, slot, Number, Offset)                                          \
    TUTTI_MPI_PASS(                                                                               \
        name, slot, kAllgatherv,                                                                  \
        (const void* send, Number send_count, AnyType send_type, void* recv,                      \
         const Number* recv_counts, const Offset* recv_offsets, AnyType recv_type, AnyComm comm), \
        (send, send_count, send_type, recv, recv_counts, recv_offsets, recv_type, comm))
// `Number` is "const int*" for a count of every rank, "int" for one.
#define TUTTI_MPI_REDUCTION(name, slot, kind, Number)                                       \
    TUTTI_MPI_PASS(                                                                         \
        name, slot, kind,                                                                   \
        (const void* send, void* recv, Number count, AnyType type, AnyOp op, AnyComm comm), \
        (send, recv, count, type, op, comm))

TUTTI_MPI_ALLTOALL(Alltoall, alltoall, int)
TUTTI_MPI_ALLTOALLV(Alltoallv, alltoallv, int, int)
TUTTI_MPI_ALLTOALLW(Alltoallw, alltoallw, int, int)
TUTTI_MPI_GATHERV(Gatherv, gatherv, int, int)
TUTTI_MPI_SCATTERV(Scatterv, scatterv, int, int)
TUTTI_MPI_ALLGATHERV(Allgatherv, allgatherv, int, int)
TUTTI_MPI_REDUCTION(Reduce_scatter, reduce_scatter, kReduceScatter, const int*)
TUTTI_MPI_REDUCTION(Reduce_scatter_block, reduce_scatter_block, kReduceScatterBlock, int)
TUTTI_MPI_REDUCTION(Scan, scan, kScan, int)
TUTTI_MPI_REDUCTION(Exscan, exscan, kExscan, int)

// MPI-4's large counts. Open MPI up to version 5 has none, and programs ask for them by weak
// symbols (mpi4py does): to offer what the host cannot do would change what they call.
#if defined(TUTTI_ABI_MPICH)
TUTTI_MPI_PAIR(Bcast_c, bcast_c, (void* buffer, Count count, AnyType type, int root, AnyComm comm),
               (buffer, count, type, root, comm), bcast({buffer, count, type, root, comm, true}))
TUTTI_MPI_REDUCE(Reduce_c, reduce_c, Count, true)
TUTTI_MPI_ALLREDUCE(Allreduce_c, allreduce_c, Count, true)
TUTTI_MPI_ROOTED(Gather_c, gather_c, Count, gather, true)
TUTTI_MPI_ROOTED(Scatter_c, scatter_c, Count, scatter, true)
TUTTI_MPI_ALLGATHER(Allgather_c, allgather_c, Count, true)
TUTTI_MPI_ALLTOALL(Alltoall_c, alltoall_c, Count)
TUTTI_MPI_ALLTOALLV(Alltoallv_c, alltoallv_c, Count, Aint)
TUTTI_MPI_ALLTOALLW(Alltoallw_c, alltoallw_c, Count, Aint)
TUTTI_MPI_GATHERV(Gatherv_c, gatherv_c, Count, Aint)
TUTTI_MPI_SCATTERV(Scatterv_c, scatterv_c, Count, Aint)
TUTTI_MPI_ALLGATHERV(Allgatherv_c, allgatherv_c, Count, Aint)
TUTTI_MPI_REDUCTION(Reduce_scatter_c, reduce_scatter_c, kReduceScatter, const Count*)
TUTTI_MPI_REDUCTION(Reduce_scatter_block_c, reduce_scatter_block_c, kReduceScatterBlock, Count)
TUTTI_MPI_REDUCTION(Scan_c, scan_c, kScan, Count)
TUTTI_MPI_REDUCTION(Exscan_c, exscan_c, kExscan, Count)
#endif
