// SPDX-License-Identifier: BSD-3-Clause
// Places the data of messages: straight at the place that was posted for it, in any order of
// arrival, or in a bounded pool until a place is posted.
//
// Source: ours. A receiver that is late must lose nothing, and nobody may overrun it: the pool has
// a window's worth of packets for every stream, and streams are granted no more (receiver.h). What
// belongs to a team that is not open here (a communicator without a rank on this node, or a freed
// one) is dropped: a team is opened before the call that creates it ends, so no member can use it
// earlier.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/page_allocator.h"
#include "base/result.h"
#include "run/mcast/packet.h"
#include "run/mcast/params.h"

namespace tutti::mcast {

enum class PostState : uint8_t { kPending, kDone, kWrongSize };

struct PostId {
    uint32_t index = 0;
    uint32_t generation = 0;
};

class Inbox {
  public:
    explicit Inbox(const Params& params);

    // Errors: as many teams are open as can be.
    Result<Done> open_team(uint32_t team);
    // Drops what waits for it; its posts must be released before.
    void close_team(uint32_t team);

    // The place must stay until the post is released. Messages of one sender that are posted or
    // under way at the same time have different names. Errors: as many posts as can be.
    Result<PostId> post(Member sender, const MessageName& name, std::span<std::byte> place);
    // For the first member that sends a message of this name, of at most the place's bytes. What
    // others send under it goes to later posts.
    Result<PostId> post_any(const MessageName& name, std::span<std::byte> place);
    [[nodiscard]] PostState state(PostId id) const;
    // Of the message, when it is there.
    [[nodiscard]] size_t message_bytes(PostId id) const { return posts_[id.index].total; }
    void release(PostId id);
    // kNobody: not known yet.
    [[nodiscard]] Member sender(PostId id) const { return posts_[id.index].sender; }

    enum class Put : uint8_t { kPlaced, kCompleted, kPooled, kDropped };
    // Each packet once: the receiver has seen to that.
    Put put(Member sender, const Data& data);

    [[nodiscard]] uint32_t pooled_packets(Member sender) const { return pools_[sender].count; }
    [[nodiscard]] uint32_t pooled_packets() const { return pooled_; }
    // Of a stream that is here up to received_end: what is not in the pool before it.
    [[nodiscard]] uint64_t placed_end(Member sender, uint64_t received_end) const {
        return std::min(received_end, pools_[sender].lowest);
    }
    [[nodiscard]] uint32_t pending_posts(Member sender) const { return pools_[sender].pending; }
    // Posts that are no longer pending, so far: whether there is anything to look for.
    [[nodiscard]] uint64_t completed_posts() const { return completed_posts_; }
    [[nodiscard]] uint64_t dropped_packets() const { return dropped_packets_; }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;

    struct Post {
        Member sender = kNobody;
        MessageName name;
        std::span<std::byte> place;
        bool is_any = false;
        size_t total = 0;
        size_t received_bytes = 0;
        PostState state = PostState::kDone;
        bool is_used = false;
        uint32_t generation = 0;
    };
    struct Slot {
        MessageName name;
        uint64_t sequence = 0;
        uint32_t offset = 0;
        uint32_t total = 0;
        uint32_t bytes = 0;
        uint32_t next = kNone;
    };
    struct Pool {
        uint32_t first = kNone;
        uint32_t count = 0;
        uint32_t pending = 0;
        uint64_t lowest = UINT64_MAX;  // sequence
    };

    [[nodiscard]] bool is_open(uint32_t team) const;
    [[nodiscard]] uint32_t find_post(Member sender, const MessageName& name) const;
    [[nodiscard]] uint32_t free_post() const;
    void bind(Post& post, Member sender);
    void place_pooled(Post& post);
    // True when that was the last of the message.
    bool place(Post& post, uint32_t offset, uint32_t total, std::span<const std::byte> payload);
    void keep(Member sender, const Data& data);
    // Asserts what must hold behind each step.
    void check() const;
    [[nodiscard]] uint32_t slots_from(uint32_t first) const;
    [[nodiscard]] bool are_slots_sound() const;
    [[nodiscard]] bool are_posts_sound() const;
    template <class Match, class Use>
    void take_from_pool(Member sender, Match match, Use use);

    size_t payload_bytes_;
    std::vector<uint32_t> teams_;  // ascending
    size_t teams_max_;
    std::vector<Post> posts_;
    uint32_t posts_end_ = 0;  // no post is used from here on
    std::vector<Slot> slots_;
    std::vector<std::byte, PageAllocator<std::byte>> payloads_;
    uint32_t free_ = kNone;
    std::vector<Pool> pools_;  // by sender
    uint32_t pooled_ = 0;      // in all pools
    uint64_t completed_posts_ = 0;
    uint64_t dropped_packets_ = 0;
};

}  // namespace tutti::mcast
