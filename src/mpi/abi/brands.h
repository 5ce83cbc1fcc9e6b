// SPDX-License-Identifier: BSD-3-Clause
// What MPIs do beyond their ABI: behind one ABI stand several. Told apart by what
// MPI_Get_library_version says.
#pragma once

namespace tutti::mpi::abi {

struct Brand {
    const char* rules_name;  // as rules call it
    // A null pointer that is no MPI_BOTTOM is an error. Open MPI does not look and runs into it.
    bool rejects_null_buffers;
    // A reduce_scatter (or _block), scan or exscan of a buffer into itself is taken for one in
    // place, as is an allreduce of one element or at MPI_BOTTOM; all other such reductions are
    // errors. Elsewhere all are.
    bool takes_some_into_itself;
    // A rank's own block that names its place among all is an error, and so is an alltoall of a
    // buffer into itself. Open MPI copies the block onto itself, and runs the alltoall; which data
    // that moves depends on its algorithm.
    bool rejects_own_block;
    // An alltoall whose two sides differ in bytes on a rank is an error there, and so is an
    // alltoallv of which the own block does; elsewhere a rank may have room for more than it is
    // sent.
    bool compares_alltoall_sizes;
};

// `version` is that text.
const Brand* find_brand(const char* version);

// Whether this job runs with ULFM (mpirun --with-ft ulfm), after MPI_Init. Others have
// MPIX_Comm_shrink and its kin by name, but a peer's death ends the job all the same.
bool has_fault_tolerance(void* library);

}  // namespace tutti::mpi::abi
