// SPDX-License-Identifier: BSD-3-Clause
// Open MPI 4 and 5 as a program sees them: handles are addresses of objects inside its library, so
// they are looked up by name in the library that is loaded and never referenced directly.
// tests/unit/mpi compares every value with the real mpi.h.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mpi/abi/abi.h"

namespace tutti::mpi::abi {

// The objects behind the handles, in the order of TypeName and OpName.
inline constexpr const char* kOmpiTypes[kTypeNames] = {
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
inline constexpr const char* kOmpiOps[kOpNames] = {
    "ompi_mpi_op_sum",     "ompi_mpi_op_prod",  "ompi_mpi_op_min",    "ompi_mpi_op_max",
    "ompi_mpi_op_land",    "ompi_mpi_op_lor",   "ompi_mpi_op_lxor",   "ompi_mpi_op_band",
    "ompi_mpi_op_bor",     "ompi_mpi_op_bxor",  "ompi_mpi_op_minloc", "ompi_mpi_op_maxloc",
    "ompi_mpi_op_replace", "ompi_mpi_op_no_op",
};

// `library` is a handle from dlopen.
inline bool load_ompi_handles(void* library, Handles& out) {
    // A program that names the object itself often holds a copy of it (a copy relocation), which
    // the library then uses too: what the global scope finds first is the one.
    const auto take = [library](const char* symbol, auto& slot) {
        void* address = dlsym(RTLD_DEFAULT, symbol);
        if (address == nullptr) address = dlsym(library, symbol);
        slot = {reinterpret_cast<uintptr_t>(address)};
        return address != nullptr;
    };
    const bool found =
        take("ompi_mpi_comm_world", out.comm_world) && take("ompi_mpi_comm_self", out.comm_self) &&
        take("ompi_mpi_comm_null", out.comm_null) &&
        take("ompi_mpi_datatype_null", out.type_null) && take("ompi_mpi_op_null", out.op_null) &&
        take("ompi_mpi_errors_are_fatal", out.errors_are_fatal) &&
        take("ompi_mpi_errors_return", out.errors_return);
    if (!found) return false;
    for (int i = 0; i < kTypeNames; ++i) {
        if (!take(kOmpiTypes[i], out.type[i])) out.type[i] = out.type_null;
    }
    for (int i = 0; i < kOpNames; ++i) {
        if (!take(kOmpiOps[i], out.op[i])) out.op[i] = out.op_null;
    }
    return true;
}

// In the library itself or in one that it stands on.
inline bool is_ompi(void* library, const char*) {
    return dlsym(library, "ompi_mpi_comm_world") != nullptr;
}

inline bool may_be_ompi(Named what, uintptr_t bits, const Handles& handles) {
    if (bits == 0) return false;
    switch (what) {
        case Named::kComm:
            return bits != handles.comm_null.bits;
        case Named::kType:
            return bits != handles.type_null.bits;
        case Named::kOp:
            return bits != handles.op_null.bits;
        case Named::kUserOp:
            return true;
    }
    return false;
}

inline size_t ompi_size(Datatype type, const Host& host, const Handles& handles) {
    Count size = 0;
    if (type == handles.type_null || host.type_size_x(type, &size) != kSuccess || size < 0)
        return 0;
    return static_cast<size_t>(size);
}

inline uint64_t ompi_received(const Status& status, const Host&, const Handles&) {
    uint64_t bytes = 0;
    memcpy(&bytes, status.host + 16, sizeof bytes);
    return bytes;
}

inline constexpr Abi kOmpiAbi{
    .name = "Open MPI",
    .mark = "ompi_mpi_comm_world",
    .handles_are_ints = false,
    .in_place = 1,
    .status_ignore = 0,
    .keyval_invalid = -1,
    .tag_ub = 0,
    .undefined = -32766,
    .any_source = -1,
    .root = -4,
    .err_count = 2,
    .err_arg = 13,
    .err_other = 16,
    .err_truncate = 15,
    .err_no_mem = 39,
    .topologies = {.grid = 1, .graph = 2, .distributed_graph = 3},
    .combiners = {.named = 0,
                  .dup = 1,
                  .contiguous = 2,
                  .vector = 3,
                  .hvector = 5,
                  .f90_real = 14,
                  .f90_complex = 15,
                  .f90_integer = 16,
                  .resized = 17},
    .status_bytes = 24,
    .status_source_at = 0,
    .received_bytes = ompi_received,
    .is = is_ompi,
    .load_handles = load_ompi_handles,
    .may_be = may_be_ompi,
    .predefined_size = ompi_size,
};

}  // namespace tutti::mpi::abi
