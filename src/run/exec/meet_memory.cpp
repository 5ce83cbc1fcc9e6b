// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/meet_memory.h"

#include <utility>

namespace tutti::exec {

// In a stretch of memory, from left to right; of nothing there is none.
class MeetMemory::Fold {
  public:
    Fold(CallContext& call, std::byte* to, size_t bytes) : call_(call), to_(to), bytes_(bytes) {}
    void add(const std::byte* value) {
        const bool is_first = !std::exchange(has_any_, true);
        if (bytes_ == 0) return;
        if (is_first) {
            std::memcpy(to_, value, bytes_);
            return;
        }
        call_.buffers.fold(to_, to_, value, bytes_);
        call_.totals.reduced_bytes += bytes_;
    }
    [[nodiscard]] bool has_any() const { return has_any_; }

  private:
    CallContext& call_;
    std::byte* to_;
    size_t bytes_;
    bool has_any_ = false;
};

MeetMemory::MeetMemory(CallContext& call, Ref ref)
    : call_(call),
      ref_(ref),
      round_(call.slots.round_of(ref)),
      own_(round_[call.slots.neighbours_of(ref).count]) {
    TUTTI_ASSERT(call.slots.neighbours_of(ref).count == neighbours(), "all of them have begun");
}

// What all have but one neighbour's side; how many values that is.
uint32_t MeetMemory::gather(std::optional<uint32_t> but, std::byte* values) const {
    const bool goes_down = but && !is_parent(*but);
    const bool has_parents = has_parent() && but != 0u;
    Fold before(call_, values, bytes());
    Fold behind(call_, values + bytes(), bytes());
    if (has_parents) before.add(value(in(0), 0));
    before.add(call_.at(ref_, own_.left));
    for (uint32_t child = has_parent() ? 1 : 0; child < neighbours(); ++child) {
        if (child == but) continue;
        (goes_down && child > *but ? behind : before).add(value(in(child), 0));
    }
    if (has_parents && header_of(in(0)).values == 2) {
        (goes_down ? behind : before).add(value(in(0), 1));
    }
    return behind.has_any() ? 2 : 1;
}

void MeetMemory::write_message(uint32_t neighbour, adapt::Kind kind) const {
    MeetHeader header{static_cast<uint32_t>(kind), 1};
    std::byte* message = out(neighbour);
    std::byte* values = message + sizeof header;
    if (kind == adapt::Kind::kPart) {
        header.values = gather(neighbour, values);
    } else if (bytes() > 0) {
        std::memcpy(values, result(), bytes());
    }
    // All of it goes.
    if (header.values == 1) std::memset(values + bytes(), 0, bytes());
    std::memcpy(message, &header, sizeof header);
}

void MeetMemory::write_multicast(std::optional<uint32_t> crossed) const {
    const MeetHeader header{static_cast<uint32_t>(adapt::Kind::kRelease), 1,
                            crossed ? rank_of(*crossed) : kNobody, 0};
    std::memcpy(message(), &header, sizeof header);
    if (bytes() > 0) std::memcpy(message_value(), result(), bytes());
}

// The two who have each other's part put it in parentheses alike.
void MeetMemory::join(uint32_t neighbour) const {
    if (bytes() == 0) return;
    const bool is_up = is_parent(neighbour);
    const std::byte* down = is_up ? in(neighbour) : out(neighbour);
    const std::byte* up = is_up ? out(neighbour) : in(neighbour);
    Fold all(call_, message_value(), bytes());
    all.add(value(down, 0));
    all.add(value(up, 0));
    if (header_of(down).values == 2) all.add(value(down, 1));
    settle(message_value());
}

void MeetMemory::fold_all() const {
    if (bytes() == 0) return;
    gather({}, message_value());
    settle(message_value());
}

void MeetMemory::settle(const std::byte* from) const {
    if (bytes() > 0) std::memcpy(result(), from, bytes());
}

}  // namespace tutti::exec
