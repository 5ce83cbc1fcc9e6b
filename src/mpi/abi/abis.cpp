// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "mpi/abi/abi.h"
#include "mpi/abi/brands.h"
#include "mpi/abi/mpich.h"
#include "mpi/abi/ompi.h"

namespace tutti::mpi::abi {

namespace {

constexpr const Abi* kAbis[] = {&kOmpiAbi, &kMpichAbi};

constexpr Brand kOpenMpi{"openmpi", false, true, false, true};
constexpr Brand kMpich{"mpich", true, false, true, false};
constexpr Brand kIntel{"impi", true, false, true, false};

template <class Function>
Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

std::string load_host(void* library, const std::string& prefix, bool handles_are_ints, Host& host) {
    constexpr bool kRequired = true, kOptional = false;
    std::string missing;
    const auto set = [&](const std::string& name, bool is_needed, auto& function) {
        void* address = dlsym(library, (prefix + name).c_str());
        // Open MPI 4 has persistent collectives as an extension, PMPIX_Bcast_init.
        if (address == nullptr && name.ends_with("_init")) {
            const std::string extension = prefix.substr(0, prefix.size() - 1) + "X_" + name;
            address = dlsym(library, extension.c_str());
        }
        function.set(address, handles_are_ints);
        if (!function && is_needed && missing.empty()) missing = prefix + name;
    };
#define TUTTI_MPI(member, Name, need, parameters) set(#Name, need, host.member);
#include "mpi/abi/functions.inc"
    return missing;
}

void read_version(void* library, char* version) {
    *version = '\0';
    int length = 0;
    auto* read = find<int(char*, int*)>(library, "PMPI_Get_library_version");
    if (read == nullptr || read(version, &length) != kSuccess || length < 0) length = 0;
    version[length < kLibraryVersionMax ? length : kLibraryVersionMax] = '\0';
}

// Libraries with another ABI that know of it answer -1.
bool is_standard_abi(void* library) {
    int major = -1, minor = -1;
    auto* read = find<int(int*, int*)>(library, "PMPI_Abi_get_version");
    return read != nullptr && read(&major, &minor) == kSuccess && major >= 1;
}

bool is_layer(void* library) {
    char version[kLibraryVersionMax + 1];
    if (is_standard_abi(library)) return true;
    read_version(library, version);
    return names_a_layer(version);
}

std::span<const Abi* const> all() { return kAbis; }

const Abi* find_abi(void* library, const char* version) {
    // First, since such a library may stand on one that has the objects of another ABI.
    if (is_standard_abi(library)) return nullptr;
    for (const Abi* abi : kAbis) {
        if (abi->is(library, version)) return abi;
    }
    return nullptr;
}

const Brand* find_brand(const char* version) {
    if (!is_mpich(nullptr, version)) return &kOpenMpi;
    return strstr(version, "Intel(R) MPI") != nullptr ? &kIntel : &kMpich;
}

// Releases without it have no such variable; it is one byte, and where some have made it an int,
// its lowest.
bool has_fault_tolerance(void* library) {
    const void* enabled = dlsym(library, "ompi_ftmpi_enabled");
    return enabled != nullptr && *static_cast<const unsigned char*>(enabled) != 0;
}

}  // namespace tutti::mpi::abi
