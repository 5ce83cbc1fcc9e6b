// SPDX-License-Identifier: BSD-3-Clause
// The names that the program calls. PMPI_ enters Tutti; MPI_ goes to a profiling tool behind us if
// there is one, which comes back through PMPI_. Both are needed: Fortran bindings of some MPIs and
// many tools call the PMPI_ names.
//
// A handle comes as it stands in a register or on the stack, a pointer or an int. What goes to an
// MPI that Tutti does not take over, or to a tool, goes there whole: by functions of one word a
// handle, whatever the callee takes it for.
#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>

#include "mpi/collective_calls.h"
#include "mpi/counted.h"
#include "mpi/export_slots.h"
#include "mpi/front.h"
#include "mpi/init.h"
#include "mpi/large_calls.h"
#include "mpi/passed_bytes.h"
#include "mpi/requests.h"
#include "mpi/run_call.h"

namespace tutti::mpi {

namespace {

using abi::Aint;
using abi::Info;

// What Tutti does.
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    int enter_##member parameters { return body; }
#include "mpi/abi/functions.inc"

// The upper half of a register that holds an int is not defined.
template <class T>
T without_upper_half(T argument) {
    return argument;
}
template <class Tag>
abi::Handle<Tag> without_upper_half(abi::Handle<Tag> handle) {
    return {static_cast<uint32_t>(handle.bits)};
}

// The same for an MPI whose handles are ints.
template <auto kEnter, class Function>
struct Entry;
template <auto kEnter, class Status, class... Parameters>
struct Entry<kEnter, Status(Parameters...)> {
    static Status with_ints(Parameters... arguments) {
        return kEnter(without_upper_half(arguments)...);
    }
};

using Count = abi::Count;
// MPI_ERR_COUNT in every ABI that is known.
constexpr int kErrCount = 2;

template <class Parameter>
constexpr bool kIsArray = std::is_same_v<Parameter, const Count*>;  // of counts or addresses
template <class Parameter>
using AsInt = std::conditional_t<std::is_same_v<Parameter, Count>, int, Parameter>;
template <class T>
bool fits(const T& argument) {
    if constexpr (std::is_same_v<T, Count>) return fits_an_int(argument);
    return true;
}

// A name that the host behind us does not have. A program that asks whether there are large counts
// finds this library's names: those go to the host's form with int counts, where one can tell that
// they fit.
template <const char* kName, class Function>
struct Absent;
template <const char* kName, class Status, class... Parameters>
struct Absent<kName, Status(Parameters...)> {
    using Narrow = Status(AsInt<Parameters>...);
    static inline constinit std::atomic<Narrow*> mpi_narrow{nullptr};
    static inline constinit std::atomic<Narrow*> pmpi_narrow{nullptr};

    static Status by_mpi_name(Parameters... arguments) {
        return instead(mpi_narrow, kName + 1, arguments...);
    }
    static Status by_pmpi_name(Parameters... arguments) {
        return instead(pmpi_narrow, kName, arguments...);
    }

  private:
    static Status instead(const std::atomic<Narrow*>& narrow, const char* name,
                          Parameters... arguments) {
        if constexpr ((kIsArray<Parameters> || ...)) return kErrCount;
        if constexpr ((std::is_same_v<Parameters, Count> || ...)) {
            Narrow* const function = narrow.load(std::memory_order_acquire);
            if (function != nullptr) {
                if (!(fits(arguments) && ...)) return kErrCount;
                return function(static_cast<AsInt<Parameters>>(arguments)...);
            }
        }
        no_such_function(name);
    }
};
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    constexpr char kName_##member[] = "PMPI_" #Name;
#include "mpi/abi/functions.inc"

struct Slots {
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    std::atomic<int(*) parameters> member;
#include "mpi/abi/functions.inc"
};

// By either name. Until the first call of all, that is what a slot holds.
struct Mpi {
    static Slots slots;
};
struct Pmpi {
    static Slots slots;
};
template <class Names, auto kSlot, class Function>
struct FirstCall;
template <class Names, auto kSlot, class Status, class... Parameters>
struct FirstCall<Names, kSlot, Status(Parameters...)> {
    static Status call(Parameters... arguments) {
        pick_host();
        return (Names::slots.*kSlot).load(std::memory_order_acquire)(arguments...);
    }
};

#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    .member = FirstCall<Mpi, &Slots::member, int parameters>::call,
constinit Slots Mpi::slots{
#include "mpi/abi/functions.inc"
};
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    .member = FirstCall<Pmpi, &Slots::member, int parameters>::call,
constinit Slots Pmpi::slots{
#include "mpi/abi/functions.inc"
};

template <class Function>
void lead(std::atomic<Function*>& slot, void* found, Function* otherwise) {
    slot.store(found != nullptr ? reinterpret_cast<Function*>(found) : otherwise,
               std::memory_order_release);
}

// "MPI_Bcast_c" to "MPI_Bcast".
template <class Function>
void lead_narrow(std::atomic<Function*>& slot, const FindFunction& find, std::string name) {
    if (!name.ends_with("_c")) return;
    name.resize(name.size() - 2);
    slot.store(reinterpret_cast<Function*>(find(name.c_str())), std::memory_order_release);
}

}  // namespace

void lead_to_tutti(const FindFunction& find_tool) {
    const bool ints = front.host.abi.handles_are_ints;
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body)           \
    {                                                                                 \
        int(*const enter) parameters =                                                \
            ints ? Entry<enter_##member, int parameters>::with_ints : enter_##member; \
        lead(Pmpi::slots.member, nullptr, enter);                                     \
        lead(Mpi::slots.member, find_tool("MPI_" #Name), enter);                      \
    }
#include "mpi/abi/functions.inc"
}

void lead_beyond(const FindFunction& find) {
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    {                                                                       \
        using No = Absent<kName_##member, int parameters>;                  \
        lead_narrow(No::pmpi_narrow, find, "PMPI_" #Name);                  \
        lead_narrow(No::mpi_narrow, find, "MPI_" #Name);                    \
        lead(Pmpi::slots.member, find("PMPI_" #Name), No::by_pmpi_name);    \
        lead(Mpi::slots.member, find("MPI_" #Name), No::by_mpi_name);       \
    }
#include "mpi/abi/functions.inc"
}

#define TUTTI_MPI_NAME extern "C" __attribute__((visibility("default"), used)) int

#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body)  \
    TUTTI_MPI_NAME PMPI_##Name parameters {                                  \
        return Pmpi::slots.member.load(std::memory_order_acquire) arguments; \
    }                                                                        \
    TUTTI_MPI_NAME MPI_##Name parameters {                                   \
        return Mpi::slots.member.load(std::memory_order_acquire) arguments;  \
    }
#include "mpi/abi/functions.inc"

}  // namespace tutti::mpi
