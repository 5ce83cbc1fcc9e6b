// SPDX-License-Identifier: BSD-3-Clause
// Multicasts of a call, sent and received: they begin in the order of their numbers, which are the
// call's, from 0, and complete in any. The number of a meeting is one of them (meet.h): its sender
// is not known before, so it is sought or offered instead of posted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/exec/call_context.h"

namespace tutti::exec {

class Multicasts {
  public:
    Multicasts(CallContext& call, transport::Multicast* route) : call_(call), route_(route) {}
    // Another one, whose first multicast is number 0; between calls.
    void set_route(transport::Multicast* route);
    // Memory for so many that wait for their turn.
    void reserve(size_t operations) { ready_.reserve(operations); }
    // The next call, which has so many.
    void start(uint64_t count);
    // Asserts what must hold when the call is over.
    void check_end() const;

    // It waits for its turn.
    void begin(Ref ref);
    // The one whose turn it is, if it is ready, and no more are under way than may be.
    [[nodiscard]] std::optional<Ref> in_turn() const {
        if (!is_next_ready() || next_ - first_ == sched::kMulticastsInFlightMax) return {};
        return ready_.back();
    }
    // Posts the one whose turn it is. True: it is complete at once.
    [[nodiscard]] bool post();
    // The numbers that may be under way.
    [[nodiscard]] uint64_t first() const { return first_; }
    [[nodiscard]] uint64_t end() const { return next_; }
    // One of these that is complete since the last look.
    [[nodiscard]] std::optional<Ref> test(uint64_t number);

    // The meeting whose turn it is. Its number ends by finish_meeting(), by whatever way.
    [[nodiscard]] std::optional<Ref> meeting_in_turn() const {
        if (!is_next_ready()) return {};
        const Ref ref = ready_.back();
        return sched::is_meet(call_.slots.operation_of(ref).kind) ? std::optional(ref)
                                                                  : std::nullopt;
    }
    transport::Multicast::Sought offer(const std::byte* data, size_t bytes) {
        return route_->offer(base_ + next_, data, bytes);
    }
    transport::Multicast::Sought seek(std::byte* data, size_t bytes) {
        return route_->seek(base_ + next_, data, bytes);
    }
    void finish_meeting();

    [[nodiscard]] size_t ready() const { return ready_.size(); }
    [[nodiscard]] bool has_any() const { return has_posted() || !ready_.empty(); }
    [[nodiscard]] bool has_posted() const { return first_ < next_; }
    [[nodiscard]] bool has_ended() const { return first_ == count_; }
    // The senders of those that are awaited.
    void add_waits(std::vector<sched::Rank>& ranks) const;
    [[nodiscard]] std::string error() const { return route_->error(); }
    void call_off() {
        if (route_) route_->call_off();
    }

  private:
    [[nodiscard]] bool is_next_ready() const {
        return !ready_.empty() && call_.slots.operation_of(ready_.back()).order == next_;
    }
    [[nodiscard]] Ref posted(uint64_t number) const { return posted_[number % posted_.size()]; }
    [[nodiscard]] bool is_complete(uint64_t number) const {
        return number < first_ || (complete_ >> (number - first_) & 1) != 0;
    }
    Ref take_number();
    void finish(uint64_t number);

    CallContext& call_;
    transport::Multicast* route_;
    uint64_t base_ = 0;      // what the team's route calls the call's first one
    uint64_t count_ = 0;     // of the call
    uint64_t next_ = 0;      // the next one to be posted
    uint64_t first_ = 0;     // all below are complete
    uint32_t complete_ = 0;  // bit i: first_ + i is
    // By number modulo its size.
    std::array<Ref, sched::kMulticastsInFlightMax> posted_;
    static_assert(sched::kMulticastsInFlightMax <= 32, "one bit of complete_ each");
    std::vector<Ref> ready_;  // not yet posted, the lowest number last
};

}  // namespace tutti::exec
