// SPDX-License-Identifier: BSD-3-Clause
#include "run/transport/udp/batches.h"

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/assert.h"
#include "base/clock.h"

namespace tutti::transport::udp {
namespace {

uint64_t timestamp_of(msghdr& head) {
    for (cmsghdr* at = CMSG_FIRSTHDR(&head); at != nullptr; at = CMSG_NXTHDR(&head, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_TIMESTAMPNS) continue;
        timespec time{};
        std::memcpy(&time, CMSG_DATA(at), sizeof(time));
        return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond +
               static_cast<uint64_t>(time.tv_nsec);
    }
    return 0;
}

void read_source(const sockaddr_storage& from, Received& received) {
    received.address = {};
    if (from.ss_family == AF_INET) {
        const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(from);
        received.port = ipv4.sin_port;
        std::memcpy(received.address.data(), &ipv4.sin_addr, sizeof(ipv4.sin_addr));
    } else {
        const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(from);
        received.port = ipv6.sin6_port;
        std::memcpy(received.address.data(), &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
    }
}

}  // namespace

Inflow::Inflow(uint32_t packet_bytes_max)
    : packet_bytes_(packet_bytes_max + 1), memory_(size_t{kBatchPackets} * packet_bytes_) {
    for (uint32_t i = 0; i < kBatchPackets; ++i) {
        parts_[i] = {memory_.data() + size_t{i} * packet_bytes_, packet_bytes_};
    }
}

std::span<const Received> Inflow::read(int socket) {
    for (uint32_t i = 0; i < kBatchPackets; ++i) {
        msghdr& head = heads_[i].msg_hdr;
        head = {};
        head.msg_name = &from_[i];
        head.msg_namelen = sizeof(from_[i]);
        head.msg_iov = &parts_[i];
        head.msg_iovlen = 1;
        head.msg_control = control_[i].bytes.data();
        head.msg_controllen = control_[i].bytes.size();
    }
    int got = 0;
    do {
        got = recvmmsg(socket, heads_.data(), kBatchPackets, MSG_DONTWAIT, nullptr);
    } while (got < 0 && errno == EINTR);
    const auto count = static_cast<uint32_t>(got < 0 ? 0 : got);
    for (uint32_t i = 0; i < count; ++i) {
        read_source(from_[i], received_[i]);
        received_[i].bytes = {static_cast<std::byte*>(parts_[i].iov_base), heads_[i].msg_len};
        received_[i].real_ns = timestamp_of(heads_[i].msg_hdr);
    }
    return std::span(received_).first(count);
}

Outflow::Outflow(uint32_t packet_bytes_max)
    : packet_bytes_max_(packet_bytes_max), memory_(size_t{kBatchPackets} * packet_bytes_max) {}

std::span<std::byte> Outflow::space() {
    TUTTI_ASSERT(!is_full(), "no room for one more packet");
    return {memory_.data() + size_t{end_} * packet_bytes_max_, packet_bytes_max_};
}

void Outflow::add(size_t bytes, const SocketAddress& to, const Via* via) {
    parts_[end_] = {space().data(), bytes};
    msghdr& head = heads_[end_].msg_hdr;
    head = {};
    // sendmmsg writes neither the name nor the control data.
    head.msg_name = const_cast<sockaddr_storage*>(&to.storage);
    head.msg_namelen = to.length;
    head.msg_iov = &parts_[end_];
    head.msg_iovlen = 1;
    if (via) {
        head.msg_control = const_cast<char*>(via->control().data());
        head.msg_controllen = via->control().size();
    }
    ++end_;
}

bool Outflow::flush(int socket) {
    while (first_ < end_) {
        const int sent = sendmmsg(socket, heads_.data() + first_, end_ - first_, MSG_DONTWAIT);
        if (sent > 0) {
            first_ += static_cast<uint32_t>(sent);
            sent_ += static_cast<uint64_t>(sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return false;
        } else if (errno != EINTR) {
            // It speaks of the first one; the others may go.
            ++first_;
            ++refused_;
        }
    }
    first_ = 0;
    end_ = 0;
    return true;
}

void Outflow::drop() {
    refused_ += end_ - first_;
    first_ = 0;
    end_ = 0;
}

}  // namespace tutti::transport::udp
