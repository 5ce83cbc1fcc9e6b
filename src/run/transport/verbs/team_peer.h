// SPDX-License-Identifier: BSD-3-Clause
// One peer of a team: the messages with it, by the link to its process, and the bye with which each
// of the two says that nothing more comes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/transport/verbs/adder.h"
#include "run/transport/verbs/link.h"
#include "run/transport/verbs/peer_receives.h"
#include "run/transport/verbs/peer_sends.h"
#include "run/transport/verbs/team_share.h"

namespace tutti::transport::verbs {

class TeamPeer {
  public:
    // index: among the team's peers. unexpected: room for a piece of each stream.
    TeamPeer(TeamShare& team, uint32_t index, Rank rank, Link& link, std::byte* unexpected)
        : team_(team),
          index_(index),
          rank_(rank),
          link_(link),
          unexpected_(unexpected),
          sends_(team, link),
          receives_(team, link, rank) {}

    // ---- for Rc ----
    [[nodiscard]] Link& link() { return link_; }
    [[nodiscard]] PeerSends& sends() { return sends_; }
    [[nodiscard]] PeerReceives& receives() { return receives_; }
    // Messages of which only their number counts are additions to a word at the other end: the
    // devices of both ends can add, and the team was the first on its links, whose words the others
    // leave alone.
    [[nodiscard]] bool is_counted() const { return team_.number == 0 && link_.is_counted(); }
    // The peer is rank 0, to whose word all add by this link.
    void carry(Adder& adder) { adder_ = &adder; }
    // A message with it would fail; if the link has failed, why is noted. What came from an end
    // before it left may still be received.
    bool refuses(bool is_send);
    void send(const MessageId& id, const std::byte* data, size_t bytes, Ticket& ticket);
    void recv(const MessageId& id, std::byte* data, size_t bytes, Ticket& ticket);
    // Where ends of pieces are looked for in memory, and something is awaited.
    void look_for_tails();
    // Nothing more is sent or received.
    void close();
    // What was sent is there.
    [[nodiscard]] bool has_gone() const;
    // And nothing more comes.
    [[nodiscard]] bool has_parted() const { return !link_.can_go() || is_done_there(); }

    // ---- for Link ----
    // The team has neither left nor failed.
    [[nodiscard]] bool is_open() const { return !team_.is_closing && !team_.is_given_up; }
    // Room for a piece of that stream.
    [[nodiscard]] std::byte* unexpected_memory(uint32_t stream) const {
        return unexpected_ + stream * kSlotBytes;
    }
    void hear_bye() { has_heard_bye_ = true; }
    // A piece is there.
    void take_piece(const SlotHeader& header, const std::byte* end);
    // Slots or completions have come; false where nothing waits for them any more.
    bool advance();
    // The link has failed; true where that is the team's first failure.
    bool fail(const char* why, const char* more);
    // Why, of which the team knew only that it was flushed.
    void tell_cause(const char* why, const char* more);
    // Messages are under way there; and something goes on when own writes are complete.
    [[nodiscard]] bool is_awaiting() const;
    [[nodiscard]] bool awaits_completion() const;

  private:
    // What has come is all that comes of the team from there.
    [[nodiscard]] bool is_done_there() const { return link_.is_left_by_peer() || has_heard_bye_; }
    [[nodiscard]] bool is_adding() const { return adder_ && adder_->is_under_way(); }
    void note(const char* why, const char* more = "") { team_.failure.note_pair(rank_, why, more); }
    Operation* begin(bool is_send, const MessageId& id, size_t bytes, Ticket& ticket);
    void recv_count(Operation* operation);
    [[nodiscard]] bool must_send_bye() const;
    void send_bye();
    // The bye was sent, and is there.
    [[nodiscard]] bool has_said_bye() const {
        return bye_number_ != 0 && link_.slots().writes().is_complete(bye_number_);
    }
    // It waits for a bye, of either end.
    [[nodiscard]] bool is_parting() const;

    TeamShare& team_;
    const uint32_t index_;
    const Rank rank_;
    Link& link_;
    std::byte* const unexpected_;
    PeerSends sends_;
    PeerReceives receives_;
    Adder* adder_ = nullptr;
    uint64_t bye_number_ = 0;  // of the write; 0: not said
    bool has_heard_bye_ = false;
};

}  // namespace tutti::transport::verbs
