// SPDX-License-Identifier: BSD-3-Clause
// SCM_RIGHTS over an abstract socket (unix(7)): reaches processes of other pid namespaces, but not
// of other network namespaces, which is where another "host" of a test bed begins.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/arena.h"
#include "engine/context.h"

namespace tutti::engine {
namespace {

Error failed(const char* what) {
    return {ErrorCode::kSystem, std::string(what) + ": " + std::strerror(errno)};
}

// Abstract names begin with a zero byte. Returns the length to pass on.
socklen_t address_of(uint64_t name, sockaddr_un& address) {
    address = {};
    address.sun_family = AF_UNIX;
    const int length = std::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                                     "tutti-%016llx", static_cast<unsigned long long>(name));
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                  static_cast<size_t>(length));
}

// A signal, such as a profiler's timer, does not cut the wait short nor lengthen it.
bool wait_readable(int socket, int timeout_ms) {
    constexpr uint64_t kNsPerMs = 1'000'000;
    RealClock clock;
    const uint64_t end_ns = clock.now_ns() + static_cast<uint64_t>(timeout_ms) * kNsPerMs;
    while (true) {
        const uint64_t now_ns = clock.now_ns();
        const uint64_t left_ms = now_ns < end_ns ? (end_ns - now_ns) / kNsPerMs : 0;
        pollfd item{socket, POLLIN, 0};
        const int ready = poll(&item, 1, static_cast<int>(left_ms));
        if (ready >= 0 || errno != EINTR) return ready == 1;
    }
}

// A stranger in the same network namespace could connect; only our own user gets the descriptor.
bool is_own_user(int socket) {
    ucred peer{};
    socklen_t length = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

// A message of one byte with room for one descriptor beside it.
struct FdMessage {
    char byte = 'T';
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};

    FdMessage() {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
    }
    FdMessage(const FdMessage&) = delete;
    FdMessage& operator=(const FdMessage&) = delete;
};

bool send_fd(int socket, int fd) {
    FdMessage message;
    cmsghdr* header = CMSG_FIRSTHDR(&message.header);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
    return sendmsg(socket, &message.header, MSG_NOSIGNAL) == 1;
}

}  // namespace

Result<FdOffer> FdOffer::listen(uint64_t name) {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return failed("socket");
    sockaddr_un address{};
    const socklen_t length = address_of(name, address);
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
        return failed("bind");
    }
    // All connect before the first is served.
    if (::listen(socket.get(), SOMAXCONN) != 0) return failed("listen");
    return FdOffer(std::move(socket));
}

Result<Done> FdOffer::serve(int fd, uint32_t receivers, int timeout_ms) {
    for (uint32_t served = 0; served < receivers;) {
        if (!wait_readable(socket_.get(), timeout_ms)) {
            return Error{ErrorCode::kSystem, "no member came for the segment"};
        }
        const Fd peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (peer.get() < 0) return failed("accept");
        if (is_own_user(peer.get()) && send_fd(peer.get(), fd)) ++served;
    }
    return Done{};
}

Result<Fd> connect_to_offer(uint64_t name) {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) return failed("socket");
    sockaddr_un address{};
    const socklen_t length = address_of(name, address);
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
        return failed("connecting to the leader");
    }
    return socket;
}

Result<Fd> receive_fd(const Fd& connection, int timeout_ms) {
    if (!wait_readable(connection.get(), timeout_ms)) {
        return Error{ErrorCode::kSystem, "the leader did not hand over the segment"};
    }
    FdMessage message;
    if (recvmsg(connection.get(), &message.header, MSG_CMSG_CLOEXEC) != 1) return failed("recvmsg");
    const cmsghdr* header = CMSG_FIRSTHDR(&message.header);
    if (!header || header->cmsg_type != SCM_RIGHTS) {
        return Error{ErrorCode::kSystem, "the leader's message held no descriptor"};
    }
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(int));
    return Fd(fd);
}

}  // namespace tutti::engine
