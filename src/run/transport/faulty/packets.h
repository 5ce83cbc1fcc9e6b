// SPDX-License-Identifier: BSD-3-Clause
// Loses, doubles and reorders packets on their way in, by seed: what TUTTI_FAULTS does to a carrier
// of packets. Sits between the socket and the handler of packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/faults.h"
#include "base/prng.h"

namespace tutti::transport {

class PacketFaults {
  public:
    // member: so that the members of a group lose different packets under one seed.
    PacketFaults(const FaultPlan& plan, uint64_t member, size_t packet_bytes_max);

    using Sink = std::function<void(std::span<const std::byte>)>;
    // One packet has come; the sink gets what is to be handled now: none, one or several.
    void pass(uint64_t now_ns, std::span<const std::byte> packet, const Sink& sink);
    // Packets that wait to be overtaken do not wait for ever: what is due goes on.
    void release(uint64_t now_ns, const Sink& sink);
    // When release() has something to do; UINT64_MAX: nothing is held back.
    [[nodiscard]] uint64_t next_ns() const;

    [[nodiscard]] uint64_t dropped() const { return dropped_; }
    [[nodiscard]] uint64_t doubled() const { return doubled_; }
    [[nodiscard]] uint64_t held_back() const { return held_back_; }

  private:
    // As long as a packet waits for others to overtake it.
    static constexpr uint64_t kHoldNs = 2'000'000;

    struct Held {
        uint32_t left = 0;  // 1 + the packets that are still to overtake it; 0: free
        uint64_t until_ns = 0;
        size_t bytes = 0;
    };

    bool happens(uint32_t ppm) { return prng_.below(1'000'000) < ppm; }
    bool hold(uint64_t now_ns, std::span<const std::byte> packet);
    void give(size_t index, const Sink& sink);

    FaultPlan plan_;
    Prng prng_;
    size_t packet_bytes_max_;
    std::vector<Held> held_;
    std::vector<std::byte> memory_;
    uint64_t dropped_ = 0;
    uint64_t doubled_ = 0;
    uint64_t held_back_ = 0;
};

}  // namespace tutti::transport
