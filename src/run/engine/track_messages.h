// SPDX-License-Identifier: BSD-3-Clause
// What a track of a team across hosts says to other ranks: messages of its calls by the embedder,
// notes beside them, and the log of its calls, by which ranks find the one in which they disagree.
// All of it is the track's own, so nothing of two calls under way can be mistaken.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/topo/placement.h"
#include "run/notes/broadcast.h"
#include "run/notes/call_log.h"
#include "run/notes/notes.h"
#include "run/transport/p2p/p2p.h"
#include "run/transport/p2p/tags.h"
#include "tutti/tutti.h"

namespace tutti::engine {

class TrackMessages {
  public:
    // By the range of this number of the lease. placement and peers outlive this.
    TrackMessages(const tutti_p2p& p2p, const transport::TagLease& tags, uint32_t range,
                  std::span<const uint32_t> peers, const topo::Placement& placement, uint32_t rank)
        : plain_(p2p, tags.first_tag(range), peers, tags.kinds()),
          notes_(p2p, tags.note_tag(range), peers, placement.ranks(), rank, tags.token()),
          notice_(notes_, placement, rank),
          is_told_(placement.ranks()) {}
    TrackMessages(const TrackMessages&) = delete;
    TrackMessages& operator=(const TrackMessages&) = delete;

    // The embedder's messages.
    [[nodiscard]] transport::P2p& plain() { return plain_; }
    [[nodiscard]] notes::Notes& notes() { return notes_; }
    // To all other nodes.
    [[nodiscard]] notes::Broadcast& notice() { return notice_; }
    [[nodiscard]] notes::CallLog& log() { return log_; }
    [[nodiscard]] const notes::CallLog& log() const { return log_; }

    // Tells a rank the last calls of this one; not again before it has answered, which ranks do
    // that wait themselves.
    void tell_calls(uint32_t rank) {
        if (is_told_[rank]) return;
        notes::Note note;
        note.kind = notes::Note::Kind::kCalls;
        note.call = log_.number();
        note.calls = log_.tell();
        is_told_[rank] = notes_.send(rank, note);
    }
    void calls_heard(uint32_t rank) { is_told_[rank] = false; }
    // What was told may have been lost since.
    void forget_told() { is_told_.assign(is_told_.size(), false); }

  private:
    transport::P2p plain_;
    notes::Notes notes_;
    notes::Broadcast notice_;
    notes::CallLog log_;
    std::vector<bool> is_told_;  // by rank, the last calls
};

}  // namespace tutti::engine
