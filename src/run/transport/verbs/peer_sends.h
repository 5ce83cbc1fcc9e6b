// SPDX-License-Identifier: BSD-3-Clause
// What a team sends to one peer, in streams: messages that are cut into pieces for slots there,
// long ones that are written straight into memory that the peer offers (operations.h), and those
// that are counted there (counted_receives.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/transport/verbs/link.h"
#include "run/transport/verbs/operations.h"
#include "run/transport/verbs/team_share.h"

namespace tutti::transport::verbs {

class PeerSends {
  public:
    PeerSends(TeamShare& team, Link& link) : team_(team), link_(link) {}

    [[nodiscard]] bool any() const { return lines_.busy() != 0; }
    // Its message is sent as far as that can be.
    void add(uint32_t stream, Operation* operation);
    void advance();
    // The answer to what a stream's first send has announced.
    void take_offer(const SlotHeader& header, const std::byte* end);
    // Some of them go on when own writes are complete.
    [[nodiscard]] bool awaits_completion() const;
    // Nobody waits for that one. Behind a message that has been sent in part a piece says that it
    // is none; memory that is being written straight from there is read until that is complete.
    void cancel(uint32_t stream, const Ticket& ticket);
    // All of them fail.
    void fail() { team_.drop(lines_); }
    // But those that are being written straight: of them the end is waited for.
    void close() { team_.drop_but_registered(lines_); }

  private:
    bool send_piece(uint32_t stream, Operation& operation, Piece piece);
    bool send_direct(uint32_t stream, Operation& operation);
    bool write_direct(Operation& operation);
    bool send_count(const Operation& operation);

    TeamShare& team_;
    Link& link_;
    StreamLines lines_;
    uint64_t declined_ = 0;  // count() of exposures when that end had no memory for a message
};

}  // namespace tutti::transport::verbs
