// SPDX-License-Identifier: BSD-3-Clause
// What a team receives of one peer, in streams: messages whose pieces come into slots here, or were
// kept when their receive was withdrawn, and memory that is offered for long ones (operations.h).
//
// A message that does not fit its receive stays where it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/transport/verbs/link.h"
#include "run/transport/verbs/operations.h"
#include "run/transport/verbs/team_share.h"

namespace tutti::transport::verbs {

class PeerReceives {
  public:
    PeerReceives(TeamShare& team, Link& link, Rank peer) : team_(team), link_(link), peer_(peer) {}

    [[nodiscard]] bool any() const { return lines_.busy() != 0; }
    // What has come is for it, behind those before.
    void add(uint32_t stream, Operation* operation);
    // A piece has come.
    void take(uint32_t stream);
    // Some have an offer to make.
    [[nodiscard]] bool has_offers() const { return offering_ != 0; }
    void make_offers();
    // Nobody will ask for what has come, and it takes slots.
    void drop_pieces();
    void drop_unwanted();
    // All of the stream's, or all, fail.
    void drop(uint32_t stream);
    void fail();
    // But those whose memory is registered: of them the end is waited for.
    void close();

    // Nobody waits for that one; nullptr: there is none.
    [[nodiscard]] Operation* call_off(uint32_t stream, const Ticket& ticket);
    // The peer may write to its memory.
    [[nodiscard]] bool is_offered(uint32_t stream, const Operation& operation) const {
        return operation.is_registered() && (offering_ >> stream & 1) == 0;
    }
    // Of one that was called off: its memory is touched no more. Of a message that has come in part
    // the rest is thrown away.
    void give_up(uint32_t stream, Operation* operation);
    // False: its message has begun to come.
    bool withdraw(uint32_t stream, const Ticket& ticket);
    // Keeps a message whose receive is withdrawn, for the next receive. False: there is no memory.
    bool keep(uint32_t stream, uint64_t order, const CallWord& word,
              std::span<const std::byte> data);

  private:
    // A message that came for a receive that was withdrawn.
    struct Kept {
        uint64_t order = 0;  // in its stream
        CallWord word;
        std::vector<std::byte> bytes;
    };
    struct Stream {
        std::vector<Kept> kept;  // in order, before what lies in slots
        uint64_t received = 0;   // messages, of which some were kept
    };

    void advance(uint32_t stream);
    bool take_piece(uint32_t stream, Operation& operation);
    bool take_data(uint32_t stream, Operation& operation, const SlotHeader& header,
                   const std::byte* end);
    bool take_sign(uint32_t stream, Operation& operation, Piece piece, bool is_first);
    bool take_kept(uint32_t stream, Operation& operation);
    bool agrees(uint32_t stream, Operation& operation, const CallWord& word, size_t bytes);
    // order: of a message that is received.
    void end(uint32_t stream, State state, uint64_t order = 0);
    [[nodiscard]] bool is_unwanted(uint32_t stream) const;
    void drop_pieces(uint32_t stream);

    TeamShare& team_;
    Link& link_;
    const Rank peer_;
    StreamLines lines_;
    std::array<Stream, kSlotsMax> streams_;
    uint32_t offering_ = 0;  // streams whose first receive has an offer to make, by bits
};

}  // namespace tutti::transport::verbs
