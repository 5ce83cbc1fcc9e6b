// SPDX-License-Identifier: BSD-3-Clause
#include "arena/peer_memory.h"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <fstream>

namespace tutti::arena {

bool ProcessMemory::read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) {
    if (is_denied_[rank]) return false;
    while (bytes > 0) {
        const iovec to{out, bytes};
        const iovec from{reinterpret_cast<void*>(address), bytes};
        const ssize_t read = process_vm_readv(pids_[rank], &to, 1, &from, 1, 0);
        if (read <= 0) {
            // Less than asked for means that what follows cannot be read; the next try says why.
            failure_ = read < 0 ? errno : EFAULT;
            is_denied_[rank] = failure_ == EPERM || failure_ == ENOSYS;
            return false;
        }
        const auto moved = static_cast<size_t>(read);
        out += moved;
        address += moved;
        bytes -= moved;
    }
    return true;
}

namespace {

// 0 without Yama.
int yama_scope() {
    std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
    int scope = 0;
    return file >> scope ? scope : 0;
}

}  // namespace

bool allow_readers() { return yama_scope() == 1 && prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) == 0; }

std::string readers_obstacle() {
    const int scope = yama_scope();
    if (scope == 0) return {};
    const std::string name = "/proc/sys/kernel/yama/ptrace_scope is " + std::to_string(scope);
    if (scope == 1) return name + ": TUTTI_SINGLE_COPY=allow opens the ranks to each other";
    return name;
}

}  // namespace tutti::arena
