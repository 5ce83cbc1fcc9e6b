// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/front.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace tutti::mpi {

constinit Front front;
const char kLibraryVersion[64] = "Tutti " TUTTI_VERSION_STRING;
thread_local constinit ThreadState thread_state{};

namespace {

struct LoadedObject {
    std::string path;
    uintptr_t base;
};

int remember_object(dl_phdr_info* info, size_t, void* user) {
    if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
        static_cast<std::vector<LoadedObject>*>(user)->push_back(
            {info->dlpi_name, static_cast<uintptr_t>(info->dlpi_addr)});
    }
    return 0;
}

// Where the object that holds this address was loaded; 0 if it is in none.
uintptr_t base_of(const void* address) {
    Dl_info info;
    if (address == nullptr || dladdr(address, &info) == 0) return 0;
    return reinterpret_cast<uintptr_t>(info.dli_fbase);
}

// dlsym on a handle also searches what the object needs, so the address must lie in the object.
void* own_symbol(void* library, uintptr_t base, const char* name) {
    void* symbol = dlsym(library, name);
    return base_of(symbol) == base ? symbol : nullptr;
}

struct FoundHost {
    void* library = nullptr;
    uintptr_t base = 0;
    std::string path;
};

// The object that defines this function. The names are collected first: dlopen must not be called
// while the loader's list is being walked.
FoundHost find_host(const char* function) {
    std::vector<LoadedObject> objects;
    dl_iterate_phdr(remember_object, &objects);
    const uintptr_t self = base_of(&front);
    for (const LoadedObject& object : objects) {
        void* library = dlopen(object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
        if (library == nullptr) continue;
        const uintptr_t base = base_of(dlsym(library, function));
        // The address of the object's first byte; dlpi_addr is the same for a shared library.
        if (base != 0 && base == object.base && base != self) {
            return {library, base, object.path};
        }
        dlclose(library);
    }
    return {};
}

std::string file_name(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

// The flavour of a found host, as a person would call it.
const char* flavour_of(const FoundHost& host) {
    if (own_symbol(host.library, host.base, "ompi_mpi_comm_world") != nullptr) return "Open MPI";
    if (file_name(host.path).starts_with("libmpi_abi.")) return "the MPI-5 standard ABI";
    return "MPICH";
}

// Ranks that a launcher has numbered leave the message to number 0.
bool speaks_before_init() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        const char* value = getenv(name);
        if (value != nullptr && *value != '\0') return strcmp(value, "0") == 0;
    }
    return true;
}

[[noreturn]] void give_up(const std::string& message) {
    if (speaks_before_init()) {
        print_line(message.c_str());
    } else {
        let_rank_0_speak();
    }
    _exit(2);
}

// A profiling tool's function is the next one behind us in the search order, unless that is the
// host's own or belongs to a library of the host that defines the PMPI_ name too.
template <class F>
void find_tool(const FoundHost& host, const char* name, F*& slot) {
    const std::string function = std::string("MPI_") + name;
    void* next = dlsym(RTLD_NEXT, function.c_str());
    slot = nullptr;
    Dl_info info;
    if (next == nullptr || dladdr(next, &info) == 0) return;
    const auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    if (base == host.base) return;
    void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
    const bool companion =
        library != nullptr && own_symbol(library, base, ("P" + function).c_str()) != nullptr;
    if (library != nullptr) dlclose(library);
    if (!companion) slot = reinterpret_cast<F*>(next);
}

void find_tools(const FoundHost& host, abi::Host& tools) {
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) \
    find_tool(host, #Name, tools.member);
#include "mpi/abi/functions.inc"
}

// Why Tutti cannot take this host's collectives over; empty where it can, and then all is filled.
std::string obstacle_to(const FoundHost& host) {
    const char* found = flavour_of(host);
    if (strcmp(found, abi::kFlavour) != 0) {
        return "the program uses " + std::string(found) + " (" + host.path + "), but " +
               abi::kLibraryName + " is for " + abi::kFlavour;
    }
    const std::string missing = abi::load_host(host.library, "PMPI_", front.host);
    if (!missing.empty()) return host.path + " has no " + missing;
    if (!abi::load_handles(host.library, front.handles)) {
        return host.path + " lacks objects of " + abi::kFlavour;
    }
    return {};
}

// Whoever preloaded this library guessed wrong, and the program is not to blame. The environment
// was made for what the guess was, so one line is all that its settings come to.
void stand_aside(const FoundHost& host, const std::string& obstacle) {
    if (speaks_before_init()) {
        const std::string line = obstacle +
                                 "; it runs without Tutti (put `tutti run --` in front of the "
                                 "mpirun that starts it)";
        print_line(line.c_str());
    }
    front.foreign_library = host.library;
    front.is_foreign.store(true, std::memory_order_release);
}

}  // namespace

void print_line(const char* text) {
    // One write, so that lines of several ranks do not mix, and without memory, of whose lack it
    // may tell; a lost message cannot be helped.
    char before[] = "tutti: ", after[] = "\n";
    const iovec parts[] = {{before, sizeof before - 1},
                           {const_cast<char*>(text), strlen(text)},
                           {after, sizeof after - 1}};
    const ssize_t written = writev(STDERR_FILENO, parts, 3);
    static_cast<void>(written);
}

void let_rank_0_speak() {
    const timespec pause{0, 500'000'000};
    nanosleep(&pause, nullptr);
}

bool load_front() {
    if (front.is_foreign.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(front.mutex);
    if (front.loaded.load(std::memory_order_relaxed)) return true;
    if (front.is_foreign.load(std::memory_order_relaxed)) return false;
    const FoundHost host = find_host("PMPI_Init");
    if (host.library == nullptr) {
        // An MPI that was built without the names behind which its own functions are found.
        const FoundHost other = find_host("MPI_Init");
        if (other.library == nullptr) give_up("no MPI library is loaded in this process");
        stand_aside(other, other.path + " has no profiling names (PMPI_Init)");
        return false;
    }
    const std::string obstacle = obstacle_to(host);
    if (!obstacle.empty()) {
        stand_aside(host, obstacle);
        return false;
    }
    find_tools(host, front.tools);
    front.host_library = host.library;
    front.loaded.store(true, std::memory_order_release);
    return true;
}

void* find_beyond(const char* name) {
    void* next = dlsym(RTLD_NEXT, name);
    // An interpreter may have loaded its MPI where nobody else sees it.
    if (next == nullptr) next = dlsym(front.foreign_library, name);
    if (next == nullptr) give_up(std::string("this MPI has no ") + name);
    return next;
}

}  // namespace tutti::mpi
