// SPDX-License-Identifier: BSD-3-Clause
// Whether the packets of one stream follow each other as those of an honest sender do: it writes
// one message after the other, and each from its beginning to its end.
//
// Source: ours. Where a code covers all of a packet this is always so; where it does not, a forged
// packet may stand where the sender's own should, which is then taken for its double. The next
// packets in order do not fit behind it; nor does the sender ever go on in the middle of a message
// that it never wrote, and says so by heartbeats that ask for nothing.
//
// Invariant: once false, always false.
#pragma once

#include <cstdint>
#include <vector>

#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

// Of an honest sender that waits in a message's midst at most two do not ask: heartbeats_silent.
inline constexpr uint32_t kIdleBeatsMax = 8;

class Continuity {
  public:
    explicit Continuity(const Params& params) : parts_(params.window_packets) {}

    // A packet that the receiver accepts; each once.
    void add(const Data& data) {
        parts_[data.sequence % parts_.size()] = {data.name, data.offset, data.total,
                                                 static_cast<uint32_t>(data.payload.size())};
    }
    // The receiver has all before `received_end`.
    void advance(uint64_t received_end) {
        for (; next_ < received_end; ++next_) {
            const Part& part = parts_[next_ % parts_.size()];
            const bool is_next = part.name == last_.name && part.total == last_.total &&
                                 part.offset == last_.offset + last_.bytes;
            is_whole_ = is_whole_ && (is_in_midst() ? is_next : part.offset == 0);
            last_ = part;
            idle_beats_ = 0;
        }
    }
    // Not an answer on the detour.
    void on_heartbeat(const Heartbeat& beat) {
        const bool is_idle = is_in_midst() && beat.end == next_ && !beat.asks;
        idle_beats_ = is_idle ? idle_beats_ + 1 : 0;
        if (idle_beats_ > kIdleBeatsMax) is_whole_ = false;
    }
    [[nodiscard]] bool is_whole() const { return is_whole_; }

  private:
    struct Part {
        MessageName name;
        uint32_t offset = 0;
        uint32_t total = 0;
        uint32_t bytes = 0;
    };
    [[nodiscard]] bool is_in_midst() const { return last_.offset + last_.bytes < last_.total; }

    std::vector<Part> parts_;  // a ring, by sequence
    Part last_;                // before next_
    uint64_t next_ = 0;
    uint32_t idle_beats_ = 0;
    bool is_whole_ = true;
};

}  // namespace tutti::mcast
