// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/front.h"

#include <dlfcn.h>
#include <link.h>
#include <strings.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <type_traits>
#include <vector>

#include "mpi/export_slots.h"
#include "mpi/finish_report.h"

namespace tutti::mpi {

constinit Front front;
// No destructor of it runs before the last calls of the program.
static_assert(std::is_trivially_destructible_v<Front>);
const char kLibraryVersion[64] = "Tutti " TUTTI_VERSION_STRING;
thread_local constinit ThreadState thread_state{};

namespace {

constexpr const char* kProfilingNames[] = {
#define TUTTI_MPI_EXPORTED(member, Name, need, parameters, arguments, body) "PMPI_" #Name,
#include "mpi/abi/functions.inc"
};

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

struct Library {
    void* handle = nullptr;
    uintptr_t base = 0;
    std::string path;
    bool is_before_tutti = false;  // in the order in which names are searched
};

// What defines this function, in the order of loading. The names are collected first: dlopen must
// not be called while the loader's list is being walked.
std::vector<Library> definers_of(const char* function) {
    std::vector<LoadedObject> objects;
    dl_iterate_phdr(remember_object, &objects);
    const uintptr_t self = base_of(&front);
    std::vector<Library> found;
    bool is_before = true;
    for (const LoadedObject& object : objects) {
        if (object.base == self) is_before = false;
        void* handle = dlopen(object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
        if (handle == nullptr) continue;
        // The address of the object's first byte; dlpi_addr is the same for a shared library.
        if (object.base != self && own_symbol(handle, object.base, function) != nullptr) {
            found.push_back({handle, object.base, object.path, is_before});
        } else {
            dlclose(handle);
        }
    }
    return found;
}

// A symbol of an MPI's ABI, beside its functions, that this library itself defines; null where
// there is none. Tools wrap functions, and have no such symbol.
const char* mark_of(const Library& library) {
    for (const abi::Abi* one : abi::all()) {
        if (own_symbol(library.handle, library.base, one->mark) != nullptr) return one->mark;
    }
    return nullptr;
}

// It wraps an MPI that is found behind it. A layer that translates to an MPI of another ABI has
// that MPI where the program does not see it, or says what it is.
bool is_tool(const Library& library, const std::vector<Library>& definers) {
    if (mark_of(library) != nullptr) return false;
    // What goes before Tutti calls it, and is never called by it.
    if (library.is_before_tutti) return true;
    if (abi::is_layer(library.handle)) return false;
    return std::any_of(definers.begin(), definers.end(), [](const Library& other) {
        const char* const mark = mark_of(other);
        return mark != nullptr && base_of(dlsym(RTLD_NEXT, mark)) == other.base;
    });
}

// The object that defines this function and is no tool. Where there is none, the last one: tools
// pass calls on to what comes after them.
Library find_host(const char* function) {
    const std::vector<Library> definers = definers_of(function);
    if (definers.empty()) return {};
    auto host = std::find_if_not(definers.begin(), definers.end(), [&](const Library& library) {
        return is_tool(library, definers);
    });
    if (host == definers.end()) --host;
    for (auto other = definers.begin(); other != definers.end(); ++other) {
        if (other != host) dlclose(other->handle);
    }
    return *host;
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

// What is next behind Tutti in the search order, where that is a tool's. Null where there is none.
void* find_tool(const Library& host, const std::string& function) {
    void* next = dlsym(RTLD_NEXT, function.c_str());
    Dl_info info;
    if (next == nullptr || dladdr(next, &info) == 0) return nullptr;
    Library library{nullptr, reinterpret_cast<uintptr_t>(info.dli_fbase), info.dli_fname};
    if (library.base == host.base) return nullptr;
    library.handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
    const bool is_mpi = library.handle != nullptr && mark_of(library) != nullptr;
    if (library.handle != nullptr) dlclose(library.handle);
    return is_mpi ? nullptr : next;
}

// A tool behind Tutti that defines PMPI_ names, too, hands calls on to the host and never back to
// Tutti: which of the two sees a call is a matter of their order. Empty where there is none.
std::string tool_in_the_way(const Library& host) {
    for (const char* name : kProfilingNames) {
        Dl_info info;
        void* tool = find_tool(host, name);
        if (tool == nullptr || dladdr(tool, &info) == 0) continue;
        return std::string(info.dli_fname) + " defines " + name +
               ", too, and is loaded behind Tutti (before it in LD_PRELOAD, both would work)";
    }
    return {};
}

// Why Tutti cannot take this host's collectives over; empty where it can, and then all is filled.
std::string obstacle_to(const Library& host) {
    if (abi::is_standard_abi(host.handle)) {
        return "the program uses the MPI-5 standard ABI (" + host.path +
               "), which Tutti does not take over yet";
    }
    char version[abi::kLibraryVersionMax + 1];
    abi::read_version(host.handle, version);
    const abi::Abi* found = abi::find_abi(host.handle, version);
    if (found == nullptr) return host.path + " is no MPI that Tutti knows";
    const std::string missing =
        abi::load_host(host.handle, "PMPI_", found->handles_are_ints, front.host);
    if (!missing.empty()) return host.path + " has no " + missing;
    if (!found->load_handles(host.handle, front.host.handles)) {
        return host.path + " lacks objects of " + found->name;
    }
    const std::string tool = tool_in_the_way(host);
    if (!tool.empty()) return tool;
    front.host.abi = *found;
    front.host.brand = abi::find_brand(version);
    front.own.comm_key = front.own.type_key = found->keyval_invalid;
    front.host.library = host.handle;
    return {};
}

// The program is not to blame: one line, and it runs as it would without Tutti.
void run_without_tutti(const Library& host, const std::string& obstacle) {
    if (!is_off_here() && speaks_before_init()) {
        print_line((obstacle + "; it runs without Tutti").c_str());
        leave_mark();  // that is all there is to say
    }
    lead_beyond([&host](const char* name) {
        void* next = dlsym(RTLD_NEXT, name);
        // An interpreter may have loaded its MPI where nobody else sees it.
        return next != nullptr ? next : dlsym(host.handle, name);
    });
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

bool is_off_here() {
    const char* value = getenv("TUTTI");
    if (value == nullptr) return false;
    for (const char* off : {"off", "0", "no", "false"}) {
        if (strcasecmp(value, off) == 0) return true;
    }
    return false;
}

void let_rank_0_speak() {
    const timespec pause{0, 500'000'000};
    nanosleep(&pause, nullptr);
}

// An interpreter may have loaded its MPI where nobody else sees it.
void* function_behind(const char* name) {
    void* next = dlsym(RTLD_NEXT, name);
    if (next != nullptr) return next;
    const Library host = find_host(name);
    return host.handle != nullptr ? dlsym(host.handle, name) : nullptr;
}

void pick_host() {
    const std::lock_guard lock(front.mutex);
    if (front.host.is_picked) return;
    const Library host = find_host("PMPI_Init");
    if (host.handle == nullptr) {
        // An MPI that was built without the names behind which its own functions are found.
        const Library other = find_host("MPI_Init");
        if (other.handle == nullptr) give_up("no MPI library is loaded in this process");
        run_without_tutti(other, other.path + " has no profiling names (PMPI_Init)");
    } else if (const std::string obstacle = obstacle_to(host); !obstacle.empty()) {
        run_without_tutti(host, obstacle);
    } else {
        lead_to_tutti([&host](const char* name) { return find_tool(host, name); });
    }
    front.host.is_picked = true;
}

void no_such_function(const char* name) { give_up(std::string("this MPI has no ") + name); }

}  // namespace tutti::mpi
