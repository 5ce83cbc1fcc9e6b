// SPDX-License-Identifier: BSD-3-Clause
// Open MPI 4 and 5 as a program sees them: handles are addresses of objects inside its library, so
// they are looked up by name in the library that is loaded and never referenced directly.
// tests/unit/mpi compares every value with the real mpi.h.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpi/abi/names.h"

namespace tutti::mpi::abi {
inline namespace ompi {

struct Abi {
    using Comm = struct ompi_communicator_t*;
    using Datatype = struct ompi_datatype_t*;
    using Op = struct ompi_op_t*;
    using Group = struct ompi_group_t*;
    using Request = struct ompi_request_t*;
    using Errhandler = struct ompi_errhandler_t*;
    struct Status {
        int source;
        int tag;
        int error;
        int cancelled_;
        size_t bytes_;
        [[nodiscard]] size_t bytes() const { return bytes_; }
    };
    using Aint = ptrdiff_t;
    using Count = long long;
};

inline constexpr const char* kFlavour = "Open MPI";
inline constexpr const char* kLibraryName = "libtutti-ompi.so";
inline constexpr bool kIsOmpi = true;

inline constexpr intptr_t kInPlace = 1;
inline constexpr intptr_t kStatusIgnore = 0;
inline constexpr int kKeyvalInvalid = -1;
inline constexpr int kTagUb = 0;  // the keyval of the attribute
inline constexpr int kUndefined = -32766;
inline constexpr int kAnySource = -1;
inline constexpr int kObjectNameMax = 64;
// MPICH's is larger, and a buffer of this size fits both.
inline constexpr int kLibraryVersionMax = 8192;

inline constexpr int kSuccess = 0;
inline constexpr int kErrCount = 2;
inline constexpr int kErrArg = 13;
inline constexpr int kErrOther = 16;
inline constexpr int kErrTruncate = 15;
inline constexpr int kErrNoMem = 39;

inline constexpr int kCombinerNamed = 0;
inline constexpr int kCombinerDup = 1;
inline constexpr int kCombinerContiguous = 2;
inline constexpr int kCombinerVector = 3;
inline constexpr int kCombinerHvector = 5;
inline constexpr int kCombinerF90Real = 14;
inline constexpr int kCombinerF90Complex = 15;
inline constexpr int kCombinerF90Integer = 16;
inline constexpr int kCombinerResized = 17;

// The objects behind the handles, in the order of TypeName and OpName.
inline constexpr const char* kTypeSymbols[kTypeNames] = {
    "ompi_mpi_char",
    "ompi_mpi_signed_char",
    "ompi_mpi_unsigned_char",
    "ompi_mpi_byte",
    "ompi_mpi_packed",
    "ompi_mpi_wchar",
    "ompi_mpi_short",
    "ompi_mpi_unsigned_short",
    "ompi_mpi_int",
    "ompi_mpi_unsigned",
    "ompi_mpi_long",
    "ompi_mpi_unsigned_long",
    "ompi_mpi_long_long_int",
    "ompi_mpi_unsigned_long_long",
    "ompi_mpi_float",
    "ompi_mpi_double",
    "ompi_mpi_long_double",
    "ompi_mpi_c_bool",
    "ompi_mpi_int8_t",
    "ompi_mpi_int16_t",
    "ompi_mpi_int32_t",
    "ompi_mpi_int64_t",
    "ompi_mpi_uint8_t",
    "ompi_mpi_uint16_t",
    "ompi_mpi_uint32_t",
    "ompi_mpi_uint64_t",
    "ompi_mpi_c_float_complex",
    "ompi_mpi_c_double_complex",
    "ompi_mpi_c_long_double_complex",
    "ompi_mpi_cxx_bool",
    "ompi_mpi_cxx_cplex",
    "ompi_mpi_cxx_dblcplex",
    "ompi_mpi_cxx_ldblcplex",
    "ompi_mpi_aint",
    "ompi_mpi_offset",
    "ompi_mpi_count",
    "ompi_mpi_float_int",
    "ompi_mpi_double_int",
    "ompi_mpi_long_int",
    "ompi_mpi_2int",
    "ompi_mpi_short_int",
    "ompi_mpi_longdbl_int",
    "ompi_mpi_character",
    "ompi_mpi_logical",
    "ompi_mpi_integer",
    "ompi_mpi_real",
    "ompi_mpi_dblprec",
    "ompi_mpi_cplex",
    "ompi_mpi_dblcplex",
    "ompi_mpi_logical1",
    "ompi_mpi_logical2",
    "ompi_mpi_logical4",
    "ompi_mpi_logical8",
    "ompi_mpi_integer1",
    "ompi_mpi_integer2",
    "ompi_mpi_integer4",
    "ompi_mpi_integer8",
    "ompi_mpi_integer16",
    "ompi_mpi_real2",
    "ompi_mpi_real4",
    "ompi_mpi_real8",
    "ompi_mpi_real16",
    "ompi_mpi_complex8",
    "ompi_mpi_complex16",
    "ompi_mpi_complex32",
    "ompi_mpi_2integer",
    "ompi_mpi_2real",
    "ompi_mpi_2dblprec",
};
inline constexpr const char* kOpSymbols[kOpNames] = {
    "ompi_mpi_op_sum",     "ompi_mpi_op_prod",  "ompi_mpi_op_min",    "ompi_mpi_op_max",
    "ompi_mpi_op_land",    "ompi_mpi_op_lor",   "ompi_mpi_op_lxor",   "ompi_mpi_op_band",
    "ompi_mpi_op_bor",     "ompi_mpi_op_bxor",  "ompi_mpi_op_minloc", "ompi_mpi_op_maxloc",
    "ompi_mpi_op_replace", "ompi_mpi_op_no_op",
};

// A datatype or operator that this build of the host does not have stands as the null handle.
struct Handles {
    Abi::Comm comm_world = nullptr;
    Abi::Comm comm_self = nullptr;
    Abi::Comm comm_null = nullptr;
    Abi::Datatype type_null = nullptr;
    Abi::Op op_null = nullptr;
    Abi::Errhandler errors_are_fatal = nullptr;
    Abi::Errhandler errors_return = nullptr;
    Abi::Datatype type[kTypeNames] = {};
    Abi::Op op[kOpNames] = {};
};

// `library` is a handle from dlopen. False where it is not Open MPI.
inline bool load_handles(void* library, Handles& out) {
    // A program that names the object itself often holds a copy of it (a copy relocation), which
    // the library then uses too: what the global scope finds first is the one.
    const auto take = [library](const char* symbol, auto& slot) {
        void* address = dlsym(RTLD_DEFAULT, symbol);
        if (address == nullptr) address = dlsym(library, symbol);
        slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(address);
        return slot != nullptr;
    };
    const bool found =
        take("ompi_mpi_comm_world", out.comm_world) && take("ompi_mpi_comm_self", out.comm_self) &&
        take("ompi_mpi_comm_null", out.comm_null) &&
        take("ompi_mpi_datatype_null", out.type_null) && take("ompi_mpi_op_null", out.op_null) &&
        take("ompi_mpi_errors_are_fatal", out.errors_are_fatal) &&
        take("ompi_mpi_errors_return", out.errors_return);
    if (!found) return false;
    for (int i = 0; i < kTypeNames; ++i) {
        if (!take(kTypeSymbols[i], out.type[i])) out.type[i] = out.type_null;
    }
    for (int i = 0; i < kOpNames; ++i) {
        if (!take(kOpSymbols[i], out.op[i])) out.op[i] = out.op_null;
    }
    return true;
}

// Whether this job runs with ULFM (mpirun --with-ft ulfm), after MPI_Init. Releases without it have
// no such variable; it is one byte, and where some have made it an int, its lowest.
inline bool has_fault_tolerance(void* library) {
    const void* enabled = dlsym(library, "ompi_ftmpi_enabled");
    return enabled != nullptr && *static_cast<const unsigned char*>(enabled) != 0;
}

// What can be told from a handle alone; the rest is for the host to find out.
inline bool may_be_comm(Abi::Comm comm, const Handles& handles) {
    return comm != nullptr && comm != handles.comm_null;
}
inline bool may_be_type(Abi::Datatype type, const Handles& handles) {
    return type != nullptr && type != handles.type_null;
}
inline bool may_be_op(Abi::Op op, const Handles& handles) {
    return op != nullptr && op != handles.op_null;
}
// False for an operator of the host's own that is not in our table.
inline bool may_be_user_op(Abi::Op) { return true; }

}  // namespace ompi
}  // namespace tutti::mpi::abi
