// SPDX-License-Identifier: BSD-3-Clause
// What a queue pair sends: packets wait until a batch is posted, and hold their buffers until they
// are complete. Under the carrier's lock, but for added() and complete(). Inside ud/ only.
//
// Invariant: complete() <= added() - those that wait; at most kSends are not complete.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "run/transport/carrier/datagrams.h"
#include "run/transport/ud/promises.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::ud {

class UdSends {
  public:
    // memory: kSends buffers.
    UdSends(verbs::UdEndpoint& end, std::span<std::byte> memory);

    // A buffer is free.
    [[nodiscard]] bool has_room() const { return added_ - complete_ < kSends; }
    // The next packet's; none if a whole batch waits.
    [[nodiscard]] std::span<std::byte> space() const;
    // What stands there goes by that route.
    void add(const verbs::UdRoute& route, size_t bytes, bool is_urgent);
    // Posts what waits, looks which are complete. False: nothing can be relied on any more.
    bool flush();
    bool poll();
    // What waits is lost.
    void drop();

    // Any thread: so many were added ever, and so many of these are complete, in order.
    [[nodiscard]] uint64_t added() const { return added_; }
    [[nodiscard]] uint64_t complete() const { return complete_; }

    // Under the lock, as all else.
    [[nodiscard]] uint64_t sent() const { return added_ - waiting_count_ - lost_; }
    [[nodiscard]] uint64_t lost() const { return lost_; }

  private:
    verbs::UdEndpoint& end_;
    const std::span<std::byte> memory_;
    std::array<verbs::UdSend, carrier::kBatchPackets> waiting_{};
    size_t waiting_count_ = 0;
    std::atomic<uint64_t> added_{0};
    std::atomic<uint64_t> complete_{0};
    uint64_t lost_ = 0;
};

}  // namespace tutti::transport::ud
