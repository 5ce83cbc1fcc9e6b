// SPDX-License-Identifier: BSD-3-Clause
// Packets in and out, many a system call.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/transport/carrier/datagrams.h"
#include "run/transport/udp/endpoint.h"
#include "run/transport/udp/sockets.h"

namespace tutti::transport::udp {

// One call of recvmmsg or sendmmsg takes about as long as two packets cost; so many make that small
// and stay within what a millisecond brings at 1 Gbit/s. A probe's row of packets is one call, so
// that no other process gets the processor in the midst of it.
using carrier::kBatchPackets;

struct Received {
    std::span<std::byte> bytes;
    // Of the sender; network order.
    uint16_t port = 0;
    AddressBytes address{};
    // By the system's real-time clock; 0: not told.
    uint64_t real_ns = 0;
};

class Inflow {
  public:
    explicit Inflow(uint32_t packet_bytes_max);
    Inflow(const Inflow&) = delete;
    Inflow& operator=(const Inflow&) = delete;

    // What waits at a socket, at most kBatchPackets; valid until the next read.
    std::span<const Received> read(int socket);

  private:
    uint32_t packet_bytes_;  // one more than a packet may have: that one tells of longer ones
    std::vector<std::byte> memory_;
    std::array<mmsghdr, kBatchPackets> heads_{};
    std::array<iovec, kBatchPackets> parts_{};
    std::array<sockaddr_storage, kBatchPackets> from_{};
    struct alignas(cmsghdr) Control {
        std::array<char, 64> bytes{};
    };
    std::array<Control, kBatchPackets> control_{};
    std::array<Received, kBatchPackets> received_{};
};

class Outflow {
  public:
    explicit Outflow(uint32_t packet_bytes_max);
    Outflow(const Outflow&) = delete;
    Outflow& operator=(const Outflow&) = delete;

    [[nodiscard]] bool is_full() const { return end_ == kBatchPackets; }
    [[nodiscard]] bool is_empty() const { return first_ == end_; }
    // Where the next packet is written before add(). Not full.
    [[nodiscard]] std::span<std::byte> space();
    // `to` must stay until the packet is sent; `via` as well, if there is one.
    void add(size_t bytes, const SocketAddress& to, const Via* via);
    // False: the system takes no more now, and what is left stays.
    bool flush(int socket);
    // What is left is lost.
    void drop();

    [[nodiscard]] uint64_t sent() const { return sent_; }
    // What the system refused to send; a loss like any other.
    [[nodiscard]] uint64_t refused() const { return refused_; }

  private:
    uint32_t packet_bytes_max_;
    std::vector<std::byte> memory_;
    std::array<mmsghdr, kBatchPackets> heads_{};
    std::array<iovec, kBatchPackets> parts_{};
    uint32_t first_ = 0;
    uint32_t end_ = 0;
    uint64_t sent_ = 0;
    uint64_t refused_ = 0;
};

}  // namespace tutti::transport::udp
