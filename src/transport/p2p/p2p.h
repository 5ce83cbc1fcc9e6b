// SPDX-License-Identifier: BSD-3-Clause
// Messages by the embedder's point-to-point callbacks (tutti_p2p), so that Tutti runs wherever an
// MPI does. Order per pair and tag is all that it asks of them: each slot has a tag of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "transport/transport.h"
#include "tutti/tutti.h"

namespace tutti::transport {

class P2p final : public Transport {
  public:
    // The team owns the tags first_tag to first_tag + kSlotsMax - 1. peers[r]: the embedder's
    // number of rank r, must outlive this; empty: the rank itself.
    P2p(const tutti_p2p& callbacks, uint32_t first_tag, std::span<const uint32_t> peers = {});

    void send(Rank peer, const MessageId& id, const std::byte* data, size_t bytes,
              Ticket& ticket) override;
    void recv(Rank peer, const MessageId& id, std::byte* data, size_t bytes,
              Ticket& ticket) override;
    State test(Ticket& ticket) override;
    [[nodiscard]] std::string error() const override;
    [[nodiscard]] bool is_disagreement() const override { return failure_ == Failure::kSize; }

  private:
    enum class Failure : uint8_t { kNone, kSend, kRecv, kTest, kSize };
    // Of a ticket's bytes: a send.
    static constexpr size_t kNoBytes = SIZE_MAX;

    [[nodiscard]] uint32_t number_of(Rank peer) const {
        return peers_.empty() ? peer : peers_[peer];
    }
    void begin(Ticket& ticket, int outcome, Failure what, Rank peer, size_t bytes);
    State fail(Failure what, int outcome, Rank peer, size_t bytes);

    tutti_p2p callbacks_;
    uint32_t first_tag_;
    std::span<const uint32_t> peers_;
    // The first failure, which is the cause of all others.
    Failure failure_ = Failure::kNone;
    int outcome_ = 0;
    Rank failed_peer_ = 0;
    size_t failed_bytes_ = 0;
    size_t received_bytes_ = 0;  // kSize
};

}  // namespace tutti::transport
