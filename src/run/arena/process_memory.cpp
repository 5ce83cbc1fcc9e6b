// SPDX-License-Identifier: BSD-3-Clause
#include "run/arena/process_memory.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"

namespace tutti::arena {

bool ProcessMemory::read(node::Rank rank, std::byte* out, uint64_t address, size_t bytes) {
    if (denied_[rank] != 0) return false;
    while (bytes > 0) {
        const iovec to{out, bytes};
        const iovec from{reinterpret_cast<void*>(address), bytes};
        const ssize_t read = process_vm_readv(pids_[rank], &to, 1, &from, 1, 0);
        if (read <= 0) {
            // Less than asked for means that what follows cannot be read; the next try says why.
            failure_ = read < 0 ? errno : EFAULT;
            if (failure_ == EPERM || failure_ == ENOSYS) denied_[rank] = failure_;
            return false;
        }
        const auto moved = static_cast<size_t>(read);
        out += moved;
        address += moved;
        bytes -= moved;
    }
    return true;
}

node::Denial ProcessMemory::denial() const {
    for (size_t rank = 0; rank < denied_.size(); ++rank) {
        if (denied_[rank] == 0) continue;
        return {denied_[rank], node::kNoRank, static_cast<node::Rank>(rank)};
    }
    return {};
}

namespace {

// One digit; 0 without Yama.
unsigned yama_scope() {
    const Fd file(open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
    char digit = '0';
    const bool is_there = file.get() >= 0 && ::read(file.get(), &digit, 1) == 1;
    return is_there && digit >= '0' && digit <= '9' ? static_cast<unsigned>(digit - '0') : 0;
}

}  // namespace

bool allow_readers() { return yama_scope() == 1 && prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) == 0; }

void tell_denial(std::span<char> text, const char* read, int failure, bool has_allowed) {
    const char* why = std::strerror(failure);
    const unsigned scope = failure == EPERM && !has_allowed ? yama_scope() : 0;
    if (scope == 0) {
        std::snprintf(text.data(), text.size(), "%s: %s", read, why);
        return;
    }
    std::snprintf(text.data(), text.size(), "%s: %s; Yama's ptrace_scope is %u%s", read, why, scope,
                  scope == 1 ? ", see TUTTI_SINGLE_COPY=allow" : "");
}

}  // namespace tutti::arena
