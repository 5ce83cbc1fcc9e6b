// SPDX-License-Identifier: BSD-3-Clause
// What a queue pair receives: buffers that are posted ahead, a batch of them at a time with its
// packets, and posted again when the next batch is asked for. Under the carrier's lock. Inside ud/
// only.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "run/transport/carrier/datagrams.h"
#include "run/transport/verbs/ud.h"

namespace tutti::transport::ud {

class UdReceives {
  public:
    UdReceives(verbs::UdEndpoint& end, uint32_t count);
    // All, before anything comes.
    Result<Done> post_all();

    // Posts the last batch's buffers again, and looks for the next one where there is none. False:
    // nothing can be relied on any more.
    bool renew();
    // Looks for the next batch, if there is none.
    bool poll();
    [[nodiscard]] bool has_batch() const { return polled_count_ > 0; }
    // The batch's packets, without own ones that came back; valid until renew().
    carrier::Batch take();
    // Nothing comes any more.
    void drop() { polled_count_ = held_count_ = 0; }

    [[nodiscard]] uint32_t bytes() const { return count_ * packet_bytes_; }
    [[nodiscard]] uint64_t own() const { return own_; }

  private:
    [[nodiscard]] int post_held();
    [[nodiscard]] std::span<std::byte> buffer(uint32_t place);
    [[nodiscard]] bool is_own(const verbs::UdReceived& one, std::span<const std::byte> head) const;

    verbs::UdEndpoint& end_;
    const uint32_t count_;
    const uint32_t packet_bytes_;  // of the port; those of the groups may be shorter
    std::array<verbs::UdReceived, carrier::kBatchPackets> polled_{};
    size_t polled_count_ = 0;
    std::array<uint32_t, carrier::kBatchPackets> held_{};  // of the batch that is looked at
    size_t held_count_ = 0;
    std::array<carrier::Arrived, carrier::kBatchPackets> arrived_{};
    uint64_t own_ = 0;
};

}  // namespace tutti::transport::ud
