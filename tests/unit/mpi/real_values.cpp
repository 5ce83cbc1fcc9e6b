// SPDX-License-Identifier: BSD-3-Clause
// Compiled against a real mpi.h; knows nothing of ours.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>
#include <type_traits>

#include "unit/mpi/values.h"

// A datatype that a header leaves out.
#ifndef MPI_COMPLEX32
#define MPI_COMPLEX32 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER16
#define MPI_INTEGER16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL1
#define MPI_LOGICAL1 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL2
#define MPI_LOGICAL2 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL4
#define MPI_LOGICAL4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL8
#define MPI_LOGICAL8 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL16
#define MPI_REAL16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL2
#define MPI_REAL2 MPI_DATATYPE_NULL
#endif

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
// A handle as a word: one that is an int leaves the upper half zero.
template <class T>
int64_t handle(T value) {
    return std::is_pointer_v<T> ? number(value) : number(value) & 0xffffffff;
}

Values constants_and_layouts() {
    return {
        {"MPI_IN_PLACE", number(MPI_IN_PLACE)},
        {"MPI_STATUS_IGNORE", number(MPI_STATUS_IGNORE)},
        {"MPI_KEYVAL_INVALID", number(MPI_KEYVAL_INVALID)},
        {"MPI_TAG_UB", number(MPI_TAG_UB)},
        {"MPI_UNDEFINED", number(MPI_UNDEFINED)},
        {"MPI_ANY_SOURCE", number(MPI_ANY_SOURCE)},
        {"MPI_ROOT", number(MPI_ROOT)},
        {"MPI_SUCCESS", number(MPI_SUCCESS)},
        {"MPI_ERR_COUNT", number(MPI_ERR_COUNT)},
        {"MPI_ERR_ARG", number(MPI_ERR_ARG)},
        {"MPI_ERR_OTHER", number(MPI_ERR_OTHER)},
        {"MPI_CART", number(MPI_CART)},
        {"MPI_GRAPH", number(MPI_GRAPH)},
        {"MPI_DIST_GRAPH", number(MPI_DIST_GRAPH)},
        {"MPI_COMBINER_NAMED", number(MPI_COMBINER_NAMED)},
        {"MPI_COMBINER_DUP", number(MPI_COMBINER_DUP)},
        {"MPI_COMBINER_CONTIGUOUS", number(MPI_COMBINER_CONTIGUOUS)},
        {"MPI_COMBINER_VECTOR", number(MPI_COMBINER_VECTOR)},
        {"MPI_COMBINER_HVECTOR", number(MPI_COMBINER_HVECTOR)},
        {"MPI_COMBINER_F90_REAL", number(MPI_COMBINER_F90_REAL)},
        {"MPI_COMBINER_F90_COMPLEX", number(MPI_COMBINER_F90_COMPLEX)},
        {"MPI_COMBINER_F90_INTEGER", number(MPI_COMBINER_F90_INTEGER)},
        {"MPI_COMBINER_RESIZED", number(MPI_COMBINER_RESIZED)},
        {"MPI_MAX_OBJECT_NAME", number(MPI_MAX_OBJECT_NAME)},
        {"MPI_MAX_LIBRARY_VERSION_STRING", number(MPI_MAX_LIBRARY_VERSION_STRING)},
        {"MPI_COMM_WORLD", handle(MPI_COMM_WORLD)},
        {"MPI_COMM_SELF", handle(MPI_COMM_SELF)},
        {"MPI_COMM_NULL", handle(MPI_COMM_NULL)},
        {"MPI_DATATYPE_NULL", handle(MPI_DATATYPE_NULL)},
        {"MPI_OP_NULL", handle(MPI_OP_NULL)},
        {"MPI_ERRORS_ARE_FATAL", handle(MPI_ERRORS_ARE_FATAL)},
        {"MPI_ERRORS_RETURN", handle(MPI_ERRORS_RETURN)},
        {"sizeof MPI_Status", sizeof(MPI_Status)},
        {"MPI_SOURCE at", offsetof(MPI_Status, MPI_SOURCE)},
        {"sizeof MPI_Comm", sizeof(MPI_Comm)},
        {"sizeof MPI_Datatype", sizeof(MPI_Datatype)},
        {"sizeof MPI_Op", sizeof(MPI_Op)},
        {"sizeof MPI_Request", sizeof(MPI_Request)},
        {"sizeof MPI_Group", sizeof(MPI_Group)},
        {"sizeof MPI_Errhandler", sizeof(MPI_Errhandler)},
        {"sizeof MPI_Aint", sizeof(MPI_Aint)},
        {"sizeof MPI_Count", sizeof(MPI_Count)},
        {"MPI_ERR_TRUNCATE", number(MPI_ERR_TRUNCATE)},
        {"MPI_ERR_NO_MEM", number(MPI_ERR_NO_MEM)},
    };
}

Values types_and_operators() {
    return {
#define TUTTI_MPI_TYPE(identifier, NAME, type_class, dtype) {#NAME, handle(NAME)},
#define TUTTI_MPI_OP(identifier, NAME, tutti_number) {#NAME, handle(NAME)},
#include "mpi/abi/types.inc"
    };
}

}  // namespace

Values real_values() {
    Values all = constants_and_layouts();
    const Values named = types_and_operators();
    all.insert(all.end(), named.begin(), named.end());
    return all;
}

}  // namespace tutti::mpi
