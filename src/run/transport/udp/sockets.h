// SPDX-License-Identifier: BSD-3-Clause
// A carrier's two sockets. One is bound to the groups' port and joins their addresses; many jobs of
// a host may have such a one. The other has a port of its own: it receives what is sent to this
// member alone, and everything is sent from it, so that own packets are known when they come back.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "run/transport/udp/endpoint.h"

namespace tutti::transport::udp {

struct SocketParams {
    Family family = Family::kIpv4;
    uint16_t group_port = 0;  // as people write it
    uint32_t ttl = 1;
    uint32_t receive_buffer_bytes = 0;
};

// By which interface a packet leaves, and with which source address: control data for sendmsg().
class Via {
  public:
    Via() = default;
    Via(Family family, const Candidate& own);
    [[nodiscard]] std::span<const char> control() const { return {bytes_.data(), used_}; }

  private:
    // Room for IPv6's; the alignment is that of what is written there.
    alignas(cmsghdr) std::array<char, 64> bytes_{};
    size_t used_ = 0;
};

class Sockets {
  public:
    // Errors say what the system refused.
    static Result<Sockets> open(const SocketParams& params);

    [[nodiscard]] int group() const { return group_.get(); }
    [[nodiscard]] int own() const { return own_.get(); }
    // Network order.
    [[nodiscard]] uint16_t own_port() const { return own_port_; }
    [[nodiscard]] uint16_t group_port() const { return group_port_; }

    // Counted: as many calls of leave() as of join() leave.
    Result<Done> join(const AddressBytes& address, uint32_t interface);
    void leave(const AddressBytes& address, uint32_t interface);
    // Whether other members of this host receive what is sent (and this process, too).
    void set_loop(bool loops);
    // Whether packets come with the time at which they came.
    void set_timestamps(bool has_timestamps);

    // Of each of the two, as the system counts it.
    [[nodiscard]] uint32_t receive_buffer_bytes() const;
    // Packets that found a buffer full, so far.
    [[nodiscard]] uint64_t overflowed() const;

  private:
    struct Joined {
        AddressBytes address{};
        uint32_t interface = 0;
        uint32_t uses = 0;
    };

    Result<Done> open_group(const SocketParams& params);
    Result<Done> open_own(const SocketParams& params);
    [[nodiscard]] int change(int what, const AddressBytes& address, uint32_t interface) const;

    Family family_ = Family::kIpv4;
    Fd group_;
    Fd own_;
    uint16_t own_port_ = 0;
    uint16_t group_port_ = 0;
    std::vector<Joined> joined_;
};

}  // namespace tutti::transport::udp
