// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/udp/sockets.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "run/transport/carrier/failed.h"

namespace tutti::transport::udp {
namespace {

using carrier::failed;

bool set_option(const Fd& socket, int level, int name, int value) {
    return setsockopt(socket.get(), level, name, &value, sizeof(value)) == 0;
}

int domain_of(Family family) { return family == Family::kIpv4 ? AF_INET : AF_INET6; }

Result<Fd> make_socket(const SocketParams& params) {
    Fd socket(::socket(domain_of(params.family), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) return failed("no UDP socket");
    const int bytes = static_cast<int>(params.receive_buffer_bytes);
    // Only the administrator may go beyond net.core.rmem_max; others get what there is.
    if (!set_option(socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes)) {
        set_option(socket, SOL_SOCKET, SO_RCVBUF, bytes);
    }
    if (params.family == Family::kIpv6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    return socket;
}

// Nothing is cut into fragments: one that is lost would cost the whole packet.
bool forbid_fragments(const Fd& socket, Family family) {
    if (family == Family::kIpv4) {
        return set_option(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    }
    return set_option(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

bool set_ttl(const Fd& socket, Family family, uint32_t ttl) {
    const int hops = static_cast<int>(ttl);
    if (family == Family::kIpv4) return set_option(socket, IPPROTO_IP, IP_MULTICAST_TTL, hops);
    return set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops);
}

template <class Info>
void put(std::array<char, 64>& bytes, size_t& used, int level, int type, const Info& info) {
    static_assert(CMSG_SPACE(sizeof(Info)) <= sizeof(bytes));
    cmsghdr head{};
    head.cmsg_level = level;
    head.cmsg_type = type;
    head.cmsg_len = CMSG_LEN(sizeof(Info));
    std::memcpy(bytes.data(), &head, sizeof(head));
    std::memcpy(bytes.data() + CMSG_LEN(0), &info, sizeof(info));
    used = CMSG_SPACE(sizeof(Info));
}

}  // namespace

Via::Via(Family family, const Candidate& own) {
    if (family == Family::kIpv4) {
        in_pktinfo info{};
        info.ipi_ifindex = static_cast<int>(own.interface);
        std::memcpy(&info.ipi_spec_dst, own.address.data(), sizeof(info.ipi_spec_dst));
        put(bytes_, used_, IPPROTO_IP, IP_PKTINFO, info);
        return;
    }
    in6_pktinfo info{};
    info.ipi6_ifindex = own.interface;
    std::memcpy(&info.ipi6_addr, own.address.data(), sizeof(info.ipi6_addr));
    put(bytes_, used_, IPPROTO_IPV6, IPV6_PKTINFO, info);
}

Result<Sockets> Sockets::open(const SocketParams& params) {
    Sockets sockets;
    sockets.family_ = params.family;
    if (const auto opened = sockets.open_group(params); !opened) return opened.error();
    if (const auto opened = sockets.open_own(params); !opened) return opened.error();
    return sockets;
}

Result<Done> Sockets::open_group(const SocketParams& params) {
    auto made = make_socket(params);
    if (!made) return made.error();
    group_ = std::move(made.value());
    group_port_ = htons(params.group_port);
    if (!set_option(group_, SOL_SOCKET, SO_REUSEADDR, 1)) return failed("SO_REUSEADDR");
    // Only what this socket joined, on the interface on which it did: not what others of this host
    // did.
    const bool is_ipv4 = params.family == Family::kIpv4;
    const bool is_own_only = is_ipv4 ? set_option(group_, IPPROTO_IP, IP_MULTICAST_ALL, 0)
                                     : set_option(group_, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
    if (!is_own_only) return failed("IP_MULTICAST_ALL");
    const SocketAddress any = socket_address(params.family, {}, group_port_, 0);
    if (bind(group_.get(), reinterpret_cast<const sockaddr*>(&any.storage), any.length) != 0) {
        return failed("UDP port " + std::to_string(params.group_port));
    }
    return Done{};
}

Result<Done> Sockets::open_own(const SocketParams& params) {
    auto made = make_socket(params);
    if (!made) return made.error();
    own_ = std::move(made.value());
    if (!forbid_fragments(own_, params.family)) return failed("IP_MTU_DISCOVER");
    if (!set_ttl(own_, params.family, params.ttl)) return failed("IP_MULTICAST_TTL");
    set_loop(false);
    const SocketAddress any = socket_address(params.family, {}, 0, 0);
    if (bind(own_.get(), reinterpret_cast<const sockaddr*>(&any.storage), any.length) != 0) {
        return failed("a UDP port");
    }
    sockaddr_storage bound{};
    socklen_t length = sizeof(bound);
    if (getsockname(own_.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
        return failed("getsockname");
    }
    own_port_ = params.family == Family::kIpv4
                    ? reinterpret_cast<const sockaddr_in&>(bound).sin_port
                    : reinterpret_cast<const sockaddr_in6&>(bound).sin6_port;
    return Done{};
}

int Sockets::change(int what, const AddressBytes& address, uint32_t interface) const {
    group_req request{};
    request.gr_interface = interface;
    const SocketAddress group = socket_address(family_, address, 0, 0);
    std::memcpy(&request.gr_group, &group.storage, sizeof(request.gr_group));
    const int level = family_ == Family::kIpv4 ? IPPROTO_IP : IPPROTO_IPV6;
    return setsockopt(group_.get(), level, what, &request, sizeof(request));
}

Result<Done> Sockets::join(const AddressBytes& address, uint32_t interface) {
    for (Joined& one : joined_) {
        if (one.address != address || one.interface != interface) continue;
        ++one.uses;
        return Done{};
    }
    if (change(MCAST_JOIN_GROUP, address, interface) != 0) {
        const bool is_limit = errno == ENOBUFS && family_ == Family::kIpv4;
        return failed("joining " + to_text(family_, address) +
                      (is_limit ? " (net.ipv4.igmp_max_memberships)" : ""));
    }
    joined_.push_back({address, interface, 1});
    return Done{};
}

void Sockets::leave(const AddressBytes& address, uint32_t interface) {
    const auto at = std::find_if(joined_.begin(), joined_.end(), [&](const Joined& one) {
        return one.address == address && one.interface == interface;
    });
    TUTTI_ASSERT(at != joined_.end(), "an address is left that was not joined");
    if (--at->uses > 0) return;
    // Fails only if the interface is gone, and the membership with it.
    static_cast<void>(change(MCAST_LEAVE_GROUP, address, interface));
    joined_.erase(at);
}

void Sockets::set_loop(bool loops) {
    if (family_ == Family::kIpv4) {
        set_option(own_, IPPROTO_IP, IP_MULTICAST_LOOP, loops ? 1 : 0);
    } else {
        set_option(own_, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loops ? 1 : 0);
    }
}

void Sockets::set_timestamps(bool has_timestamps) {
    set_option(group_, SOL_SOCKET, SO_TIMESTAMPNS, has_timestamps ? 1 : 0);
    set_option(own_, SOL_SOCKET, SO_TIMESTAMPNS, has_timestamps ? 1 : 0);
}

uint32_t Sockets::receive_buffer_bytes() const {
    int bytes = 0;
    socklen_t length = sizeof(bytes);
    getsockopt(group_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &length);
    return static_cast<uint32_t>(bytes);
}

uint64_t Sockets::overflowed() const {
    uint64_t sum = 0;
    for (const int socket : {group_.get(), own_.get()}) {
        std::array<uint32_t, SK_MEMINFO_VARS> numbers{};
        socklen_t length = sizeof(numbers);
        getsockopt(socket, SOL_SOCKET, SO_MEMINFO, numbers.data(), &length);
        sum += numbers[SK_MEMINFO_DROPS];
    }
    return sum;
}

}  // namespace tutti::transport::udp
