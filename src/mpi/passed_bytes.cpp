// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/passed_bytes.h"

#include <cstring>

#include "mpi/buffers.h"
#include "mpi/front.h"
#include "mpi/run.h"

namespace tutti::mpi::passed {

uint64_t bytes(Count count, Datatype type) { return bytes_of(count, type); }

// A handle in the program is a pointer or an int.
Datatype type_at(const void* types, uint32_t index) {
    if (!front.abi.handles_are_ints) {
        return {static_cast<const uintptr_t*>(types)[index]};
    }
    uint32_t bits = 0;
    memcpy(&bits, static_cast<const std::byte*>(types) + index * sizeof bits, sizeof bits);
    return {bits};
}

uint32_t peers(const CommState& state) {
    if (!state.is_inter) return state.size;
    int size = 0;
    front.host.comm_remote_size(state.comm, &size);
    return static_cast<uint32_t>(size);
}

bool is_in_place(const void* buffer) { return mpi::is_in_place(buffer); }

bool is_root(const CommState& state, int root) {
    return state.is_inter ? root == front.abi.root : root == static_cast<int>(state.rank);
}

// MPI_PROC_NULL is negative.
bool has_part(const CommState& state, int root) { return !state.is_inter || root >= 0; }

}  // namespace tutti::mpi::passed
