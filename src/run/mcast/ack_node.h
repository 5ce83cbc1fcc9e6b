// SPDX-License-Identifier: BSD-3-Clause
// One member's place in the tree that gathers acknowledgements of one stream: what it has and what
// its children report, joined to what it reports to its parent, as seldom as the window allows.
//
// Source: a k-ary tree of acknowledgements once a window is UCC's (mlx5 multicast); ours are the
// grants that travel with them, and when: at every quarter of the window (so that three quarters
// are in flight while one is acknowledged), at the latest after so many packets, when the sender
// asks, and after a delay.
//
// Members are numbered from the sender: v = (member - stream) mod members; the parent of v is
// (v - 1) / k, its children k v + 1 ... k v + k. Example, k = 2, 6 members, stream 4:
//
//          4            v:  member 4 5 0 1 2 3
//        5   0              v      0 1 2 3 4 5
//       1 2 3
//
// Invariant: what is reported is true of every member of the subtree, and never goes back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/assert.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

struct Reached {
    uint64_t received_end = 0;
    uint64_t granted_end = 0;
    uint64_t placed_end = 0;  // all before are where they were posted for

    bool operator==(const Reached&) const = default;
};

class AckNode {
  public:
    AckNode(const Params& params, Member stream)
        : members_(params.members),
          stream_(stream),
          fan_out_(params.fan_out),
          number_((params.member + params.members - stream) % params.members),
          quarter_(std::clamp(params.window_packets / 4, 1u, params.ack_packets_max)),
          delay_ns_(params.timing.ack_delay_ns) {
        children_ = std::min(fan_out_, members_ - 1 - std::min(members_ - 1, fan_out_ * number_));
        own_.granted_end = params.window_packets;
        for (Reached& child : of_child_) child.granted_end = params.window_packets;
        reported_ = own_;
        if (is_root()) own_ = {kSequenceMax, kSequenceMax, kSequenceMax};
    }

    [[nodiscard]] bool is_root() const { return number_ == 0; }
    [[nodiscard]] uint32_t children() const { return children_; }
    [[nodiscard]] Member child(uint32_t index) const {
        return member_of(fan_out_ * number_ + 1 + index);
    }
    [[nodiscard]] Member parent() const {
        TUTTI_ASSERT(!is_root(), "the root has no parent");
        return member_of((number_ - 1) / fan_out_);
    }

    void set_own(const Reached& own) {
        TUTTI_ASSERT(!is_root(), "the sender has its own stream");
        TUTTI_ASSERT(is_behind(own_, own), "what a member has goes back");
        own_ = own;
    }
    [[nodiscard]] const Reached& own() const { return own_; }
    // False if the member is not a child here.
    bool on_child(Member member, const Reached& reached) {
        const uint32_t number = (member + members_ - stream_) % members_;
        const uint32_t first = fan_out_ * number_ + 1;
        if (number < first || number >= first + children_) return false;
        Reached& child = of_child_[number - first];
        child.received_end = std::max(child.received_end, reached.received_end);
        child.granted_end = std::max(child.granted_end, reached.granted_end);
        child.placed_end = std::max(child.placed_end, reached.placed_end);
        return true;
    }
    [[nodiscard]] const Reached& of_child(uint32_t index) const { return of_child_[index]; }
    // The sender wants to know, and again when all before `end` is here.
    void on_asked(uint64_t end) {
        asked_end_ = std::max(asked_end_, end);
        must_report_ = true;
    }

    [[nodiscard]] Reached joined() const {
        Reached least = own_;
        for (uint32_t i = 0; i < children_; ++i) {
            least.received_end = std::min(least.received_end, of_child_[i].received_end);
            least.granted_end = std::min(least.granted_end, of_child_[i].granted_end);
            least.placed_end = std::min(least.placed_end, of_child_[i].placed_end);
        }
        return least;
    }
    // After a change: when to report (0: now; kNever: there is nothing new).
    uint64_t due_ns(uint64_t now_ns) {
        const Reached now = joined();
        const uint64_t received = now.received_end - reported_.received_end;
        const uint64_t granted = now.granted_end - reported_.granted_end;
        const uint64_t placed = now.placed_end - reported_.placed_end;
        const bool has_all_asked =
            received > 0 && now.received_end >= asked_end_ && reported_.received_end < asked_end_;
        if (must_report_ || has_all_asked) return 0;
        if (std::max({received, granted, placed}) >= quarter_) return 0;
        if (received == 0 && granted == 0 && placed == 0) return kNever;
        if (delayed_ns_ == kNever) delayed_ns_ = now_ns + delay_ns_;
        return delayed_ns_;
    }
    // The report to send now.
    Reached report() {
        TUTTI_ASSERT(is_behind(reported_, joined()), "what is reported goes back");
        reported_ = joined();
        must_report_ = false;
        delayed_ns_ = kNever;
        return reported_;
    }

  private:
    static bool is_behind(const Reached& before, const Reached& now) {
        return before.received_end <= now.received_end && before.granted_end <= now.granted_end &&
               before.placed_end <= now.placed_end;
    }
    [[nodiscard]] Member member_of(uint32_t number) const {
        return static_cast<Member>((number + stream_) % members_);
    }

    uint32_t members_;
    uint32_t stream_;
    uint32_t fan_out_;
    uint32_t number_;
    uint32_t quarter_;
    uint64_t delay_ns_;
    uint32_t children_ = 0;
    Reached own_;
    Reached reported_;
    std::array<Reached, kFanOutMax> of_child_;
    uint64_t asked_end_ = 0;
    bool must_report_ = false;
    uint64_t delayed_ns_ = kNever;
};

}  // namespace tutti::mcast
