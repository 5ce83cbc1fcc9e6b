// SPDX-License-Identifier: BSD-3-Clause
// One flavour's types, constants and host table under names that both share. A source that is built
// for both is compiled twice, with TUTTI_ABI_OMPI or TUTTI_ABI_MPICH defined; the inline namespace
// keeps the two apart where they meet in one program.
#pragma once

#include "mpi/abi/host.h"

#if defined(TUTTI_ABI_OMPI)
#include "mpi/abi/ompi.h"
#elif defined(TUTTI_ABI_MPICH)
#include "mpi/abi/mpich.h"
#else
#error "define TUTTI_ABI_OMPI or TUTTI_ABI_MPICH"
#endif

namespace tutti::mpi::abi {
#if defined(TUTTI_ABI_OMPI)
inline namespace ompi {
#else
inline namespace mpich {
#endif

using Comm = Abi::Comm;
using Datatype = Abi::Datatype;
using Op = Abi::Op;
using Group = Abi::Group;
using Request = Abi::Request;
using Errhandler = Abi::Errhandler;
using Status = Abi::Status;
using Aint = Abi::Aint;
using Count = Abi::Count;
using Host = HostTable<Abi>;

inline void* in_place() { return reinterpret_cast<void*>(kInPlace); }
inline Status* status_ignore() { return reinterpret_cast<Status*>(kStatusIgnore); }

}  // namespace
}  // namespace tutti::mpi::abi
