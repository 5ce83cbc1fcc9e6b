// SPDX-License-Identifier: BSD-3-Clause
// Wraps a multicast route as Faulty does a transport: by seed posts go late to the route below, in
// their order as it demands, and one fails where that is asked for. So ranks are late in different
// ways, senders as well as receivers.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/prng.h"
#include "run/transport/faulty/faulty.h"
#include "run/transport/multicast.h"

namespace tutti::transport {

class FaultyMulticast final : public Multicast {
  public:
    // inner must outlive this.
    FaultyMulticast(Multicast& inner, const Faults& faults)
        : inner_(inner), faults_(faults), prng_(faults.seed) {}

    void multicast(uint64_t number, const std::byte* data, size_t bytes, Ticket& ticket) override;
    void recv_multicast(uint64_t number, Rank sender, std::byte* data, size_t bytes,
                        Ticket& ticket) override;
    // By seed, the route below is not asked.
    Sought seek(uint64_t number, std::byte* data, size_t bytes) override;
    Sought offer(uint64_t number, const std::byte* data, size_t bytes) override;
    State test(Ticket& ticket) override;
    void call_off() override;
    [[nodiscard]] std::string error() const override;
    // Posts that are held back: test() must be called for them to go.
    [[nodiscard]] uint32_t held() const { return count_; }

  private:
    struct Post {
        bool is_send = false;
        uint64_t number = 0;
        Rank sender = 0;
        const std::byte* source = nullptr;
        std::byte* target = nullptr;
        size_t bytes = 0;
        Ticket* ticket = nullptr;
    };

    void post(const Post& post);
    void pass_on(const Post& post);

    Multicast& inner_;
    Faults faults_;
    Prng prng_;
    uint64_t posts_ = 0;
    bool has_failed_ = false;
    // In the order of their numbers, from first_ on, around the end.
    std::array<Post, kMulticastsInFlightMax> held_;
    uint32_t first_ = 0;
    uint32_t count_ = 0;
    uint64_t tests_left_ = 0;  // until the first one goes
};

}  // namespace tutti::transport
