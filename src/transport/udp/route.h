// SPDX-License-Identifier: BSD-3-Clause
// A rank's end of a team's multicast route: through the ring of its node.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "mcast/packet.h"
#include "transport/multicast.h"
#include "transport/udp/ring.h"
#include "transport/udp/waker.h"

namespace tutti::transport::udp {

struct RouteParams {
    Rank rank = 0;  // own, in the team
    // Member of the group of each rank of the team: its node. Must outlive the route.
    std::span<const mcast::Member> member_of_rank;
};

struct RouteCounters {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t wakes = 0;  // of the service
};

class Route final : public Multicast {
  public:
    Route(Ring ring, Waker& waker, const RouteParams& params);
    ~Route() override;
    Route(const Route&) = delete;
    Route& operator=(const Route&) = delete;

    void multicast(uint64_t number, const std::byte* data, size_t bytes, Ticket& ticket) override;
    void recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                        Ticket& ticket) override;
    State test(Ticket& ticket) override;
    [[nodiscard]] std::string error() const override;

    // The group has failed, so far as this node knows.
    [[nodiscard]] bool has_failed() const { return ring_.is_frozen(); }
    [[nodiscard]] const RouteCounters& counters() const { return counters_; }

  private:
    struct Posted {
        uint64_t number = 0;
        const std::byte* from = nullptr;  // of a multicast
        std::byte* to = nullptr;
        size_t bytes = 0;
        Rank sender = 0;
        uint32_t tries = 0;
        bool is_used = false;
        bool is_send = false;
        bool is_waiting = false;  // counted in the ring's waiters
    };

    [[nodiscard]] Posted& posted(uint64_t number) {
        return posted_[number % kMulticastsInFlightMax];
    }
    Posted& post(uint64_t number, size_t bytes, Ticket& ticket);
    State test_send(Posted& posted);
    State test_recv(Posted& posted);
    void begin_wait(Posted& posted);
    void end_wait(Posted& posted);
    void wake();

    Ring ring_;
    Waker& waker_;
    RouteParams params_;
    uint64_t next_ = 0;
    std::array<Posted, kMulticastsInFlightMax> posted_;
    RouteCounters counters_;
    bool has_wrong_size_ = false;
};

}  // namespace tutti::transport::udp
