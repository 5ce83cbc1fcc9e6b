// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/abi/mpich.h"
#include "mpi/abi/ompi.h"
#include "unit/mpi/values.h"

namespace tutti::mpi {

namespace {

template <class Tag>
int64_t number(abi::Handle<Tag> handle) {
    return static_cast<int64_t>(handle.bits);
}

Values constants(const abi::Abi& abi) {
    return {
        {"MPI_IN_PLACE", abi.in_place},
        {"MPI_STATUS_IGNORE", abi.status_ignore},
        {"MPI_KEYVAL_INVALID", abi.keyval_invalid},
        {"MPI_TAG_UB", abi.tag_ub},
        {"MPI_UNDEFINED", abi.undefined},
        {"MPI_ANY_SOURCE", abi.any_source},
        {"MPI_ROOT", abi.root},
        {"MPI_SUCCESS", abi::kSuccess},
        {"MPI_ERR_COUNT", abi.err_count},
        {"MPI_ERR_ARG", abi.err_arg},
        {"MPI_ERR_OTHER", abi.err_other},
        {"MPI_ERR_TRUNCATE", abi.err_truncate},
        {"MPI_ERR_NO_MEM", abi.err_no_mem},
        {"MPI_CART", abi.topologies.grid},
        {"MPI_GRAPH", abi.topologies.graph},
        {"MPI_DIST_GRAPH", abi.topologies.distributed_graph},
        {"MPI_COMBINER_NAMED", abi.combiners.named},
        {"MPI_COMBINER_DUP", abi.combiners.dup},
        {"MPI_COMBINER_CONTIGUOUS", abi.combiners.contiguous},
        {"MPI_COMBINER_VECTOR", abi.combiners.vector},
        {"MPI_COMBINER_HVECTOR", abi.combiners.hvector},
        {"MPI_COMBINER_F90_REAL", abi.combiners.f90_real},
        {"MPI_COMBINER_F90_COMPLEX", abi.combiners.f90_complex},
        {"MPI_COMBINER_F90_INTEGER", abi.combiners.f90_integer},
        {"MPI_COMBINER_RESIZED", abi.combiners.resized},
        {"MPI_MAX_OBJECT_NAME", abi::kObjectNameMax},
        {"MPI_MAX_LIBRARY_VERSION_STRING", abi::kLibraryVersionMax},
    };
}

Values special_handles(const abi::Handles& h) {
    return {
        {"MPI_COMM_WORLD", number(h.comm_world)},
        {"MPI_COMM_SELF", number(h.comm_self)},
        {"MPI_COMM_NULL", number(h.comm_null)},
        {"MPI_DATATYPE_NULL", number(h.type_null)},
        {"MPI_OP_NULL", number(h.op_null)},
        {"MPI_ERRORS_ARE_FATAL", number(h.errors_are_fatal)},
        {"MPI_ERRORS_RETURN", number(h.errors_return)},
    };
}

Values types_and_operators(const abi::Handles& h) {
    return {
#define TUTTI_MPI_TYPE(identifier, NAME, type_class, dtype) \
    {#NAME, number(h.type[abi::identifier])},
#define TUTTI_MPI_OP(identifier, NAME, tutti_number) {#NAME, number(h.op[abi::identifier])},
#include "mpi/abi/types.inc"
    };
}

Values layouts(const abi::Abi& abi) {
    const int64_t handle = abi.handles_are_ints ? sizeof(int) : sizeof(void*);
    return {
        {"sizeof MPI_Status", abi.status_bytes},
        {"MPI_SOURCE at", abi.status_source_at},
        {"sizeof MPI_Comm", handle},
        {"sizeof MPI_Datatype", handle},
        {"sizeof MPI_Op", handle},
        {"sizeof MPI_Request", handle},
        {"sizeof MPI_Group", handle},
        {"sizeof MPI_Errhandler", handle},
        {"sizeof MPI_Aint", sizeof(abi::Aint)},
        {"sizeof MPI_Count", sizeof(abi::Count)},
    };
}

}  // namespace

Values our_values(const abi::Abi& abi) {
    abi::Handles handles{};
    // Open MPI's handles are addresses in the library that this test is linked to.
    if (!abi.load_handles(nullptr, handles)) return {};
    Values all;
    for (const Values& group :
         {constants(abi), special_handles(handles), types_and_operators(handles), layouts(abi)}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

}  // namespace tutti::mpi
