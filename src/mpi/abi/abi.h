// SPDX-License-Identifier: BSD-3-Clause
// What the front end asks of an ABI at run time: a row of constants and functions for each. A new
// one is a header with its row, and a line in abis.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/abi/handles.h"
#include "mpi/abi/host.h"

namespace tutti::mpi::abi {

// Buffers of these sizes fit all of them.
inline constexpr int kObjectNameMax = 128;
inline constexpr int kLibraryVersionMax = 8192;

struct Combiners {
    int named, dup, contiguous, vector, hvector, f90_real, f90_complex, f90_integer, resized;
};

// What MPI_Topo_test answers.
struct Topologies {
    int grid, graph, distributed_graph;
};

// What a handle is asked to be.
enum class Named { kComm, kType, kOp, kUserOp };

struct Abi {
    const char* name;  // as a person would call it
    // What an MPI of this ABI itself defines, and mpi.h names, beside functions that a tool might
    // wrap.
    const char* mark;
    bool handles_are_ints;
    intptr_t in_place;
    intptr_t status_ignore;
    int keyval_invalid;
    int tag_ub;  // the keyval of the attribute
    int undefined;
    int any_source;
    int root;  // MPI_ROOT, of intercommunicators
    int err_count, err_arg, err_other, err_truncate, err_no_mem;
    Topologies topologies;
    Combiners combiners;
    size_t status_bytes;
    size_t status_source_at;  // an int
    uint64_t (*received_bytes)(const Status&, const Host&, const Handles&);
    // Whether a library with these functions, of which MPI_Init may not have been called, is of
    // this ABI.
    bool (*is)(void* library, const char* version);
    // False where the library lacks them.
    bool (*load_handles)(void* library, Handles&);
    // What can be told from a handle alone; the rest is for the host to find out. An operator of
    // the host's own that is not in our table is no user's.
    bool (*may_be)(Named, uintptr_t bits, const Handles&);
    // 0 where this build of the host has no such datatype.
    size_t (*predefined_size)(Datatype, const Host&, const Handles&);
};

std::span<const Abi* const> all();
// Looks at a library that defines PMPI_Init; null where it is of no ABI that Tutti knows. `version`
// is what its MPI_Get_library_version says, or empty.
const Abi* find_abi(void* library, const char* version);
// What that function says, into kLibraryVersionMax + 1 bytes; empty where there is none.
void read_version(void* library, char* version);
// The MPI-5 standard ABI, which Tutti does not take over yet.
bool is_standard_abi(void* library);
// A library with an ABI of its own, which translates to the MPI behind it, and says so.
bool is_layer(void* library);

}  // namespace tutti::mpi::abi
