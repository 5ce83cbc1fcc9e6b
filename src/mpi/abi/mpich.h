// SPDX-License-Identifier: BSD-3-Clause
// The MPICH ABI, as MPICH 4 and 5 and Intel MPI have it: handles are numbers.
// tests/unit/mpi compares every value with the real mpi.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mpi/abi/abi.h"

namespace tutti::mpi::abi {

// In the order of TypeName and OpName. Datatypes that only some of the family have are still safe
// to list: the others never hand out these numbers.
inline constexpr uint32_t kMpichTypes[kTypeNames] = {
    0x4c000101,  // CHAR
    0x4c000118,  // SIGNED_CHAR
    0x4c000102,  // UNSIGNED_CHAR
    0x4c00010d,  // BYTE
    0x4c00010f,  // PACKED
    0x4c00040e,  // WCHAR
    0x4c000203,  // SHORT
    0x4c000204,  // UNSIGNED_SHORT
    0x4c000405,  // INT
    0x4c000406,  // UNSIGNED
    0x4c000807,  // LONG
    0x4c000808,  // UNSIGNED_LONG
    0x4c000809,  // LONG_LONG
    0x4c000819,  // UNSIGNED_LONG_LONG
    0x4c00040a,  // FLOAT
    0x4c00080b,  // DOUBLE
    0x4c00100c,  // LONG_DOUBLE
    0x4c00013f,  // C_BOOL
    0x4c000137,  // INT8_T
    0x4c000238,  // INT16_T
    0x4c000439,  // INT32_T
    0x4c00083a,  // INT64_T
    0x4c00013b,  // UINT8_T
    0x4c00023c,  // UINT16_T
    0x4c00043d,  // UINT32_T
    0x4c00083e,  // UINT64_T
    0x4c000840,  // C_FLOAT_COMPLEX
    0x4c001041,  // C_DOUBLE_COMPLEX
    0x4c002042,  // C_LONG_DOUBLE_COMPLEX
    0x4c000133,  // CXX_BOOL
    0x4c000834,  // CXX_FLOAT_COMPLEX
    0x4c001035,  // CXX_DOUBLE_COMPLEX
    0x4c002036,  // CXX_LONG_DOUBLE_COMPLEX
    0x4c000843,  // AINT
    0x4c000844,  // OFFSET
    0x4c000845,  // COUNT
    0x8c000000,  // FLOAT_INT
    0x8c000001,  // DOUBLE_INT
    0x8c000002,  // LONG_INT
    0x4c000816,  // 2INT
    0x8c000003,  // SHORT_INT
    0x8c000004,  // LONG_DOUBLE_INT
    0x4c00011a,  // CHARACTER
    0x4c00041d,  // LOGICAL
    0x4c00041b,  // INTEGER
    0x4c00041c,  // REAL
    0x4c00081f,  // DOUBLE_PRECISION
    0x4c00081e,  // COMPLEX
    0x4c001022,  // DOUBLE_COMPLEX
    0x4c000147,  // LOGICAL1
    0x4c000248,  // LOGICAL2
    0x4c000449,  // LOGICAL4
    0x4c00084a,  // LOGICAL8
    0x4c00012d,  // INTEGER1
    0x4c00022f,  // INTEGER2
    0x4c000430,  // INTEGER4
    0x4c000831,  // INTEGER8
    0x4c001032,  // INTEGER16
    0x4c000226,  // REAL2
    0x4c000427,  // REAL4
    0x4c000829,  // REAL8
    0x4c00102b,  // REAL16
    0x4c000828,  // COMPLEX8
    0x4c00102a,  // COMPLEX16
    0x4c00202c,  // COMPLEX32
    0x4c000820,  // 2INTEGER
    0x4c000821,  // 2REAL
    0x4c001023,  // 2DOUBLE_PRECISION
};
inline constexpr uint32_t kMpichOps[kOpNames] = {
    0x58000003,  // SUM
    0x58000004,  // PROD
    0x58000002,  // MIN
    0x58000001,  // MAX
    0x58000005,  // LAND
    0x58000007,  // LOR
    0x58000009,  // LXOR
    0x58000006,  // BAND
    0x58000008,  // BOR
    0x5800000a,  // BXOR
    0x5800000b,  // MINLOC
    0x5800000c,  // MAXLOC
    0x5800000d,  // REPLACE
    0x5800000e,  // NO_OP
};

// The numbers need no library.
inline bool load_mpich_handles(void*, Handles& out) {
    out.comm_world = {0x44000000};
    out.comm_self = {0x44000001};
    out.comm_null = {0x04000000};
    out.type_null = {0x0c000000};
    out.op_null = {0x18000000};
    out.errors_are_fatal = {0x54000000};
    out.errors_return = {0x54000001};
    for (int i = 0; i < kTypeNames; ++i) out.type[i] = {kMpichTypes[i]};
    for (int i = 0; i < kOpNames; ++i) out.op[i] = {kMpichOps[i]};
    return true;
}

// It has an ABI of its own, and quotes the MPI behind it.
inline bool names_a_layer(const char* version) {
    for (const char* layer : {"MPIwrapper", "MPItrampoline", "wi4mpi", "Wi4MPI"}) {
        if (strstr(version, layer) != nullptr) return true;
    }
    return false;
}

// All of the family say so; what nobody knows is not called with ints for handles.
inline bool is_mpich(void*, const char* version) {
    if (names_a_layer(version)) return false;
    for (const char* word : {"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"}) {
        if (strstr(version, word) != nullptr) return true;
    }
    return false;
}

// A handle's two highest bits say how it is stored (0: invalid, 1: predefined), the next four what
// it names: enough to tell a null or a wild one from one that the host may be asked about.
inline bool may_be_mpich(Named what, uintptr_t handle, const Handles&) {
    const auto bits = static_cast<uint32_t>(handle);
    const auto names = [bits](uint32_t kind) {
        return (bits >> 30) != 0 && ((bits >> 26) & 15) == kind;
    };
    switch (what) {
        case Named::kComm:
            return names(1);
        case Named::kType:
            return names(3);
        case Named::kOp:
            return names(6);
        case Named::kUserOp:
            return (bits >> 30) != 1;
    }
    return false;
}

// The numbers hold the size, but for those of C structs, which are always there. To ask the host
// about one that this build of it does not have would be an error of the program.
inline size_t mpich_size(Datatype type, const Host&, const Handles&) {
    const auto bits = static_cast<uint32_t>(type.bits);
    if ((bits >> 28) != 8) return bits >> 8 & 255;
    constexpr size_t kPairs[] = {sizeof(float) + sizeof(int), sizeof(double) + sizeof(int),
                                 sizeof(long) + sizeof(int), sizeof(short) + sizeof(int),
                                 sizeof(long double) + sizeof(int)};
    return kPairs[bits & 7];
}

// The count's upper bits stand above the flag of cancelled messages.
inline uint64_t mpich_received(const Status& status, const Host&, const Handles&) {
    uint32_t low = 0, high_and_cancelled = 0;
    memcpy(&low, status.host, sizeof low);
    memcpy(&high_and_cancelled, status.host + sizeof low, sizeof high_and_cancelled);
    return low | static_cast<uint64_t>(high_and_cancelled >> 1) << 32;
}

inline constexpr Abi kMpichAbi{
    .name = "MPICH",
    .mark = "MPIR_Dup_fn",  // MPI_COMM_DUP_FN
    .handles_are_ints = true,
    .in_place = -1,
    .status_ignore = 1,
    .keyval_invalid = 0x24000000,
    .tag_ub = 0x64400001,
    .undefined = -32766,
    .any_source = -2,
    .root = -3,
    .err_count = 2,
    .err_arg = 12,
    .err_other = 15,
    .err_truncate = 14,
    .err_no_mem = 34,
    .topologies = {.grid = 2, .graph = 1, .distributed_graph = 3},
    .combiners = {.named = 1,
                  .dup = 2,
                  .contiguous = 3,
                  .vector = 4,
                  .hvector = 6,
                  .f90_real = 15,
                  .f90_complex = 16,
                  .f90_integer = 17,
                  .resized = 18},
    .status_bytes = 20,
    .status_source_at = 8,
    .received_bytes = mpich_received,
    .is = is_mpich,
    .load_handles = load_mpich_handles,
    .may_be = may_be_mpich,
    .predefined_size = mpich_size,
};

}  // namespace tutti::mpi::abi
