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
        {"MPI_ANY_TAG", number(abi::kAnyTag)},
        {"MPI_PROC_NULL", number(abi::kProcNull)},
        {"MPI_COMM_TYPE_SHARED", number(abi::kCommTypeShared)},
        {"MPI_SUCCESS", number(abi::kSuccess)},
        {"MPI_ERR_BUFFER", number(abi::kErrBuffer)},
        {"MPI_ERR_COUNT", number(abi::kErrCount)},
        {"MPI_ERR_TYPE", number(abi::kErrType)},
        {"MPI_ERR_COMM", number(abi::kErrComm)},
        {"MPI_ERR_ROOT", number(abi::kErrRoot)},
        {"MPI_ERR_OP", number(abi::kErrOp)},
        {"MPI_ERR_ARG", number(abi::kErrArg)},
        {"MPI_ERR_OTHER", number(abi::kErrOther)},
        {"MPI_ERR_INTERN", number(abi::kErrIntern)},
        {"MPI_ERR_NO_MEM", number(abi::kErrNoMem)},
        {"MPI_THREAD_SINGLE", number(abi::kThreadSingle)},
        {"MPI_THREAD_FUNNELED", number(abi::kThreadFunneled)},
        {"MPI_THREAD_SERIALIZED", number(abi::kThreadSerialized)},
        {"MPI_THREAD_MULTIPLE", number(abi::kThreadMultiple)},
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
        {"MPI_MAX_ERROR_STRING", number(abi::kErrorStringMax)},
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

Values c_types(const abi::Handles& h) {
    return {
        {"MPI_CHAR", number(h.type[abi::kTypeChar])},
        {"MPI_SIGNED_CHAR", number(h.type[abi::kTypeSignedChar])},
        {"MPI_UNSIGNED_CHAR", number(h.type[abi::kTypeUnsignedChar])},
        {"MPI_BYTE", number(h.type[abi::kTypeByte])},
        {"MPI_PACKED", number(h.type[abi::kTypePacked])},
        {"MPI_WCHAR", number(h.type[abi::kTypeWchar])},
        {"MPI_SHORT", number(h.type[abi::kTypeShort])},
        {"MPI_UNSIGNED_SHORT", number(h.type[abi::kTypeUnsignedShort])},
        {"MPI_INT", number(h.type[abi::kTypeInt])},
        {"MPI_UNSIGNED", number(h.type[abi::kTypeUnsigned])},
        {"MPI_LONG", number(h.type[abi::kTypeLong])},
        {"MPI_UNSIGNED_LONG", number(h.type[abi::kTypeUnsignedLong])},
        {"MPI_LONG_LONG", number(h.type[abi::kTypeLongLong])},
        {"MPI_UNSIGNED_LONG_LONG", number(h.type[abi::kTypeUnsignedLongLong])},
        {"MPI_FLOAT", number(h.type[abi::kTypeFloat])},
        {"MPI_DOUBLE", number(h.type[abi::kTypeDouble])},
        {"MPI_LONG_DOUBLE", number(h.type[abi::kTypeLongDouble])},
        {"MPI_C_BOOL", number(h.type[abi::kTypeCBool])},
        {"MPI_INT8_T", number(h.type[abi::kTypeInt8])},
        {"MPI_INT16_T", number(h.type[abi::kTypeInt16])},
        {"MPI_INT32_T", number(h.type[abi::kTypeInt32])},
        {"MPI_INT64_T", number(h.type[abi::kTypeInt64])},
        {"MPI_UINT8_T", number(h.type[abi::kTypeUint8])},
        {"MPI_UINT16_T", number(h.type[abi::kTypeUint16])},
        {"MPI_UINT32_T", number(h.type[abi::kTypeUint32])},
        {"MPI_UINT64_T", number(h.type[abi::kTypeUint64])},
        {"MPI_C_FLOAT_COMPLEX", number(h.type[abi::kTypeCFloatComplex])},
        {"MPI_C_DOUBLE_COMPLEX", number(h.type[abi::kTypeCDoubleComplex])},
        {"MPI_C_LONG_DOUBLE_COMPLEX", number(h.type[abi::kTypeCLongDoubleComplex])},
        {"MPI_CXX_BOOL", number(h.type[abi::kTypeCxxBool])},
        {"MPI_CXX_FLOAT_COMPLEX", number(h.type[abi::kTypeCxxFloatComplex])},
        {"MPI_CXX_DOUBLE_COMPLEX", number(h.type[abi::kTypeCxxDoubleComplex])},
        {"MPI_CXX_LONG_DOUBLE_COMPLEX", number(h.type[abi::kTypeCxxLongDoubleComplex])},
        {"MPI_AINT", number(h.type[abi::kTypeAint])},
    };
}

Values other_types(const abi::Handles& h) {
    return {
        {"MPI_OFFSET", number(h.type[abi::kTypeOffset])},
        {"MPI_COUNT", number(h.type[abi::kTypeCount_])},
        {"MPI_FLOAT_INT", number(h.type[abi::kTypeFloatInt])},
        {"MPI_DOUBLE_INT", number(h.type[abi::kTypeDoubleInt])},
        {"MPI_LONG_INT", number(h.type[abi::kTypeLongInt])},
        {"MPI_2INT", number(h.type[abi::kType2Int])},
        {"MPI_SHORT_INT", number(h.type[abi::kTypeShortInt])},
        {"MPI_LONG_DOUBLE_INT", number(h.type[abi::kTypeLongDoubleInt])},
        {"MPI_CHARACTER", number(h.type[abi::kTypeCharacter])},
        {"MPI_LOGICAL", number(h.type[abi::kTypeLogical])},
        {"MPI_INTEGER", number(h.type[abi::kTypeInteger])},
        {"MPI_REAL", number(h.type[abi::kTypeReal])},
        {"MPI_DOUBLE_PRECISION", number(h.type[abi::kTypeDoublePrecision])},
        {"MPI_COMPLEX", number(h.type[abi::kTypeComplex])},
        {"MPI_DOUBLE_COMPLEX", number(h.type[abi::kTypeDoubleComplex])},
        {"MPI_LOGICAL1", number(h.type[abi::kTypeLogical1])},
        {"MPI_LOGICAL2", number(h.type[abi::kTypeLogical2])},
        {"MPI_LOGICAL4", number(h.type[abi::kTypeLogical4])},
        {"MPI_LOGICAL8", number(h.type[abi::kTypeLogical8])},
        {"MPI_INTEGER1", number(h.type[abi::kTypeInteger1])},
        {"MPI_INTEGER2", number(h.type[abi::kTypeInteger2])},
        {"MPI_INTEGER4", number(h.type[abi::kTypeInteger4])},
        {"MPI_INTEGER8", number(h.type[abi::kTypeInteger8])},
        {"MPI_INTEGER16", number(h.type[abi::kTypeInteger16])},
        {"MPI_REAL2", number(h.type[abi::kTypeReal2])},
        {"MPI_REAL4", number(h.type[abi::kTypeReal4])},
        {"MPI_REAL8", number(h.type[abi::kTypeReal8])},
        {"MPI_REAL16", number(h.type[abi::kTypeReal16])},
        {"MPI_COMPLEX8", number(h.type[abi::kTypeComplex8])},
        {"MPI_COMPLEX16", number(h.type[abi::kTypeComplex16])},
        {"MPI_COMPLEX32", number(h.type[abi::kTypeComplex32])},
        {"MPI_2INTEGER", number(h.type[abi::kType2Integer])},
        {"MPI_2REAL", number(h.type[abi::kType2Real])},
        {"MPI_2DOUBLE_PRECISION", number(h.type[abi::kType2DoublePrecision])},
    };
}

Values operators(const abi::Handles& h) {
    return {
        {"MPI_SUM", number(h.op[abi::kOpSum])},
        {"MPI_PROD", number(h.op[abi::kOpProd])},
        {"MPI_MIN", number(h.op[abi::kOpMin])},
        {"MPI_MAX", number(h.op[abi::kOpMax])},
        {"MPI_LAND", number(h.op[abi::kOpLand])},
        {"MPI_LOR", number(h.op[abi::kOpLor])},
        {"MPI_LXOR", number(h.op[abi::kOpLxor])},
        {"MPI_BAND", number(h.op[abi::kOpBand])},
        {"MPI_BOR", number(h.op[abi::kOpBor])},
        {"MPI_BXOR", number(h.op[abi::kOpBxor])},
        {"MPI_MINLOC", number(h.op[abi::kOpMinloc])},
        {"MPI_MAXLOC", number(h.op[abi::kOpMaxloc])},
        {"MPI_REPLACE", number(h.op[abi::kOpReplace])},
        {"MPI_NO_OP", number(h.op[abi::kOpNoOp])},
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
    for (const Values& group : {constants(), special_handles(handles), c_types(handles),
                                other_types(handles), operators(handles), layouts()}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

}  // namespace tutti::mpi
