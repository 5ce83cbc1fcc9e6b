// SPDX-License-Identifier: BSD-3-Clause
#include "run/arena/process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/random.h"

namespace tutti::arena {
namespace {

std::string read_file(const char* path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Field 22 of /proc/self/stat; the second field, the name, may hold blanks and brackets.
uint64_t start_time() {
    const std::string text = read_file("/proc/self/stat");
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 22; ++field) fields >> skipped;
    uint64_t ticks = 0;
    fields >> ticks;
    return ticks;
}

}  // namespace

ProcessId this_process() {
    ProcessId id;
    struct stat info {};
    if (stat("/proc/self/ns/pid", &info) == 0) id.pid_space = info.st_ino;
    id.started = start_time();
    id.pid = getpid();
    return id;
}

uint64_t hash_of(const ProcessId& process) {
    constexpr uint64_t kPrime = 0x9e3779b97f4a7c15u;
    uint64_t hash = 0;
    for (const uint64_t word :
         {process.pid_space, process.started, static_cast<uint64_t>(process.pid)}) {
        hash = (hash ^ word) * kPrime;
        hash ^= hash >> 32;
    }
    return hash;
}

uint64_t hash_text(const std::string& text, uint64_t seed) {
    uint64_t hash = seed;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3u;
    }
    return hash;
}

std::string host_name() {
    char name[256] = {};
    gethostname(name, sizeof(name) - 1);
    return name;
}

uint64_t machine_hash() { return hash_text(read_file("/proc/sys/kernel/random/boot_id")); }

uint64_t node_hash() {
    struct stat info {};
    const bool has_network = stat("/proc/self/ns/net", &info) == 0;
    const std::string network = std::to_string(has_network ? info.st_ino : 0);
    return hash_text(host_name() + "/" + network, machine_hash());
}

uint64_t scheduling_group() {
    if (read_file("/proc/sys/kernel/sched_autogroup_enabled").substr(0, 1) != "1") return 0;
    const std::string text = read_file("/proc/self/autogroup");  // "/autogroup-123 nice 0"
    return text.empty() ? 0 : hash_text(text.substr(0, text.find(' ')));
}

uint64_t random_token() { return random_number(); }

}  // namespace tutti::arena
