// SPDX-License-Identifier: BSD-3-Clause
// The MPICH ABI, as MPICH 4 and 5 and Intel MPI have it: handles are numbers.
// tests/unit/mpi compares every value with the real mpi.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/abi/names.h"

namespace tutti::mpi::abi {
inline namespace mpich {

struct Abi {
    using Comm = int;
    using Datatype = int;
    using Op = int;
    using Group = int;
    using Request = int;
    using Errhandler = int;
    struct Status {
        int bytes_low_;
        int bytes_high_and_cancelled_;
        int source;
        int tag;
        int error;
        // The count's upper bits stand above the flag of cancelled messages.
        [[nodiscard]] size_t bytes() const {
            return static_cast<size_t>(static_cast<unsigned>(bytes_low_)) |
                   static_cast<size_t>(static_cast<unsigned>(bytes_high_and_cancelled_) >> 1) << 32;
        }
    };
    using Aint = long;
    using Count = long;
};

inline constexpr const char* kFlavour = "MPICH";
inline constexpr const char* kLibraryName = "libtutti-mpich.so";
inline constexpr bool kIsOmpi = false;

inline constexpr intptr_t kInPlace = -1;
inline constexpr intptr_t kStatusIgnore = 1;
inline constexpr int kKeyvalInvalid = 0x24000000;
inline constexpr int kTagUb = 0x64400001;  // the keyval of the attribute
inline constexpr int kUndefined = -32766;
inline constexpr int kAnySource = -2;
inline constexpr int kObjectNameMax = 128;
inline constexpr int kLibraryVersionMax = 8192;

inline constexpr int kSuccess = 0;
inline constexpr int kErrCount = 2;
inline constexpr int kErrArg = 12;
inline constexpr int kErrOther = 15;
inline constexpr int kErrTruncate = 14;
inline constexpr int kErrNoMem = 34;

inline constexpr int kCombinerNamed = 1;
inline constexpr int kCombinerDup = 2;
inline constexpr int kCombinerContiguous = 3;
inline constexpr int kCombinerVector = 4;
inline constexpr int kCombinerHvector = 6;
inline constexpr int kCombinerF90Real = 15;
inline constexpr int kCombinerF90Complex = 16;
inline constexpr int kCombinerF90Integer = 17;
inline constexpr int kCombinerResized = 18;

inline constexpr int kTypeNull = 0x0c000000;
inline constexpr int kOpNull = 0x18000000;

// In the order of TypeName and OpName. Datatypes that only some of the family have are still safe
// to list: the others never hand out these numbers.
inline constexpr uint32_t kTypeValues[kTypeNames] = {
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
inline constexpr uint32_t kOpValues[kOpNames] = {
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

struct Handles {
    Abi::Comm comm_world = 0x44000000;
    Abi::Comm comm_self = 0x44000001;
    Abi::Comm comm_null = 0x04000000;
    Abi::Datatype type_null = kTypeNull;
    Abi::Op op_null = kOpNull;
    Abi::Errhandler errors_are_fatal = 0x54000000;
    Abi::Errhandler errors_return = 0x54000001;
    Abi::Datatype type[kTypeNames] = {};
    Abi::Op op[kOpNames] = {};
};

// The numbers need no library; the argument is there for the other flavour.
inline bool load_handles(void*, Handles& out) {
    for (int i = 0; i < kTypeNames; ++i) out.type[i] = static_cast<int>(kTypeValues[i]);
    for (int i = 0; i < kOpNames; ++i) out.op[i] = static_cast<int>(kOpValues[i]);
    return true;
}

// These have MPIX_Comm_shrink and its kin by name, but a peer's death ends the job all the same.
inline bool has_fault_tolerance(void*) { return false; }

// A handle's two highest bits say how it is stored (0: invalid), the next four what it names:
// enough to tell a null or a wild one from one that the host may be asked about.
inline constexpr bool names(int handle, uint32_t kind) {
    const auto bits = static_cast<uint32_t>(handle);
    return (bits >> 30) != 0 && ((bits >> 26) & 15) == kind;
}
inline bool may_be_comm(Abi::Comm comm, const Handles&) { return names(comm, 1); }
inline bool may_be_type(Abi::Datatype type, const Handles&) { return names(type, 3); }
inline bool may_be_op(Abi::Op op, const Handles&) { return names(op, 6); }
// False for an operator of the host's own that is not in our table.
inline bool may_be_user_op(Abi::Op op) { return (static_cast<uint32_t>(op) >> 30) != 1; }

}  // namespace mpich
}  // namespace tutti::mpi::abi
