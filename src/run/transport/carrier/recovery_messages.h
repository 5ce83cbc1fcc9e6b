// SPDX-License-Identifier: BSD-3-Clause
// The messages of a recovery (recovery.h), in a slot of their own: at most one alone, and at most
// one from or to each rank. Inside carrier/ only.
//
// Invariant: a ticket is posted again only when its last message is complete or called off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/transport/transport.h"

namespace tutti::transport::carrier {

// What a message is about.
enum class RecoveryWay : uint32_t { kUp, kDown, kList, kAnswer, kMulticast };

class RecoveryMessages {
  public:
    RecoveryMessages(Transport& network, Rank ranks) : network_(network), of_rank_(ranks) {}
    RecoveryMessages(const RecoveryMessages&) = delete;
    RecoveryMessages& operator=(const RecoveryMessages&) = delete;

    void poll() { network_.poll(); }
    // One of its messages has failed.
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    // What has not come is not written to its memory any more.
    void call_off();

    // The one that the rank waits for before it does anything else.
    void send(Rank to, RecoveryWay way, uint64_t number, const void* data, size_t bytes);
    void recv(Rank from, RecoveryWay way, uint64_t number, void* data, size_t bytes);
    [[nodiscard]] bool is_posted() const { return is_posted_; }
    // It is complete; then the next one may be posted.
    bool has_arrived();

    // Those of each rank.
    void send_to(Rank rank, RecoveryWay way, uint64_t number, const void* data, size_t bytes);
    void recv_from(Rank rank, RecoveryWay way, uint64_t number, void* data, size_t bytes);
    // That of this rank is complete.
    bool is_done(Rank rank) { return is_done(of_rank_[rank]); }
    void call_off(Rank rank);

    // A receive of somebody else's, who tests it.
    void recv(Rank from, RecoveryWay way, uint64_t number, void* data, size_t bytes,
              Ticket& ticket);
    State test(Ticket& ticket) { return network_.test(ticket); }
    void call_off(Ticket& ticket);

  private:
    void send(Rank to, RecoveryWay way, uint64_t number, const void* data, size_t bytes,
              Ticket& ticket);
    bool is_done(Ticket& ticket);

    Transport& network_;
    Ticket ticket_;
    bool is_posted_ = false;
    std::vector<Ticket> of_rank_;
    bool has_failed_ = false;
};

}  // namespace tutti::transport::carrier
