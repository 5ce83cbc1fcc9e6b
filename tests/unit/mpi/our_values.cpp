// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/abi/abi.h"
#include "unit/mpi/values.h"

namespace tutti::mpi {

namespace {

template <class T>
int64_t number(T value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<int64_t>(value);
    } else {
        return static_cast<int64_t>(value);
    }
}

Values constants() {
    return {
        {"MPI_IN_PLACE", number(abi::kInPlace)},
        {"MPI_STATUS_IGNORE", number(abi::kStatusIgnore)},
        {"MPI_KEYVAL_INVALID", number(abi::kKeyvalInvalid)},
        {"MPI_TAG_UB", number(abi::kTagUb)},
        {"MPI_UNDEFINED", number(abi::kUndefined)},
        {"MPI_ANY_SOURCE", number(abi::kAnySource)},
        {"MPI_SUCCESS", number(abi::kSuccess)},
        {"MPI_ERR_COUNT", number(abi::kErrCount)},
        {"MPI_ERR_ARG", number(abi::kErrArg)},
        {"MPI_ERR_OTHER", number(abi::kErrOther)},
        {"MPI_ERR_TRUNCATE", number(abi::kErrTruncate)},
        {"MPI_ERR_NO_MEM", number(abi::kErrNoMem)},
        {"MPI_COMBINER_NAMED", number(abi::kCombinerNamed)},
        {"MPI_COMBINER_DUP", number(abi::kCombinerDup)},
        {"MPI_COMBINER_CONTIGUOUS", number(abi::kCombinerContiguous)},
        {"MPI_COMBINER_VECTOR", number(abi::kCombinerVector)},
        {"MPI_COMBINER_HVECTOR", number(abi::kCombinerHvector)},
        {"MPI_COMBINER_F90_REAL", number(abi::kCombinerF90Real)},
        {"MPI_COMBINER_F90_COMPLEX", number(abi::kCombinerF90Complex)},
        {"MPI_COMBINER_F90_INTEGER", number(abi::kCombinerF90Integer)},
        {"MPI_COMBINER_RESIZED", number(abi::kCombinerResized)},
        {"MPI_MAX_OBJECT_NAME", number(abi::kObjectNameMax)},
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

Values layouts() {
    return {
        {"sizeof MPI_Status", sizeof(abi::Status)},
        {"MPI_SOURCE at", offsetof(abi::Status, source)},
        {"MPI_TAG at", offsetof(abi::Status, tag)},
        {"MPI_ERROR at", offsetof(abi::Status, error)},
        {"sizeof MPI_Comm", sizeof(abi::Comm)},
        {"sizeof MPI_Datatype", sizeof(abi::Datatype)},
        {"sizeof MPI_Op", sizeof(abi::Op)},
        {"sizeof MPI_Request", sizeof(abi::Request)},
        {"sizeof MPI_Aint", sizeof(abi::Aint)},
        {"sizeof MPI_Count", sizeof(abi::Count)},
    };
}

}  // namespace

Values our_values() {
    abi::Handles handles;
    // Open MPI's handles are addresses in the library that this test is linked to.
    if (!abi::load_handles(nullptr, handles)) return {};
    Values all;
    for (const Values& group :
         {constants(), special_handles(handles), types_and_operators(handles), layouts()}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

}  // namespace tutti::mpi
