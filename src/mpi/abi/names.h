// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes and operators of MPI by number, so that tables of all ABIs have the same
// order.
#pragma once

namespace tutti::mpi::abi {

enum TypeName {
#define TUTTI_MPI_TYPE(identifier, NAME, type_class, dtype) identifier,
#include "mpi/abi/types.inc"
    kTypeNames,
};

enum OpName {
#define TUTTI_MPI_OP(identifier, NAME, number) identifier,
#include "mpi/abi/types.inc"
    kOpNames,
};

}  // namespace tutti::mpi::abi
