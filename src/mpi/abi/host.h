// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's functions as a table, looked up by name in its library, so that nothing is linked
// to it.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace tutti::mpi::abi {

template <class Abi>
struct HostTable {
    using Comm = typename Abi::Comm;
    using Datatype = typename Abi::Datatype;
    using Op = typename Abi::Op;
    using Group = typename Abi::Group;
    using Request = typename Abi::Request;
    using Errhandler = typename Abi::Errhandler;
    using Status = typename Abi::Status;
    using Aint = typename Abi::Aint;
    using Count = typename Abi::Count;
    using CommCopy = int(Comm, int, void*, void*, void*, int*);
    using CommDelete = int(Comm, int, void*, void*);
    using TypeCopy = int(Datatype, int, void*, void*, void*, int*);
    using TypeDelete = int(Datatype, int, void*, void*);

#define TUTTI_MPI(member, Name, need, parameters) int(*member) parameters;
#include "mpi/abi/functions.inc"
};

// Fills the table from `library`, a handle from dlopen. `prefix` is "PMPI_" for the host's own
// functions. Returns the first name that is missing, or an empty string.
template <class Abi>
std::string load_host(void* library, const std::string& prefix, HostTable<Abi>& host) {
    constexpr bool kRequired = true, kOptional = false;
    std::string missing;
    const auto find = [&](const char* name, bool is_needed, auto*& slot) {
        slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(
            dlsym(library, (prefix + name).c_str()));
        if (slot == nullptr && is_needed && missing.empty()) missing = prefix + name;
    };
#define TUTTI_MPI(member, Name, need, parameters) find(#Name, need, host.member);
#include "mpi/abi/functions.inc"
    return missing;
}

}  // namespace tutti::mpi::abi
