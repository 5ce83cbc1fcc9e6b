// SPDX-License-Identifier: BSD-3-Clause
// The names that the program calls. PMPI_ enters Tutti; MPI_ goes to a profiling tool behind us if
// there is one, which comes back through PMPI_. Both are needed: Fortran bindings of some MPIs and
// many tools call the PMPI_ names.
#include <cstdint>
#include <type_traits>

#include "mpi/collectives.h"
#include "mpi/front.h"
#include "mpi/init.h"
#include "mpi/run.h"

namespace tutti::mpi::exported {

using abi::Aint;

// A handle as it comes in a register or on the stack, of whichever MPI: a pointer or an int. What
// goes to a host that is not ours must go there whole.
template <class Own>
struct Handle {
    uintptr_t bits;
    operator Own() const {  // NOLINT(google-explicit-constructor): it stands where an Own stands
        if constexpr (std::is_pointer_v<Own>)
            return reinterpret_cast<Own>(bits);
        else
            return static_cast<Own>(bits);
    }
};
using Comm = Handle<abi::Comm>;
using Datatype = Handle<abi::Datatype>;
using Op = Handle<abi::Op>;

#define TUTTI_MPI_NAME extern "C" __attribute__((visibility("default"), used))

// What the program calls where this library stands aside.
#define TUTTI_MPI_BEYOND(name, parameters, arguments)                             \
    if (!is_host_ours()) [[unlikely]] {                                           \
        using Beyond = int parameters;                                            \
        static const auto beyond = reinterpret_cast<Beyond*>(find_beyond(#name)); \
        return beyond arguments;                                                  \
    }

// MPI_Name and PMPI_Name.
#define TUTTI_MPI_PAIR(member, Name, parameters, arguments, body)               \
    TUTTI_MPI_NAME int PMPI_##Name parameters {                                 \
        TUTTI_MPI_BEYOND(PMPI_##Name, parameters, arguments)                    \
        return body;                                                            \
    }                                                                           \
    TUTTI_MPI_NAME int MPI_##Name parameters {                                  \
        TUTTI_MPI_BEYOND(MPI_##Name, parameters, arguments)                     \
        if (front.tools.member != nullptr) return front.tools.member arguments; \
        return body;                                                            \
    }
#define TUTTI_MPI_PAIR_kRequired TUTTI_MPI_PAIR
// MPI-4's large counts. Open MPI up to version 5 has none, and programs ask for them by weak
// symbols (mpi4py does): to offer what the host cannot do would change what they call.
#if defined(TUTTI_ABI_MPICH)
#define TUTTI_MPI_PAIR_kOptional TUTTI_MPI_PAIR
#else
#define TUTTI_MPI_PAIR_kOptional(...)
#endif
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    TUTTI_MPI_PAIR_##need(member, Name, parameters, arguments, body)
#include "mpi/abi/functions.inc"

}  // namespace tutti::mpi::exported
