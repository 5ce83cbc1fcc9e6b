// SPDX-License-Identifier: BSD-3-Clause
// MPI's opaque types as the front end holds them, of whichever ABI: a handle is a word, since it is
// a pointer or an int. One that is an int leaves the upper half zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/abi/names.h"

namespace tutti::mpi::abi {

template <class Tag>
struct Handle {
    uintptr_t bits = 0;
    bool operator==(const Handle&) const = default;
};
using Comm = Handle<struct CommTag>;
using Datatype = Handle<struct DatatypeTag>;
using Op = Handle<struct OpTag>;
using Group = Handle<struct GroupTag>;
using Request = Handle<struct RequestTag>;
using Errhandler = Handle<struct ErrhandlerTag>;
using Info = Handle<struct InfoTag>;

using Aint = intptr_t;  // `long` and `long long` are one register
using Count = int64_t;

// Room for any MPI_Status: 20 bytes of MPICH's, 24 of Open MPI's, 32 of the standard ABI's.
struct Status {
    alignas(8) std::byte host[40] = {};
};

// The predefined ones that Tutti knows. A datatype or operator that this build of the host does not
// have stands as the null handle, or as a number that nobody hands out.
struct Handles {
    Comm comm_world, comm_self, comm_null;
    Datatype type_null;
    Op op_null;
    Errhandler errors_are_fatal, errors_return;
    Datatype type[kTypeNames];
    Op op[kOpNames];
};

}  // namespace tutti::mpi::abi
