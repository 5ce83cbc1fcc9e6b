// SPDX-License-Identifier: BSD-3-Clause
#include "lab/machine/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>

#include "base/memory_file.h"
#include "base/text.h"
#include "base/topo/node_topology.h"
#include "run/arena/xpmem.h"
#include "run/node/kernels/kernels.h"
#include "run/transport/carrier/code.h"

namespace tutti::machine {
namespace {

// "2 Package, 8 L3": how many objects of each level there are.
std::string level_text(const topo::NodeTopology& topology) {
    std::string text;
    for (size_t level = 0; level < topology.level_names.size(); ++level) {
        std::set<uint32_t> objects;
        for (const auto& place : topology.place) {
            if (level < place.size()) objects.insert(place[level]);
        }
        text +=
            fmt::format("{}{} {}", level ? ", " : "", objects.size(), topology.level_names[level]);
    }
    return text.empty() ? "none that tell processors apart: every team is flat" : text;
}

std::string topology_text() {
    const auto topology = topo::read_node_topology("");
    if (!topology) return "off: " + topology.error().message;
    return level_text(topology.value());
}

std::string processor_text() {
    const uint32_t allowed = topo::affinity().count();
    std::string text = fmt::format("{} of {} by affinity", allowed, sysconf(_SC_NPROCESSORS_ONLN));
    if (const auto quota = topo::cgroup_cpu_quota("/")) {
        text += fmt::format(", {} by the cgroup's quota", *quota);
    }
    return text;
}

// Amounts that change all the time, so rounded, unlike format_bytes().
std::string amount(uint64_t bytes) {
    constexpr double kMiB = 1 << 20;
    return bytes >> 30 ? fmt::format("{:.1f} GiB", static_cast<double>(bytes) / kMiB / 1024)
                       : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
}

std::string failed() { return fmt::format("off: {}", std::strerror(errno)); }

// The whole way that a segment takes between two processes: made by memfd, space reserved, opened
// by another process through /proc.
std::string memfd_text() {
    const int descriptor = make_memory_file("tutti-info");
    if (descriptor < 0) return failed();
    std::string text = "works";
    if (posix_fallocate(descriptor, 0, 1 << 16) != 0) text = "off: no space can be reserved";
    close(descriptor);
    return text;
}

// Exit statuses of the child that tries.
constexpr int kReached = 0;
constexpr int kNotReached = 1;

std::string proc_text() {
    const int descriptor = make_memory_file("tutti-info");
    if (descriptor < 0) return failed();
    const std::string path = fmt::format("/proc/{}/fd/{}", getpid(), descriptor);
    const pid_t child = fork();
    if (child == 0) {
        close(descriptor);
        _exit(open(path.c_str(), O_RDWR | O_CLOEXEC) >= 0 ? kReached : kNotReached);
    }
    int status = -1;
    if (child > 0) waitpid(child, &status, 0);
    close(descriptor);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kReached) return "reachable";
    return "not reachable: segments travel over a socket (SCM_RIGHTS)";
}

std::string dev_shm_text() {
    struct statvfs status {};
    if (statvfs("/dev/shm", &status) != 0) return fmt::format("absent ({})", std::strerror(errno));
    const uint64_t block = status.f_frsize;
    return fmt::format("{} free of {} (not used: segments are memfd)",
                       amount(block * status.f_bavail), amount(block * status.f_blocks));
}

std::string available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    uint64_t kib = 0;
    std::string unit;
    while (file >> name >> kib) {
        std::getline(file, unit);
        if (name == "MemAvailable:") return amount(kib << 10);
    }
    return "unknown";
}

std::string headroom_text() {
    std::string text = available_memory() + " available";
    if (const auto headroom = topo::cgroup_memory_headroom("/")) {
        text += fmt::format(", {} under the cgroup's limit", amount(*headroom));
    }
    return text;
}

std::string file_limit_text() {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return failed();
    if (limit.rlim_cur == RLIM_INFINITY) return "none";
    return format_bytes(limit.rlim_cur) +
           " (ulimit -f): a communicator that needs more goes to your MPI";
}

// As a context opens it.
std::string xpmem_text(SingleCopyChoice single_copy) {
    const auto library = arena::XpmemLibrary::open();
    if (!library) return "off, " + library.error().message;
    if (single_copy == SingleCopyChoice::kXpmem) return "works";
    return "off, works with TUTTI_SINGLE_COPY=xpmem";
}

}  // namespace

FactRow processor_facts(const McastSettings& settings) {
    FactRow row;
    row.subject = "machine";
    row.add("processors", processor_text());
    row.add("levels", topology_text());
    row.add("kernels", node::isa_name(node::best_isa(IsaChoice::kAuto)));
    row.add("multicast codes", code_text(settings));
    return row;
}

std::string code_text(const McastSettings& settings) {
    auto key = transport::carrier::random_key();
    if (!key) return "off: " + key.error().message;
    key.value().protection = transport::carrier::protection_of(settings);
    if (const auto prepared = transport::carrier::prepare(key.value()); !prepared) {
        return "off: " + prepared.error().message;
    }
    constexpr size_t kEthernet = 1472;
    constexpr size_t kInfiniBand = 4096;
    const auto gbit = [&](size_t bytes) {
        const uint64_t rate = transport::carrier::code_bytes_per_s(key.value(), bytes);
        return static_cast<double>(rate) * 8e-9;
    };
    // By Protection.
    constexpr const char* kWhat[] = {"over all", "over all, encrypted", "over headers", "none"};
    return fmt::format("{}: at most {:.1f} Gbit/s in packets of {} bytes, {:.1f} of {}",
                       kWhat[static_cast<size_t>(key.value().protection)], gbit(kEthernet),
                       kEthernet, gbit(kInfiniBand), kInfiniBand);
}

FactRow memory_facts(SingleCopyChoice single_copy) {
    FactRow row;
    row.subject = "shared memory";
    row.add("memory", headroom_text());
    row.add("memfd", memfd_text());
    row.add("/proc/PID/fd", proc_text());
    row.add("file size limit", file_limit_text());
    row.add("/dev/shm", dev_shm_text());
    row.add("XPMEM", xpmem_text(single_copy));
    return row;
}

}  // namespace tutti::machine
