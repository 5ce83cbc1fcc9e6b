// SPDX-License-Identifier: BSD-3-Clause
// One connection of a process with another: a queue pair, its slots at both ends, and the pieces of
// all teams that go by it. A team has a number there, which every piece bears (links.h).
//
// A piece that a team waits for goes there at once. An unexpected one stays in its slot, or is
// buffered before slots run short (slots.h).
//
// A link fails with all that is under way by it, in all teams; each of them says so by itself
// (first_failure.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/transport/verbs/device.h"
#include "run/transport/verbs/link_peers.h"
#include "run/transport/verbs/link_teams.h"
#include "run/transport/verbs/slot_memory.h"
#include "run/transport/verbs/slots.h"

namespace tutti::transport::verbs {

// What all links of a process have in common.
struct LinkShare {
    Endpoint& endpoint;
    SlotMemory memory;
    uint32_t packet_bytes;
    bool polls_tails;  // see Links
    LinkTeams teams;
};

class Link {
  public:
    // number: the endpoint's of the pair.
    Link(const LinkShare& share, uint32_t number);

    [[nodiscard]] const LinkShare& share() const { return share_; }
    [[nodiscard]] uint32_t number() const { return number_; }
    [[nodiscard]] PairCard card() const;
    Result<Done> connect(const PortCard& port, const PairCard& other);

    [[nodiscard]] bool is_connected() const { return is_connected_; }
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    [[nodiscard]] bool is_left_by_peer() const { return is_left_by_peer_; }
    // The devices of both ends can add.
    [[nodiscard]] bool is_counted() const { return is_counted_; }
    [[nodiscard]] bool can_go() const { return is_connected_ && !has_failed_; }
    // Another team may go by it.
    [[nodiscard]] bool is_good() const { return can_go() && !is_left_by_peer_; }
    // Nothing is under way to that end any more, or never was, or it is given up.
    [[nodiscard]] bool is_over() const {
        return !can_go() || (last_number_ != 0 && slots_.writes().is_complete(last_number_));
    }

    // ---- for teams ----
    [[nodiscard]] Slots& slots() { return slots_; }
    [[nodiscard]] const Slots& slots() const { return slots_; }
    // Where the stream's first piece has its header.
    [[nodiscard]] const std::byte* first_header(uint32_t stream) const;
    // That piece has been read.
    void release(uint32_t stream);
    [[nodiscard]] LinkPeers& peers() { return peers_; }
    // The team has something to do there whenever the link goes on.
    void mark(uint32_t team) { peers_.mark(team); }
    void advance();
    // See Slots::take().
    SlotRange take_slots(uint32_t stream, uint32_t wanted = 1, bool tells = false);
    // So many bytes a piece has at most.
    [[nodiscard]] size_t range_bytes(const SlotRange& range) const {
        const size_t all = range.is_ahead ? share_.packet_bytes : range.count * kSlotBytes;
        return all - sizeof(SlotHeader);
    }
    bool write_piece(const SlotRange& range, SlotHeader header, const void* data, bool is_last);
    // 0, else the link has failed.
    bool is_posted(int outcome);
    // What is under way by it fails, in all teams. True if a team has not failed before.
    bool fail(const char* why, const char* more = "");
    // True where there was a piece.
    bool take_tails();

    // ---- for Links ----
    // Of what was written or received here, with success.
    void complete(const Completion& completion);
    // Why it has failed, of which the teams know only that it was flushed.
    void tell_cause(const char* why, const char* more);
    // Something here goes on when own writes are complete, perhaps without a word of the other end.
    [[nodiscard]] bool awaits_completion() const;
    // Whether the other end is there, where somebody waits for it.
    void look();

  private:
    bool post(const Write& write);
    void tell(uint32_t also);
    void buffer_unexpected();
    [[nodiscard]] bool is_done_with() const;
    void arrive(uint32_t immediate);
    void take_piece(uint32_t slot);
    bool take_notes(const SlotHeader& header, const std::byte* end);

    const LinkShare& share_;
    const uint32_t number_;
    Slots slots_;
    LinkPeers peers_;
    uint64_t look_number_ = 0;
    uint64_t last_number_ = 0;  // 0: not sent yet
    bool is_connected_ = false;
    bool has_failed_ = false;
    bool is_left_by_peer_ = false;
    bool is_counted_ = false;
};

}  // namespace tutti::transport::verbs
