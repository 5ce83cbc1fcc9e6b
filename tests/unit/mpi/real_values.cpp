// SPDX-License-Identifier: BSD-3-Clause
// Compiled against a real mpi.h; knows nothing of ours.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>

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

// What a header leaves out is not compared.
Values optional_values() {
    Values values;
#ifdef MPI_COMPLEX32
    values.emplace_back("MPI_COMPLEX32", number(MPI_COMPLEX32));
#endif
#ifdef MPI_INTEGER16
    values.emplace_back("MPI_INTEGER16", number(MPI_INTEGER16));
#endif
#ifdef MPI_LOGICAL1
    values.emplace_back("MPI_LOGICAL1", number(MPI_LOGICAL1));
#endif
#ifdef MPI_LOGICAL2
    values.emplace_back("MPI_LOGICAL2", number(MPI_LOGICAL2));
#endif
#ifdef MPI_LOGICAL4
    values.emplace_back("MPI_LOGICAL4", number(MPI_LOGICAL4));
#endif
#ifdef MPI_LOGICAL8
    values.emplace_back("MPI_LOGICAL8", number(MPI_LOGICAL8));
#endif
#ifdef MPI_REAL16
    values.emplace_back("MPI_REAL16", number(MPI_REAL16));
#endif
#ifdef MPI_REAL2
    values.emplace_back("MPI_REAL2", number(MPI_REAL2));
#endif
    return values;
}

Values first_values() {
    return {
        {"MPI_IN_PLACE", number(MPI_IN_PLACE)},
        {"MPI_STATUS_IGNORE", number(MPI_STATUS_IGNORE)},
        {"MPI_KEYVAL_INVALID", number(MPI_KEYVAL_INVALID)},
        {"MPI_TAG_UB", number(MPI_TAG_UB)},
        {"MPI_UNDEFINED", number(MPI_UNDEFINED)},
        {"MPI_ANY_SOURCE", number(MPI_ANY_SOURCE)},
        {"MPI_ANY_TAG", number(MPI_ANY_TAG)},
        {"MPI_PROC_NULL", number(MPI_PROC_NULL)},
        {"MPI_COMM_TYPE_SHARED", number(MPI_COMM_TYPE_SHARED)},
        {"MPI_SUCCESS", number(MPI_SUCCESS)},
        {"MPI_ERR_BUFFER", number(MPI_ERR_BUFFER)},
        {"MPI_ERR_COUNT", number(MPI_ERR_COUNT)},
        {"MPI_ERR_TYPE", number(MPI_ERR_TYPE)},
        {"MPI_ERR_COMM", number(MPI_ERR_COMM)},
        {"MPI_ERR_ROOT", number(MPI_ERR_ROOT)},
        {"MPI_ERR_OP", number(MPI_ERR_OP)},
        {"MPI_ERR_ARG", number(MPI_ERR_ARG)},
        {"MPI_ERR_OTHER", number(MPI_ERR_OTHER)},
        {"MPI_ERR_INTERN", number(MPI_ERR_INTERN)},
        {"MPI_ERR_NO_MEM", number(MPI_ERR_NO_MEM)},
        {"MPI_THREAD_SINGLE", number(MPI_THREAD_SINGLE)},
        {"MPI_THREAD_FUNNELED", number(MPI_THREAD_FUNNELED)},
        {"MPI_THREAD_SERIALIZED", number(MPI_THREAD_SERIALIZED)},
        {"MPI_THREAD_MULTIPLE", number(MPI_THREAD_MULTIPLE)},
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
        {"MPI_MAX_ERROR_STRING", number(MPI_MAX_ERROR_STRING)},
        {"MPI_COMM_WORLD", number(MPI_COMM_WORLD)},
        {"MPI_COMM_SELF", number(MPI_COMM_SELF)},
        {"MPI_COMM_NULL", number(MPI_COMM_NULL)},
        {"MPI_DATATYPE_NULL", number(MPI_DATATYPE_NULL)},
        {"MPI_OP_NULL", number(MPI_OP_NULL)},
        {"MPI_ERRORS_ARE_FATAL", number(MPI_ERRORS_ARE_FATAL)},
        {"MPI_ERRORS_RETURN", number(MPI_ERRORS_RETURN)},
        {"MPI_CHAR", number(MPI_CHAR)},
        {"MPI_SIGNED_CHAR", number(MPI_SIGNED_CHAR)},
        {"MPI_UNSIGNED_CHAR", number(MPI_UNSIGNED_CHAR)},
        {"MPI_BYTE", number(MPI_BYTE)},
        {"MPI_PACKED", number(MPI_PACKED)},
        {"MPI_WCHAR", number(MPI_WCHAR)},
        {"MPI_SHORT", number(MPI_SHORT)},
        {"MPI_UNSIGNED_SHORT", number(MPI_UNSIGNED_SHORT)},
        {"MPI_INT", number(MPI_INT)},
        {"MPI_UNSIGNED", number(MPI_UNSIGNED)},
        {"MPI_LONG", number(MPI_LONG)},
        {"MPI_UNSIGNED_LONG", number(MPI_UNSIGNED_LONG)},
        {"MPI_LONG_LONG", number(MPI_LONG_LONG)},
    };
}

Values second_values() {
    return {
        {"MPI_UNSIGNED_LONG_LONG", number(MPI_UNSIGNED_LONG_LONG)},
        {"MPI_FLOAT", number(MPI_FLOAT)},
        {"MPI_DOUBLE", number(MPI_DOUBLE)},
        {"MPI_LONG_DOUBLE", number(MPI_LONG_DOUBLE)},
        {"MPI_C_BOOL", number(MPI_C_BOOL)},
        {"MPI_INT8_T", number(MPI_INT8_T)},
        {"MPI_INT16_T", number(MPI_INT16_T)},
        {"MPI_INT32_T", number(MPI_INT32_T)},
        {"MPI_INT64_T", number(MPI_INT64_T)},
        {"MPI_UINT8_T", number(MPI_UINT8_T)},
        {"MPI_UINT16_T", number(MPI_UINT16_T)},
        {"MPI_UINT32_T", number(MPI_UINT32_T)},
        {"MPI_UINT64_T", number(MPI_UINT64_T)},
        {"MPI_C_FLOAT_COMPLEX", number(MPI_C_FLOAT_COMPLEX)},
        {"MPI_C_DOUBLE_COMPLEX", number(MPI_C_DOUBLE_COMPLEX)},
        {"MPI_C_LONG_DOUBLE_COMPLEX", number(MPI_C_LONG_DOUBLE_COMPLEX)},
        {"MPI_CXX_BOOL", number(MPI_CXX_BOOL)},
        {"MPI_CXX_FLOAT_COMPLEX", number(MPI_CXX_FLOAT_COMPLEX)},
        {"MPI_CXX_DOUBLE_COMPLEX", number(MPI_CXX_DOUBLE_COMPLEX)},
        {"MPI_CXX_LONG_DOUBLE_COMPLEX", number(MPI_CXX_LONG_DOUBLE_COMPLEX)},
        {"MPI_AINT", number(MPI_AINT)},
        {"MPI_OFFSET", number(MPI_OFFSET)},
        {"MPI_COUNT", number(MPI_COUNT)},
        {"MPI_FLOAT_INT", number(MPI_FLOAT_INT)},
        {"MPI_DOUBLE_INT", number(MPI_DOUBLE_INT)},
        {"MPI_LONG_INT", number(MPI_LONG_INT)},
        {"MPI_2INT", number(MPI_2INT)},
        {"MPI_SHORT_INT", number(MPI_SHORT_INT)},
        {"MPI_LONG_DOUBLE_INT", number(MPI_LONG_DOUBLE_INT)},
        {"MPI_CHARACTER", number(MPI_CHARACTER)},
        {"MPI_LOGICAL", number(MPI_LOGICAL)},
        {"MPI_INTEGER", number(MPI_INTEGER)},
        {"MPI_REAL", number(MPI_REAL)},
        {"MPI_DOUBLE_PRECISION", number(MPI_DOUBLE_PRECISION)},
        {"MPI_COMPLEX", number(MPI_COMPLEX)},
        {"MPI_DOUBLE_COMPLEX", number(MPI_DOUBLE_COMPLEX)},
        {"MPI_INTEGER1", number(MPI_INTEGER1)},
        {"MPI_INTEGER2", number(MPI_INTEGER2)},
        {"MPI_INTEGER4", number(MPI_INTEGER4)},
        {"MPI_INTEGER8", number(MPI_INTEGER8)},
        {"MPI_REAL4", number(MPI_REAL4)},
        {"MPI_REAL8", number(MPI_REAL8)},
        {"MPI_COMPLEX8", number(MPI_COMPLEX8)},
        {"MPI_COMPLEX16", number(MPI_COMPLEX16)},
        {"MPI_2INTEGER", number(MPI_2INTEGER)},
        {"MPI_2REAL", number(MPI_2REAL)},
        {"MPI_2DOUBLE_PRECISION", number(MPI_2DOUBLE_PRECISION)},
        {"MPI_SUM", number(MPI_SUM)},
        {"MPI_PROD", number(MPI_PROD)},
        {"MPI_MIN", number(MPI_MIN)},
        {"MPI_MAX", number(MPI_MAX)},
        {"MPI_LAND", number(MPI_LAND)},
        {"MPI_LOR", number(MPI_LOR)},
        {"MPI_LXOR", number(MPI_LXOR)},
        {"MPI_BAND", number(MPI_BAND)},
    };
}

Values third_values() {
    return {
        {"MPI_BOR", number(MPI_BOR)},
        {"MPI_BXOR", number(MPI_BXOR)},
        {"MPI_MINLOC", number(MPI_MINLOC)},
        {"MPI_MAXLOC", number(MPI_MAXLOC)},
        {"MPI_REPLACE", number(MPI_REPLACE)},
        {"MPI_NO_OP", number(MPI_NO_OP)},
        {"sizeof MPI_Status", sizeof(MPI_Status)},
        {"MPI_SOURCE at", offsetof(MPI_Status, MPI_SOURCE)},
        {"MPI_TAG at", offsetof(MPI_Status, MPI_TAG)},
        {"MPI_ERROR at", offsetof(MPI_Status, MPI_ERROR)},
        {"sizeof MPI_Comm", sizeof(MPI_Comm)},
        {"sizeof MPI_Datatype", sizeof(MPI_Datatype)},
        {"sizeof MPI_Op", sizeof(MPI_Op)},
        {"sizeof MPI_Request", sizeof(MPI_Request)},
        {"sizeof MPI_Aint", sizeof(MPI_Aint)},
        {"sizeof MPI_Count", sizeof(MPI_Count)},
    };
}

}  // namespace

Values real_values() {
    Values all;
    for (const Values& group :
         {first_values(), second_values(), third_values(), optional_values()}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

}  // namespace tutti::mpi
