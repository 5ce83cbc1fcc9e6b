// SPDX-License-Identifier: BSD-3-Clause
// What a round that meets has in memory: its messages, the operands in them, and the result; and
// how these are folded.
//
// A message holds a header and room for two values. A part that goes up the tree has one, the fold
// of its sender's side; one that goes down two, of who stands before the receiver's side and of who
// stands behind it. A release holds the result. A kMeetWith's buffer is for the message that comes
// and for the one that goes, in this order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "run/adapt/meeting.h"
#include "run/exec/call_context.h"

namespace tutti::exec {

inline constexpr uint32_t kNobody = UINT32_MAX;

// The beginning of a message between participants that meet.
struct MeetHeader {
    uint32_t kind = 0;           // adapt::Kind
    uint32_t values = 0;         // that follow; one stands where the first of two does
    uint32_t crossed = kNobody;  // of a multicast: the rank whose part and the sender's did
    uint32_t whom = kNobody;     // of a letter (meet_letters.h)
};
static_assert(sizeof(MeetHeader) == sched::meet_message_bytes(0));
static_assert(sizeof(MeetHeader) == sched::meet_multicast_bytes(0));

inline MeetHeader header_of(const std::byte* message) {
    MeetHeader header;
    std::memcpy(&header, message, sizeof header);
    return header;
}

class MeetMemory {
  public:
    // Of any operation of the round, of which all neighbours have begun.
    MeetMemory(CallContext& call, Ref ref);

    [[nodiscard]] size_t bytes() const { return own_.left.bytes; }
    [[nodiscard]] size_t message_bytes() const { return sched::meet_message_bytes(bytes()); }
    [[nodiscard]] uint32_t neighbours() const { return round_.size() - 1; }
    [[nodiscard]] bool has_parent() const { return neighbours() > 0 && is_parent(0); }
    [[nodiscard]] sched::Rank own_rank() const { return own_.peer; }
    [[nodiscard]] sched::Rank rank_of(uint32_t neighbour) const { return round_[neighbour].peer; }

    [[nodiscard]] std::byte* in(uint32_t neighbour) const {
        return call_.at(ref_, round_[neighbour].to);
    }
    [[nodiscard]] std::byte* out(uint32_t neighbour) const {
        return in(neighbour) + message_bytes();
    }
    [[nodiscard]] std::byte* result() const { return call_.at(ref_, own_.to); }
    // For a message to or from all: its beginning, and the value in it.
    [[nodiscard]] std::byte* message() const { return call_.at(ref_, own_.right); }
    [[nodiscard]] std::byte* message_value() const { return message() + sizeof(MeetHeader); }

    // Puts the message to a neighbour together: what this rank has of all others, or the result.
    void write_message(uint32_t neighbour, adapt::Kind kind) const;
    // Puts the multicast together. crossed: the neighbour that has this rank's part, and whose part
    // this rank has.
    void write_multicast(std::optional<uint32_t> crossed) const;
    // Puts the result in its place. By a neighbour's release; or what this rank has and that
    // neighbour's part; or what this rank has alone. The own operand may stand where the result is
    // to be, and is read until that is there.
    void take_released(uint32_t neighbour) const { settle(value(in(neighbour), 0)); }
    void join(uint32_t neighbour) const;
    void fold_all() const;
    void take_multicast() const { settle(message_value()); }

  private:
    class Fold;
    [[nodiscard]] bool is_parent(uint32_t neighbour) const {
        return round_[neighbour].incoming == sched::Incoming::kLeft;
    }
    // Of a message: `which` of its values.
    [[nodiscard]] const std::byte* value(const std::byte* message, uint32_t which) const {
        return message + sizeof(MeetHeader) + which * bytes();
    }
    uint32_t gather(std::optional<uint32_t> but, std::byte* values) const;
    void settle(const std::byte* from) const;

    CallContext& call_;
    Ref ref_;
    const sched::Round& round_;
    const sched::Operation& own_;
};

}  // namespace tutti::exec
