// SPDX-License-Identifier: BSD-3-Clause
#include "unit/short_transfers.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace tutti::test {

thread_local Prng* shortness = nullptr;

namespace {

// What becomes of a call for so many bytes: an error, or fewer of them.
struct Fate {
    int error = 0;
    size_t bytes = 0;
};

Fate fate_of(size_t bytes, bool may_block) {
    if (!shortness || bytes == 0) return {0, bytes};
    const uint64_t dice = shortness->below(32);
    if (dice == 0) return {EINTR, 0};
    if (dice == 1 && !may_block) return {EAGAIN, 0};
    return {0, dice < 12 ? 1 + shortness->below(bytes) : bytes};
}

ssize_t failed(const Fate& fate) {
    errno = fate.error;
    return -1;
}

}  // namespace
}  // namespace tutti::test

using tutti::test::failed;
using tutti::test::Fate;
using tutti::test::fate_of;

extern "C" {

// Weak: a binary wraps those that it wants.
[[gnu::weak]] ssize_t __real_recv(int, void*, size_t, int);
[[gnu::weak]] ssize_t __real_sendmsg(int, const msghdr*, int);
[[gnu::weak]] ssize_t __real_read(int, void*, size_t);
[[gnu::weak]] ssize_t __real_write(int, const void*, size_t);
[[gnu::weak]] ssize_t __real_process_vm_readv(pid_t, const iovec*, unsigned long, const iovec*,
                                              unsigned long, unsigned long);

ssize_t __wrap_recv(int socket, void* into, size_t bytes, int flags) {
    if ((flags & MSG_DONTWAIT) == 0) return __real_recv(socket, into, bytes, flags);
    const Fate fate = fate_of(bytes, false);
    return fate.error != 0 ? failed(fate) : __real_recv(socket, into, fate.bytes, flags);
}

ssize_t __wrap_sendmsg(int socket, const msghdr* message, int flags) {
    std::array<iovec, 4> parts{};
    if ((flags & MSG_DONTWAIT) == 0 || message->msg_iovlen > parts.size()) {
        return __real_sendmsg(socket, message, flags);
    }
    size_t bytes = 0;
    for (size_t i = 0; i < message->msg_iovlen; ++i) bytes += message->msg_iov[i].iov_len;
    const Fate fate = fate_of(bytes, false);
    if (fate.error != 0) return failed(fate);
    msghdr shorter = *message;
    shorter.msg_iov = parts.data();
    size_t left = fate.bytes;
    for (size_t i = 0; i < message->msg_iovlen; ++i) {
        parts[i] = {message->msg_iov[i].iov_base, std::min(message->msg_iov[i].iov_len, left)};
        left -= parts[i].iov_len;
    }
    return __real_sendmsg(socket, &shorter, flags);
}

// Of one piece.
ssize_t __wrap_process_vm_readv(pid_t pid, const iovec* into, unsigned long into_count,
                                const iovec* from, unsigned long from_count, unsigned long flags) {
    iovec shorter = *into;
    if (into_count == 1) {
        // It is not interrupted.
        if (const Fate fate = fate_of(into->iov_len, true); fate.error == 0) {
            shorter.iov_len = fate.bytes;
        }
        into = &shorter;
    }
    return __real_process_vm_readv(pid, into, into_count, from, from_count, flags);
}

ssize_t __wrap_read(int file, void* into, size_t bytes) {
    const Fate fate = fate_of(bytes, true);
    return fate.error != 0 ? failed(fate) : __real_read(file, into, fate.bytes);
}

ssize_t __wrap_write(int file, const void* from, size_t bytes) {
    const Fate fate = fate_of(bytes, true);
    return fate.error != 0 ? failed(fate) : __real_write(file, from, fate.bytes);
}
}
