// SPDX-License-Identifier: BSD-3-Clause
// SCM_RIGHTS over an abstract socket (unix(7)): reaches processes of other pid namespaces, but not
// of other network namespaces, which is where another "host" of a test bed begins.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "run/arena/arena.h"

namespace tutti::arena {
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

class Deadline {
  public:
    Deadline(Clock& clock, int timeout_ms)
        : clock_(clock), end_ns_(clock_.now_ns() + static_cast<uint64_t>(timeout_ms) * kNsPerMs) {}
    [[nodiscard]] int left_ms() {
        const uint64_t now_ns = clock_.now_ns();
        return now_ns < end_ns_ ? static_cast<int>((end_ns_ - now_ns) / kNsPerMs) : 0;
    }

  private:
    static constexpr uint64_t kNsPerMs = 1'000'000;
    Clock& clock_;
    uint64_t end_ns_;
};

// A signal, such as a profiler's timer, does not cut the wait short nor lengthen it.
bool wait_readable(int socket, Deadline& deadline) {
    while (true) {
        pollfd item{socket, POLLIN, 0};
        const int ready = poll(&item, 1, deadline.left_ms());
        if (ready >= 0 || errno != EINTR) return ready == 1;
    }
}

// A stranger in the same network namespace could connect; only our own user gets the descriptor,
// whatever it knows.
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
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
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

// A member has sent its token before its turn comes, so nobody's is waited for; and whoever has it
// still under way comes again.
Result<Done> FdOffer::serve(Clock& clock, int fd, std::vector<uint64_t> tokens, int timeout_ms) {
    Deadline deadline(clock, timeout_ms);
    while (!tokens.empty()) {
        // Also while strangers never stop to come.
        if (deadline.left_ms() == 0 || !wait_readable(socket_.get(), deadline)) {
            return Error{ErrorCode::kSystem, "no member came for the segment"};
        }
        const Fd peer(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (peer.get() < 0) {
            if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) continue;
            return failed("accept");
        }
        uint64_t token = 0;
        if (recv(peer.get(), &token, sizeof token, 0) != sizeof token) continue;
        const auto found = std::find(tokens.begin(), tokens.end(), token);
        if (found == tokens.end()) continue;
        // It will not be another one for as long as anybody waits.
        if (!is_own_user(peer.get())) {
            return Error{ErrorCode::kSystem, "a member runs as another user"};
        }
        if (send_fd(peer.get(), fd)) tokens.erase(found);
    }
    return Done{};
}

// Done without a socket where so many stand before the leader's door that there is no room.
Result<Done> FdRequest::connect() {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) return failed("socket");
    sockaddr_un address{};
    const socklen_t length = address_of(name_, address);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
        return errno == EAGAIN ? Result<Done>(Done{}) : failed("connecting to the leader");
    }
    if (send(socket.get(), &token_, sizeof token_, MSG_NOSIGNAL) == sizeof token_) {
        socket_ = std::move(socket);
    }
    return Done{};
}

Result<FdRequest> FdRequest::begin(uint64_t name, uint64_t token) {
    FdRequest request(name, token);
    auto connected = request.connect();
    if (!connected) return connected.error();
    return request;
}

Result<Fd> FdRequest::receive(Clock& clock, int timeout_ms) {
    constexpr useconds_t kPauseUs = 1000;
    Deadline deadline(clock, timeout_ms);
    while (true) {
        if (socket_.get() >= 0) {
            if (!wait_readable(socket_.get(), deadline)) break;
            FdMessage message;
            if (recvmsg(socket_.get(), &message.header, MSG_CMSG_CLOEXEC) == 1) {
                const cmsghdr* header = CMSG_FIRSTHDR(&message.header);
                if (!header || header->cmsg_type != SCM_RIGHTS) {
                    return Error{ErrorCode::kSystem, "the leader's message held no descriptor"};
                }
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(header), sizeof(int));
                return Fd(fd);
            }
            socket_ = Fd(-1);
        }
        if (deadline.left_ms() == 0) break;
        usleep(kPauseUs);
        if (auto again = connect(); !again) return again.error();
    }
    return Error{ErrorCode::kSystem, "the leader did not hand over the segment"};
}

}  // namespace tutti::arena
