// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/passed_bytes.h"

#include "mpi/buffers.h"
#include "mpi/front.h"

namespace tutti::mpi::passed {

Datatype type_at(const void* types, uint32_t index) { return {handle_at(types, index)}; }

bool is_in_place(const void* buffer) { return mpi::is_in_place(buffer); }

bool is_root(const Members& members, int root) {
    return members.is_inter ? root == front.host.abi.root : root == static_cast<int>(members.rank);
}

// MPI_PROC_NULL is negative.
bool has_part(const Members& members, int root) { return !members.is_inter || root >= 0; }

}  // namespace tutti::mpi::passed
