// SPDX-License-Identifier: BSD-3-Clause
// MPI-4's collectives with large counts that Tutti does not take over, on a host that may lack
// them: this library has one table of names for all hosts, so programs that ask for them by weak
// symbols find them. Then the int form runs the call where the counts fit, and MPI_ERR_COUNT is
// raised on the communicator where they do not.
#pragma once

#include "mpi/host_calls.h"

namespace tutti::mpi {

// What this rank is in a call on a communicator of whatever kind.
struct Role {
    bool is_root;  // its side of the blocks of all ranks is significant
    bool has_one;  // so is its own block
};
Role role_in(Comm comm, int root);

inline bool fits_an_int(Count count) { return count == static_cast<int>(count); }
// Calls the communicator's error handler, whose own success is not the call's.
int refuse_count(Comm comm);

namespace large {

using abi::Aint;

#define TUTTI_MPI_PASSED_LARGE(member, Name, kind, parameters, arguments) int member parameters;
#include "mpi/abi/functions.inc"

}  // namespace large
}  // namespace tutti::mpi
