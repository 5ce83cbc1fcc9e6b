// SPDX-License-Identifier: BSD-3-Clause
// MPI-4's collectives with large counts that Tutti does not take over, on a host that may lack
// them: this library has one table of names for all hosts, so programs that ask for them by weak
// symbols find them. Then the int form runs the call where the counts fit, and MPI_ERR_COUNT is
// raised on the communicator where they do not.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "mpi/front.h"
#include "mpi/host_calls.h"
#include "mpi/report.h"
#include "mpi/requests.h"

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
// The host has no such function, not with ints either: the same with MPI_ERR_OTHER, and a line.
int refuse_absent(Comm comm, const char* name);

namespace large {

// One side of a call: whether its counts and offsets are significant on this rank, and how many
// blocks an array of them names.
struct Side {
    bool is_significant;
    size_t blocks;
};
struct Sides {
    Side send, recv;
};
Sides sides_of(Kind kind, Comm comm, const void* send, const void* recv, int root);

// The counts and offsets of one call as ints, argument by argument, the sender's side first. What
// is not significant on this rank may hold anything, and is not looked at.
class Ints {
  public:
    explicit Ints(const Sides& sides) : sides_(sides), side_(&sides_.send) {}

    // As the form with ints takes it. The receive buffer stands between both sides.
    template <class Parameter, class T>
    Parameter to(T argument) {
        if constexpr (std::is_same_v<T, void*>) side_ = &sides_.recv;
        if constexpr (std::is_same_v<T, Parameter>) {
            return argument;
        } else if constexpr (std::is_same_v<T, Count>) {
            return number(argument);
        } else {
            return array(argument);
        }
    }
    // MPI_SUCCESS, or the error that the communicator is to be told.
    [[nodiscard]] int problem() const;
    // Calls that are not blocking may read them until they end.
    void keep(Form form, const void* request) {
        if (used_ > 0) keep_arrays(form, request, std::move(arrays_));
    }

  private:
    int number(Count count);
    const int* array(const Count* numbers);

    Sides sides_;
    const Side* side_;
    IntArrays arrays_;
    size_t used_ = 0;
    bool fit_ = true;
    bool has_memory_ = true;
};
static_assert(std::is_same_v<Count, abi::Aint>, "offsets are narrowed as counts are");

// The first argument of this type; none, if there is none.
template <class T>
T first_of() {
    return {};
}
template <class T, class First, class... Others>
T first_of(First first, Others... others) {
    if constexpr (std::is_same_v<T, First>) {
        return first;
    } else {
        return first_of<T>(others...);
    }
}

// A function that not every host has.
template <class Function, class... Arguments>
int call_if_there(const char* name, const Function& function, Arguments... arguments) {
    if (function) [[likely]]
        return function(arguments...);
    return refuse_absent(first_of<Comm>(arguments...), name);
}

// `wide` is the host's form with large counts, `narrow` that with ints. The last argument of one
// that is not blocking is the program's variable of the request.
template <Kind kKind, Form kForm, class Wide, class... Parameters, class... Arguments>
int call(const char* name, const Wide& wide, const abi::HostFunction<int(Parameters...)>& narrow,
         Arguments... arguments) {
    if (wide) return wide(arguments...);
    const Comm comm = first_of<Comm>(arguments...);
    if (!narrow) return refuse_absent(comm, name);
    Ints ints(sides_of(kKind, comm, first_of<const void*>(arguments...),
                       first_of<void*>(arguments...), first_of<int>(arguments...)));
    // In braces: one after the other, in this order.
    const std::tuple<Parameters...> narrowed{ints.to<Parameters>(arguments)...};
    const int problem = ints.problem();
    if (problem != abi::kSuccess) {
        front.host.comm_call_errhandler(comm, problem);
        return problem;
    }
    const int status = std::apply(narrow, narrowed);
    if constexpr (kForm != Form::kBlocking) {
        if (status == abi::kSuccess) ints.keep(kForm, std::get<sizeof...(arguments) - 1>(narrowed));
    }
    return status;
}

}  // namespace large
}  // namespace tutti::mpi
